/*
 * bad_disk.c: a disk that is full or broken at one place, and a lock that
 * cannot be recovered, for LD_PRELOAD.
 *
 * $BAD_DISK names a file.  What it says, while it is there, holds for the
 * store's databases ("*.mdb") and for nothing else:
 *
 *   full      writing pages fails with ENOSPC, half of one written
 *   events    the same for events.v1.mdb alone
 *   sync      fdatasync() fails with EIO
 *   meta      writing a meta page of sessions.v1.mdb fails with EIO
 *   audit     one of events.v1.mdb
 *   hold      fdatasync() does not return
 *   lock      the owner of a lock has died, and pthread_mutex_consistent()
 *             fails: the lock is of no use to anybody any more
 *
 * and for backups that sessionctl makes ("*.part"):
 *
 *   part      after the first 64 KiB writing fails with ENOSPC
 *   wait      it does not return, and $BAD_DISK.hold.PID is made
 *
 * Every call of fdatasync() first appends a byte to $BAD_DISK.calls; one that
 * is held has made $BAD_DISK.hold.PID.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>


/* of LMDB: from the map size to the transaction; a page is 4096 bytes */
#define BAD_META_MAX  512

#define BAD_PART      65536


static char  bad_control[512];
static char  bad_calls[520];
static char  bad_hold[520];


static void bad_init(void) __attribute__((constructor));


/* nginx clears the environment of its workers. */

static void
bad_init(void)
{
    const char  *name;

    name = getenv("BAD_DISK");

    if (name == NULL || strlen(name) >= sizeof(bad_control)) {
        return;
    }

    strcpy(bad_control, name);
    snprintf(bad_calls, sizeof(bad_calls), "%s.calls", name);
    snprintf(bad_hold, sizeof(bad_hold), "%s.hold", name);
}


static int
bad_says(const char *word)
{
    int      fd;
    char     said[8];
    ssize_t  n;

    if (bad_control[0] == '\0') {
        return 0;
    }

    fd = open(bad_control, O_RDONLY | O_CLOEXEC);

    if (fd == -1) {
        return 0;
    }

    n = read(fd, said, sizeof(said));
    close(fd);

    return n == (ssize_t) strlen(word) && memcmp(said, word, (size_t) n) == 0;
}


static void
bad_mark(const char *name)
{
    int      fd;
    ssize_t  n;

    fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (fd == -1) {
        return;
    }

    n = write(fd, "s", 1);
    (void) n;
    close(fd);
}


static int
bad_named(int fd, const char *end)
{
    char     link[64], path[4096];
    size_t   len;
    ssize_t  n;

    len = strlen(end);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path));

    return n > (ssize_t) len && memcmp(path + n - len, end, len) == 0;
}


static void
bad_wait(const char *word)
{
    char             name[560];
    struct timespec  pause;

    if (!bad_says(word)) {
        return;
    }

    pause.tv_sec = 0;
    pause.tv_nsec = 2000000;

    snprintf(name, sizeof(name), "%s.%d", bad_hold, (int) getpid());
    bad_mark(name);

    while (bad_says(word)) {
        nanosleep(&pause, NULL);
    }
}


ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
    ssize_t  (*real)(int, const void *, size_t, off_t);

    *(void **) &real = dlsym(RTLD_NEXT, "pwrite");

    if (n >= BAD_META_MAX
        && ((bad_says("full") && bad_named(fd, ".mdb"))
            || (bad_says("events") && bad_named(fd, "events.v1.mdb"))))
    {

        if (real(fd, data, n / 2, at) == -1) {
            return -1;
        }

        errno = ENOSPC;
        return -1;
    }

    if (n < BAD_META_MAX
        && ((bad_says("meta") && bad_named(fd, "sessions.v1.mdb"))
            || (bad_says("audit") && bad_named(fd, "events.v1.mdb"))))
    {
        errno = EIO;
        return -1;
    }

    return real(fd, data, n, at);
}


ssize_t
write(int fd, const void *data, size_t n)
{
    off_t      at;
    ssize_t  (*real)(int, const void *, size_t);

    *(void **) &real = dlsym(RTLD_NEXT, "write");

    if (bad_control[0] == '\0' || !bad_named(fd, ".part")) {
        return real(fd, data, n);
    }

    at = lseek(fd, 0, SEEK_CUR);

    if (at < BAD_PART && at + (off_t) n > BAD_PART) {
        return real(fd, data, (size_t) (BAD_PART - at));
    }

    if (at >= BAD_PART && bad_says("part")) {
        errno = ENOSPC;
        return -1;
    }

    if (at >= BAD_PART) {
        bad_wait("wait");
    }

    return real(fd, data, n);
}


int
fdatasync(int fd)
{
    int  (*real)(int);

    if (bad_control[0] != '\0' && bad_named(fd, ".mdb")) {
        bad_mark(bad_calls);
        bad_wait("hold");

        if (bad_says("sync")) {
            errno = EIO;
            return -1;
        }
    }

    *(void **) &real = dlsym(RTLD_NEXT, "fdatasync");

    return real(fd);
}


int
pthread_mutex_consistent(pthread_mutex_t *mutex)
{
    int  (*real)(pthread_mutex_t *);

    if (bad_says("lock")) {
        return EINVAL;
    }

    *(void **) &real = dlsym(RTLD_NEXT, "pthread_mutex_consistent");

    return real(mutex);
}
