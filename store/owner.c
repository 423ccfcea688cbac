#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "place.h"


/*
 * Who may have the store open: the processes of one PID namespace of one
 * boot.  LMDB tells a dead reader from a live one by its process id, and ids
 * of two namespaces mean different processes.
 *
 *   boot 8b6c1e0c-....\npid_ns 4026531836\n
 *
 * Every opener holds a shared lock on this file, so that the kernel lets go
 * when a process or a container dies.  Whoever finds other contents must
 * first hold it alone.
 */

#define STORE_OWNER_CHARS  128
#define STORE_BOOT_FILE    "/proc/sys/kernel/random/boot_id"
#define STORE_NS_FILE      "/proc/self/ns/pid"
#define STORE_POLL_NS      2000000


static int store_owner_text(char text[STORE_OWNER_CHARS], size_t *n,
    char *why);
static int store_owner_same(int fd, const char *text, size_t n);
static int store_owner_write(int fd, const char *text, size_t n);
static int64_t store_clock_ms(void);


int
store_place_enter(const store_place_t *place, int flags, int wait_ms, int *fd,
    char *why)
{
    int  rc;

    rc = store_place_file(place, STORE_FILE_LOCK, flags, fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_lock(*fd, LOCK_EX, wait_ms);
    if (rc == STORE_OK) {
        return STORE_OK;
    }

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "another process is opening it");

    } else {
        store_why(why, place->path, "%s: %s", STORE_FILE_LOCK,
                  store_strerror(rc));
    }

    (void) close(*fd);
    *fd = -1;

    return rc;
}


int
store_place_lock(int fd, int operation, int wait_ms)
{
    int64_t                deadline;
    const struct timespec  pause = { 0, STORE_POLL_NS };

    deadline = store_clock_ms() + wait_ms;

    for ( ;; ) {

        if (flock(fd, operation | LOCK_NB) == 0) {
            return STORE_OK;
        }

        if (errno != EWOULDBLOCK && errno != EINTR) {
            return errno;
        }

        if (store_clock_ms() >= deadline) {
            return STORE_BUSY;
        }

        (void) nanosleep(&pause, NULL);
    }
}


int
store_owner_take(const store_place_t *place, int wait_ms, int *fd, char *why)
{
    int     rc;
    char    text[STORE_OWNER_CHARS];
    size_t  n;

    rc = store_owner_text(text, &n, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_file(place, STORE_FILE_OWNER, 0, fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_lock(*fd, LOCK_SH, wait_ms);

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "a restore has it for itself");
        goto failed;
    }

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
        goto failed;
    }

    if (store_owner_same(*fd, text, n)) {
        return STORE_OK;
    }

    /* nobody can come between: openers wait at open.lock */

    if (flock(*fd, LOCK_EX | LOCK_NB) == -1) {
        store_why(why, place->path, "open in another PID namespace; run the"
                  " command there, for example docker compose exec");
        rc = STORE_BUSY;
        goto failed;
    }

    rc = store_owner_write(*fd, text, n);

    if (rc == STORE_OK && flock(*fd, LOCK_SH | LOCK_NB) == -1) {
        rc = errno;
    }

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
        goto failed;
    }

    return STORE_OK;

failed:

    (void) close(*fd);
    *fd = -1;

    return rc;
}


int
store_owner_claim(const store_place_t *place, int *fd, char *why)
{
    int     rc;
    char    text[STORE_OWNER_CHARS];
    size_t  n;

    rc = store_owner_text(text, &n, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_file(place, STORE_FILE_OWNER, 0, fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_lock(*fd, LOCK_EX, 0);

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "in use; stop all that have it open");
        goto failed;
    }

    if (rc == STORE_OK && !store_owner_same(*fd, text, n)) {
        rc = store_owner_write(*fd, text, n);
    }

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
        goto failed;
    }

    return STORE_OK;

failed:

    (void) close(*fd);
    *fd = -1;

    return rc;
}


int
store_owner_create(const store_place_t *place, char *why)
{
    int     rc, fd;
    char    text[STORE_OWNER_CHARS];
    size_t  n;

    rc = store_owner_text(text, &n, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_file(place, STORE_FILE_OWNER, O_CREAT | O_EXCL, &fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_owner_write(fd, text, n);

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
    }

    (void) close(fd);

    return rc;
}


static int
store_owner_text(char text[STORE_OWNER_CHARS], size_t *n, char *why)
{
    int          rc, fd;
    char         boot[64];
    ssize_t      got;
    struct stat  st;

    fd = open(STORE_BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        rc = errno;
        store_why(why, STORE_BOOT_FILE, "%s", store_strerror(rc));
        return rc;
    }

    got = read(fd, boot, sizeof(boot) - 1);
    rc = got == -1 ? errno : EIO;
    (void) close(fd);

    if (got <= 0) {
        store_why(why, STORE_BOOT_FILE, "%s", store_strerror(rc));
        return rc;
    }

    boot[got] = '\0';
    boot[strcspn(boot, "\n")] = '\0';

    if (stat(STORE_NS_FILE, &st) == -1) {
        rc = errno;
        store_why(why, STORE_NS_FILE, "%s", store_strerror(rc));
        return rc;
    }

    *n = (size_t) snprintf(text, STORE_OWNER_CHARS, "boot %s\npid_ns %llu\n",
                           boot, (unsigned long long) st.st_ino);

    return STORE_OK;
}


static int
store_owner_same(int fd, const char *text, size_t n)
{
    char     found[STORE_OWNER_CHARS];
    ssize_t  got;

    got = pread(fd, found, sizeof(found), 0);

    return got >= 0 && (size_t) got == n && memcmp(found, text, n) == 0;
}


/* Killed half-way it leaves a text that is nobody's: the next opener that is
 * alone writes it again. */
static int
store_owner_write(int fd, const char *text, size_t n)
{
    ssize_t  done;

    done = pwrite(fd, text, n, 0);

    if (done == -1) {
        return errno;
    }

    if ((size_t) done != n) {
        return ENOSPC;
    }

    if (ftruncate(fd, (off_t) n) == -1 || fsync(fd) == -1) {
        return errno;
    }

    return STORE_OK;
}


static int64_t
store_clock_ms(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
