/*
 * record_disk.c: writes down what happens to the files below a folder, for
 * LD_PRELOAD.  See power_log.h.
 *
 *   RECORD_ROOT   the folder, an absolute path without links
 *   RECORD_LOG    the file to write to; it exists
 *   RECORD_DROP   "data": fdatasync() and fsync() of files do nothing; "meta":
 *                 O_DSYNC does nothing; as with MDB_NOSYNC, MDB_NOMETASYNC.
 *                 "folder": fsync() of folders does nothing
 *   RECORD_SLOW   syncs take up to so many milliseconds longer
 *   RECORD_SLOW_AT  of files with this in their name (all)
 *
 * A write through a descriptor with O_DSYNC becomes a write and a sync of what
 * it wrote: the kernel does nothing else, but others see what was written
 * before it is on the disk, and a record of one call would not show that.
 *
 * Lock files are left out: LMDB writes them through the map, and what a crash
 * leaves of them has no meaning.
 */

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "power_log.h"


#define RECORD_PARTS  (IOV_MAX + 2)


static int       record_log = -1;
static char      record_root[PATH_MAX];
static char      record_drop[16];
static unsigned  record_slow;
static char      record_slow_at[32];
static uint64_t  record_last;


/* off_t has 64 bits everywhere here */
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at)
    __attribute__((alias("pwrite")));
