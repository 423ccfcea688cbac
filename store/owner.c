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
 * boot, on one set of files.  LMDB tells a dead reader from a live one by its
 * process id, and ids of two namespaces mean different processes.  It also
 * takes for granted that all who share a lock file have the same data file
 * open, which is not so once somebody has moved another one to its place.
 *
 *   boot 8b6c1e0c-....\npid_ns 4026531836\n
 *   files 801:1a2b 801:1a2c 801:1a2d 801:1a2e\n
 *
 * are boot, namespace, and device and inode of the sessions, the events and
 * their lock files.  Every opener holds a shared lock on this file, so that
 * the kernel lets go when a process or a container dies.  Whoever finds other
 * contents must first hold it alone; so whoever empties it makes everybody
 * close the store before anybody opens it again.
 */

#define STORE_BOOT_FILE    "/proc/sys/kernel/random/boot_id"
#define STORE_NS_FILE      "/proc/self/ns/pid"
#define STORE_POLL_NS      2000000
#define STORE_OWNER_FILES  4

/* some more than LMDB's: a line of a cache for each reader, and its locks */
#define STORE_OWNER_LOCK_BYTES  ((off_t) 64 * (STORE_READERS_MAX + 66))


static int store_owner_lock(const store_place_t *place, int operation,
    int wait_ms, store_owner_t *owner, char *why);
static int store_owner_renew(const store_place_t *place, store_owner_t *owner,
    char *why);
static int store_owner_make(const store_place_t *place, const char *name,
    char *why);
static int store_owner_text(const store_place_t *place, store_owner_t *owner,
    char *why);
static int store_owner_files(int dir, char *text, size_t room);
static ssize_t store_owner_read(int fd, char text[STORE_OWNER_CHARS]);
static int store_owner_same(const store_owner_t *owner);
static int store_owner_write(const store_owner_t *owner);
static int64_t store_clock_ms(void);


/* lock files second */
static const char *const  store_owner_names[STORE_OWNER_FILES] = {
    STORE_FILE_SESSIONS, STORE_FILE_EVENTS,
    STORE_FILE_SESSIONS "-lock", STORE_FILE_EVENTS "-lock"
};


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
store_owner_take(const store_place_t *place, int wait_ms, store_owner_t *owner,
    char *why)
{
    int      rc;
    char     found[STORE_OWNER_CHARS];
    ssize_t  n;

    rc = store_owner_lock(place, LOCK_SH, wait_ms, owner, why);

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "a restore has it for itself");
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (store_owner_same(owner)) {
        return STORE_OK;
    }

    /* nobody can come between: openers wait at open.lock */

    if (flock(owner->fd, LOCK_EX | LOCK_NB) == -1) {
        rc = STORE_BUSY;
        n = store_owner_read(owner->fd, found);

        if (n == 0 || (n >= (ssize_t) owner->who
                       && memcmp(found, owner->text, owner->who) == 0))
        {
            store_why(why, place->path, "files of it were replaced, or its"
                      " lock is broken, while processes have it open; it"
                      " opens when all of them have ended");

        } else {
            store_why(why, place->path, "open in another PID namespace; run"
                      " the command there, for example docker compose exec");
        }

        goto failed;
    }

    rc = store_owner_renew(place, owner, why);
    if (rc != STORE_OK) {
        goto failed;
    }

    if (flock(owner->fd, LOCK_SH | LOCK_NB) == -1) {
        rc = errno;
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
        goto failed;
    }

    return STORE_OK;

failed:

    (void) close(owner->fd);
    owner->fd = -1;

    return rc;
}


int
store_owner_claim(const store_place_t *place, store_owner_t *owner, char *why)
{
    int  rc;

    rc = store_owner_lock(place, LOCK_EX, 0, owner, why);

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "in use; stop all that have it open");
    }

    if (rc != STORE_OK || store_owner_same(owner)) {
        return rc;
    }

    rc = store_owner_renew(place, owner, why);

    if (rc != STORE_OK) {
        (void) close(owner->fd);
        owner->fd = -1;
    }

    return rc;
}


