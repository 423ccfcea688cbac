/*
 * slow_disk.c: a disk that takes its time or fails, for LD_PRELOAD.
 *
 * $SLOW_DISK names a file.  While it says "hold", fdatasync() does not return;
 * while it says "fail", it fails with EIO.  Every call first appends the first
 * letter of the synced file's name to $SLOW_DISK.calls, so a test can count
 * the commits of "sessions" and "events".
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>


static char  slow_control[512];
static char  slow_calls[520];


static void slow_init(void) __attribute__((constructor));


/* nginx clears the environment of its workers. */

static void
slow_init(void)
{
    const char  *name;

    name = getenv("SLOW_DISK");

    if (name == NULL || strlen(name) >= sizeof(slow_control)) {
        return;
    }

    strcpy(slow_control, name);
    snprintf(slow_calls, sizeof(slow_calls), "%s.calls", name);
}


static void
slow_count(int fd)
{
    int          calls;
    char         link[64], path[4096];
    char        *name;
    ssize_t      n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);

    if (n <= 0) {
        return;
    }

    path[n] = '\0';
    name = strrchr(path, '/');

    calls = open(slow_calls, O_WRONLY | O_CREAT | O_APPEND, 0666);

    if (calls == -1) {
        return;
    }

    n = write(calls, name ? name + 1 : "?", 1);
    (void) n;
    close(calls);
}


static int
slow_says(const char *word)
{
    int      fd;
    char     said[8];
    ssize_t  n;

    fd = open(slow_control, O_RDONLY);

    if (fd == -1) {
        return 0;
    }

    n = read(fd, said, sizeof(said));
    close(fd);

    return n == (ssize_t) strlen(word) && memcmp(said, word, (size_t) n) == 0;
}


int
fdatasync(int fd)
{
    int             (*real)(int);
    struct timespec   pause;

    pause.tv_sec = 0;
    pause.tv_nsec = 2000000;

    if (slow_control[0] != '\0') {
        slow_count(fd);

        while (slow_says("hold")) {
            nanosleep(&pause, NULL);
        }

        if (slow_says("fail")) {
            errno = EIO;
            return -1;
        }
    }

    *(void **) &real = dlsym(RTLD_NEXT, "fdatasync");

    return real(fd);
}