int ftruncate64(int fd, off_t size) __attribute__((alias("ftruncate")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int dir, const char *path, int flags, ...)
    __attribute__((alias("openat")));
static void record_init(void) __attribute__((constructor));
static int record_sync(int fd, const char *name, uint64_t part, long call);
static void record_wait(const char *name);


/* nginx clears the environment of its workers. */

static void
record_init(void)
{
    int          fd;
    const char  *log, *root, *text;

    log = getenv("RECORD_LOG");
    root = getenv("RECORD_ROOT");

    if (log == NULL || root == NULL) {
        return;
    }

    fd = (int) syscall(SYS_openat, AT_FDCWD, log,
                       O_WRONLY | O_APPEND | O_CLOEXEC, 0);

    if (fd == -1) {
        return;
    }

    /* out of the way of numbers that somebody expects */

    record_log = fcntl(fd, F_DUPFD_CLOEXEC, 400);
    (void) syscall(SYS_close, fd);

    (void) snprintf(record_root, sizeof(record_root), "%s/", root);

    text = getenv("RECORD_DROP");
    (void) snprintf(record_drop, sizeof(record_drop), "%s", text ? text : "");

    text = getenv("RECORD_SLOW");
    record_slow = text ? (unsigned) atoi(text) : 0;

    text = getenv("RECORD_SLOW_AT");
    (void) snprintf(record_slow_at, sizeof(record_slow_at), "%s",
                    text ? text : "");
}


/* What stands below the folder, or 0. */

static int
record_path(int dir, const char *path, char *name)
{
    char     full[PATH_MAX * 2], link[64];
    size_t   n;
    ssize_t  len;

    if (record_log == -1) {
        return 0;
    }

    if (path[0] == '/') {
        full[0] = '\0';

    } else if (dir == AT_FDCWD) {

        if (getcwd(full, PATH_MAX) == NULL) {
            return 0;
        }

    } else {
        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
        len = readlink(link, full, PATH_MAX - 1);

        if (len == -1) {
            return 0;
        }

        full[len] = '\0';
    }

    n = strlen(full);
    (void) snprintf(full + n, PATH_MAX, "%s%s", n ? "/" : "", path);

    n = strlen(record_root);

    /* the folder itself is "" */

    if (strncmp(full, record_root, n - 1) != 0
        || (full[n - 1] != '/' && full[n - 1] != '\0'))
    {
        return 0;
    }

    path = full[n - 1] ? full + n : full + n - 1;
    n = strlen(path);

    if (n >= POWER_NAME_MAX
        || (n > 5 && strcmp(path + n - 5, "-lock") == 0))
    {
        return 0;
    }

    memcpy(name, path, n + 1);

    return 1;
}


static int
record_name(int fd, char *name)
{
    char     link[64], path[PATH_MAX];
    ssize_t  n;

    if (record_log == -1) {
        return 0;
    }

    (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);

    if (n <= 0 || path[0] != '/') {
        return 0;
    }

    path[n] = '\0';

    return record_path(AT_FDCWD, path, name);
}


/* One call of writev() with O_APPEND: records of several processes do not
 * mix. */

static void
record_add(power_type_t type, const char *name, uint64_t id, uint64_t inode,
    int64_t offset, int64_t result, const struct iovec *data, int parts)
{
    int             i;
    struct iovec    list[RECORD_PARTS];
    power_record_t  head;

    memset(&head, 0, sizeof(head));
    head.magic = POWER_MAGIC;
    head.type = type;
    head.id = id;
    head.inode = inode;
    head.offset = offset;
    head.result = result;
    head.name_len = (uint32_t) strlen(name);

    list[0].iov_base = &head;
    list[0].iov_len = sizeof(head);
    list[1].iov_base = (void *) name;
    list[1].iov_len = head.name_len;

    for (i = 0; i < parts; i++) {
        list[i + 2] = data[i];
        head.data_len += (uint32_t) data[i].iov_len;
    }

    if (syscall(SYS_writev, record_log, list, parts + 2) == -1) {
        abort();
    }
}


/* What a call begins with, or all of it. */

static uint64_t
record_call(power_type_t type, const char *name, uint64_t inode,
    int64_t offset, int64_t result, const struct iovec *data, int parts)
{
    uint64_t  id;

    id = ((uint64_t) getpid() << 32)
         | __atomic_add_fetch(&record_last, 1, __ATOMIC_RELAXED);

    record_add(type, name, id, inode, offset, result, data, parts);

    return id;
}


static uint64_t
record_inode(int fd)
{
    struct stat  st;

    return fstat(fd, &st) == -1 ? 0 : st.st_ino;
}


static void
record_wait(const char *name)
{
    struct timespec  now, pause;

    if (record_slow && strstr(name, record_slow_at)) {
        (void) clock_gettime(CLOCK_MONOTONIC, &now);

        pause.tv_sec = 0;
        pause.tv_nsec = now.tv_nsec / 1000 % record_slow * 1000000;
        (void) nanosleep(&pause, NULL);
    }
}


/* advance: at the position of the descriptor, which moves. */

static ssize_t
record_write(int fd, const char *name, const struct iovec *data, int parts,
    off_t at, int advance)
{
    int       to, err, sync;
    char      link[64];
    ssize_t   done;
    uint64_t  id, inode;

    sync = fcntl(fd, F_GETFL);
    sync = sync != -1 && (sync & O_DSYNC);
    inode = record_inode(fd);
    to = fd;

    if (sync) {
        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        to = (int) syscall(SYS_openat, AT_FDCWD, link, O_WRONLY | O_CLOEXEC,
                           0);

        if (to == -1) {
            return -1;
        }
    }

    id = record_call(POWER_WRITE, name, inode, at, 0, data, parts);

    done = syscall(SYS_pwritev, to, data, parts, (unsigned long) at, 0);
    err = errno;

    record_add(POWER_WRITTEN, name, id, inode, at, done, NULL, 0);

    if (sync) {
        (void) syscall(SYS_close, to);

        if (done != -1 && record_sync(fd, name, id, SYS_fdatasync) == -1) {
            return -1;
        }
    }

    if (advance && done > 0) {
        (void) lseek(fd, at + done, SEEK_SET);
    }

    errno = err;

    return done;
}


/* part: of one write. */

static int
record_sync(int fd, const char *name, uint64_t part, long call)
{
    int          rc, err;
    uint64_t     id, inode;
    struct stat  st;

    if (fstat(fd, &st) == -1) {
        return -1;
    }

    if (strcmp(record_drop, S_ISDIR(st.st_mode) ? "folder"
                            : part ? "meta" : "data") == 0)
    {
        return 0;
    }

    inode = st.st_ino;
    id = record_call(POWER_SYNC, name, inode, 0, (int64_t) part, NULL, 0);
    record_wait(name);

    rc = (int) syscall(call, fd);
    err = errno;

    record_add(POWER_SYNCED, name, id, inode, (int64_t) part, rc, NULL, 0);
    errno = err;

    return rc;
}


ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
    char          name[POWER_NAME_MAX];
    struct iovec  part;

    if (!record_name(fd, name)) {
        return syscall(SYS_pwrite64, fd, data, n, at);
    }

    part.iov_base = (void *) data;
    part.iov_len = n;

    return record_write(fd, name, &part, 1, at, 0);
}


ssize_t
pwritev(int fd, const struct iovec *data, int parts, off_t at)
{
    char  name[POWER_NAME_MAX];

    if (!record_name(fd, name)) {
        return syscall(SYS_pwritev, fd, data, parts, (unsigned long) at, 0);
    }

    return record_write(fd, name, data, parts, at, 0);
}


ssize_t
write(int fd, const void *data, size_t n)
{
    char          name[POWER_NAME_MAX];
    struct iovec  part;

    if (!record_name(fd, name)) {
        return syscall(SYS_write, fd, data, n);
    }

    part.iov_base = (void *) data;
    part.iov_len = n;

    return record_write(fd, name, &part, 1, lseek(fd, 0, SEEK_CUR), 1);
}