/* What belongs into it, and the lock on it; STORE_BUSY without a word. */
static int
store_owner_lock(const store_place_t *place, int operation, int wait_ms,
    store_owner_t *owner, char *why)
{
    int  rc;

    owner->fd = -1;

    rc = store_owner_text(place, owner, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_file(place, STORE_FILE_OWNER, 0, &owner->fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_lock(owner->fd, operation, wait_ms);
    if (rc == STORE_OK) {
        return STORE_OK;
    }

    store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
              store_strerror(rc));

    (void) close(owner->fd);
    owner->fd = -1;

    return rc;
}


/* Held alone: what is there now is what the store is made of. */
static int
store_owner_renew(const store_place_t *place, store_owner_t *owner, char *why)
{
    int  rc;

    rc = store_owner_settle(place, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_owner_text(place, owner, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_owner_write(owner);

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
    }

    return rc;
}


/*
 * Makes the lock files that LMDB would make, so that their numbers are known
 * before it opens them.  One that is there must not be opened here: closing it
 * would drop this process's locks.
 */
int
store_owner_settle(const store_place_t *place, char *why)
{
    int          rc;
    size_t       i;
    struct stat  st;

    for (i = STORE_OWNER_FILES / 2; i < STORE_OWNER_FILES; i++) {

        if (fstatat(place->dir, store_owner_names[i], &st, AT_SYMLINK_NOFOLLOW)
            == 0 || errno != ENOENT)
        {
            continue;
        }

        rc = store_owner_make(place, store_owner_names[i], why);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    return STORE_OK;
}


/*
 * LMDB writes its lock file through a map, where a disk that is full is no
 * error but SIGBUS, so there is room for all of it before.  The size stays 0,
 * which LMDB takes for a new one.  Not every file system can.
 */
static int
store_owner_make(const store_place_t *place, const char *name, char *why)
{
    int  rc, fd;

    rc = store_place_file(place, name, O_CREAT | O_EXCL, &fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = STORE_OK;

    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, STORE_OWNER_LOCK_BYTES) == -1
        && errno != EOPNOTSUPP && errno != ENOSYS)
    {
        rc = errno;
        store_why(why, place->path, "%s: %s", name, store_strerror(rc));

        /* it would be taken for one with room the next time */

        (void) unlinkat(place->dir, name, 0);
    }

    (void) close(fd);

    return rc;
}


int
store_owner_create(const store_place_t *place, char *why)
{
    int            rc;
    store_owner_t  owner;

    rc = store_owner_text(place, &owner, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_file(place, STORE_FILE_OWNER, O_CREAT | O_EXCL, &owner.fd,
                          why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_owner_write(&owner);

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s: %s", STORE_FILE_OWNER,
                  store_strerror(rc));
    }

    (void) close(owner.fd);

    return rc;
}


static int
store_owner_text(const store_place_t *place, store_owner_t *owner, char *why)
{
    int          rc, fd;
    char         boot[64];
    ssize_t      got;
    struct stat  st;

    fd = open(STORE_BOOT_FILE, O_RDONLY | O_CLOEXEC);
    if (fd == -1) {
        rc = errno;
        store_why_failed(why, STORE_BOOT_FILE, NULL, rc);
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

    owner->who = (size_t) snprintf(owner->text, STORE_OWNER_CHARS,
                                   "boot %s\npid_ns %llu\n", boot,
                                   (unsigned long long) st.st_ino);

    rc = store_owner_files(place->dir, owner->text + owner->who,
                           STORE_OWNER_CHARS - owner->who);

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s", store_strerror(rc));
    }

    owner->n = strlen(owner->text);

    return rc;
}


/* Numbers of the files in a directory; 0:0 where there is none. */
static int
store_owner_files(int dir, char *text, size_t room)
{
    size_t       i, n;
    struct stat  st;

    n = (size_t) snprintf(text, room, "files");

    for (i = 0; i < STORE_OWNER_FILES; i++) {

        if (fstatat(dir, store_owner_names[i], &st, AT_SYMLINK_NOFOLLOW)
            == -1)
        {
            if (errno != ENOENT) {
                return errno;
            }

            memset(&st, 0, sizeof(st));
        }

        n += (size_t) snprintf(text + n, room - n, " %llx:%llx",
                               (unsigned long long) st.st_dev,
                               (unsigned long long) st.st_ino);
    }

    (void) snprintf(text + n, room - n, "\n");

    return STORE_OK;
}


/*
 * An error that says nothing about the files, such as too many open ones, is
 * no reason to give them up.
 */
int
store_owner_holds(const store_owner_t *owner, const char *path)
{
    int          dir, rc;
    char         text[STORE_OWNER_CHARS];
    struct stat  held, there;

    if (store_owner_read(owner->fd, text) != -1 && !store_owner_same(owner)) {
        return 0;
    }

    dir = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir == -1) {
        return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
    }

    rc = store_owner_files(dir, text, sizeof(text));

    if (rc == STORE_OK && strcmp(text, owner->text + owner->who) != 0) {
        (void) close(dir);
        return 0;
    }

    rc = fstatat(dir, STORE_FILE_OWNER, &there, AT_SYMLINK_NOFOLLOW) == -1
         ? errno : 0;

    (void) close(dir);

    if (rc != 0) {
        return rc != ENOENT;
    }

    return fstat(owner->fd, &held) == -1
           || (held.st_dev == there.st_dev && held.st_ino == there.st_ino);
}


/* -1 where it cannot be read. */
static ssize_t
store_owner_read(int fd, char text[STORE_OWNER_CHARS])
{
    return pread(fd, text, STORE_OWNER_CHARS, 0);
}


static int
store_owner_same(const store_owner_t *owner)
{
    char     found[STORE_OWNER_CHARS];
    ssize_t  n;

    n = store_owner_read(owner->fd, found);

    return n >= 0 && (size_t) n == owner->n
           && memcmp(found, owner->text, owner->n) == 0;
}


/* Killed half-way it leaves a text that is nobody's: the next opener that is
 * alone writes it again. */
static int
store_owner_write(const store_owner_t *owner)
{
    ssize_t  done;

    done = pwrite(owner->fd, owner->text, owner->n, 0);

    if (done == -1) {
        return errno;
    }

    if ((size_t) done != owner->n) {
        return ENOSPC;
    }

    if (ftruncate(owner->fd, (off_t) owner->n) == -1
        || fsync(owner->fd) == -1)
    {
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