ssize_t
writev(int fd, const struct iovec *data, int parts)
{
    char  name[POWER_NAME_MAX];

    if (!record_name(fd, name)) {
        return syscall(SYS_writev, fd, data, parts);
    }

    return record_write(fd, name, data, parts, lseek(fd, 0, SEEK_CUR), 1);
}


int
ftruncate(int fd, off_t size)
{
    int       rc, err;
    char      name[POWER_NAME_MAX];
    uint64_t  id, inode;

    if (!record_name(fd, name)) {
        return (int) syscall(SYS_ftruncate, fd, size);
    }

    inode = record_inode(fd);
    id = record_call(POWER_TRUNCATE, name, inode, size, 0, NULL, 0);

    rc = (int) syscall(SYS_ftruncate, fd, size);
    err = errno;

    record_add(POWER_TRUNCATED, name, id, inode, size, rc, NULL, 0);
    errno = err;

    return rc;
}


int
fdatasync(int fd)
{
    char  name[POWER_NAME_MAX];

    return record_name(fd, name) ? record_sync(fd, name, 0, SYS_fdatasync)
                                 : (int) syscall(SYS_fdatasync, fd);
}


int
fsync(int fd)
{
    char  name[POWER_NAME_MAX];

    return record_name(fd, name) ? record_sync(fd, name, 0, SYS_fsync)
                                 : (int) syscall(SYS_fsync, fd);
}


/* A file that is written through a map cannot be recorded. */

void *
mmap(void *to, size_t n, int protection, int flags, int fd, off_t at)
{
    char  name[POWER_NAME_MAX];

    if (fd != -1 && (protection & PROT_WRITE) && (flags & MAP_SHARED)
        && record_name(fd, name))
    {
        (void) record_call(POWER_UNSEEN, name, record_inode(fd), 0, 0, NULL,
                           0);
    }

    return (void *) syscall(SYS_mmap, to, n, protection, flags, fd, at);
}


static int
record_open(int dir, const char *path, int flags, mode_t mode)
{
    int          fd, err, made;
    char         name[POWER_NAME_MAX];
    struct stat  st;

    made = (flags & O_CREAT) && record_path(dir, path, name)
           && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == -1;

    fd = (int) syscall(SYS_openat, dir, path, flags, mode);

    if (fd != -1 && made) {
        err = errno;
        (void) record_call(POWER_CREATE, name, record_inode(fd), 0, 0, NULL,
                           0);
        errno = err;
    }

    return fd;
}


static mode_t
record_mode(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
}


int
open(const char *path, int flags, ...)
{
    mode_t   mode;
    va_list  args;

    va_start(args, flags);
    mode = record_mode(flags, args);
    va_end(args);

    return record_open(AT_FDCWD, path, flags, mode);
}


int
openat(int dir, const char *path, int flags, ...)
{
    mode_t   mode;
    va_list  args;

    va_start(args, flags);
    mode = record_mode(flags, args);
    va_end(args);

    return record_open(dir, path, flags, mode);
}


int
mkdir(const char *path, mode_t mode)
{
    int   rc;
    char  name[POWER_NAME_MAX];

    rc = (int) syscall(SYS_mkdirat, AT_FDCWD, path, mode);

    if (rc == 0 && record_path(AT_FDCWD, path, name)) {
        (void) record_call(POWER_MKDIR, name, 0, 0, 0, NULL, 0);
    }

    return rc;
}


int
link(const char *from, const char *to)
{
    int          rc;
    char         name[POWER_NAME_MAX];
    struct stat  st;

    rc = (int) syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);

    if (rc == 0 && record_path(AT_FDCWD, to, name) && lstat(to, &st) == 0) {
        (void) record_call(POWER_LINK, name, st.st_ino, 0, 0, NULL, 0);
    }

    return rc;
}


int
rename(const char *from, const char *to)
{
    int           rc;
    char          name[POWER_NAME_MAX], before[POWER_NAME_MAX];
    struct stat   st;
    struct iovec  part;

    rc = (int) syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);

    if (rc == 0 && record_path(AT_FDCWD, to, name)
        && record_path(AT_FDCWD, from, before) && lstat(to, &st) == 0)
    {
        part.iov_base = before;
        part.iov_len = strlen(before);
        (void) record_call(POWER_RENAME, name, st.st_ino, 0, 0, &part, 1);
    }

    return rc;
}


int
unlink(const char *path)
{
    int   rc;
    char  name[POWER_NAME_MAX];

    rc = (int) syscall(SYS_unlinkat, AT_FDCWD, path, 0);

    if (rc == 0 && record_path(AT_FDCWD, path, name)) {
        (void) record_call(POWER_UNLINK, name, 0, 0, 0, NULL, 0);
    }

    return rc;
}
