/*
 * small_disk.c: a disk with room for so many bytes more, for LD_PRELOAD.
 *
 * $SMALL_DISK is a file of four numbers of 64 bits, which the test writes and
 * all processes share:
 *
 *   kind    0: nothing is wrong
 *           1: pages of sessions.v1.mdb, 2: its meta pages, 3: all that is
 *              written to the store: so many bytes, then a short write and
 *              from then on ENOSPC
 *           4: fdatasync() fails with EIO
 *           5: the file system is read-only: EROFS
 *   room    bytes
 *   used    of them
 *   failed  calls that were short or failed
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>


/* of LMDB: from the map size to the transaction; a page is 4096 bytes */
#define SMALL_META_MAX  512

enum { SMALL_PAGES = 1, SMALL_META, SMALL_ALL, SMALL_SYNC, SMALL_READ_ONLY };

typedef struct {
    int64_t  kind;
    int64_t  room;
    int64_t  used;
    int64_t  failed;
} small_t;


static small_t  *small;


static void small_init(void) __attribute__((constructor));


/* nginx clears the environment of its workers. */

static void
small_init(void)
{
    int          fd;
    void        *map;
    const char  *name;

    name = getenv("SMALL_DISK");
    fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;

    if (fd == -1) {
        return;
    }

    map = mmap(NULL, sizeof(small_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
               0);
    small = map == MAP_FAILED ? NULL : map;
    close(fd);
}


/* 1: this call is meant. */

static int
small_meant(int fd, size_t n)
{
    char         link[64], path[PATH_MAX];
    ssize_t      len;
    const char  *name;

    if (small == NULL || small->kind == 0) {
        return 0;
    }

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof(path) - 1);

    if (len <= 4) {
        return 0;
    }

    path[len] = '\0';

    if (strcmp(path + len - 4, ".mdb") != 0) {
        return 0;
    }

    name = strrchr(path, '/');

    switch (small->kind) {
    case SMALL_PAGES:
        return n >= SMALL_META_MAX && strstr(name, "sessions") != NULL;
    case SMALL_META:
        return n && n < SMALL_META_MAX && strstr(name, "sessions") != NULL;
    default:
        return 1;
    }
}


/* How much of it there is room for. */

static size_t
small_room(size_t n)
{
    int64_t  used, left;

    used = __atomic_fetch_add(&small->used, (int64_t) n, __ATOMIC_SEQ_CST);
    left = small->room - used;

    if (left < 0) {
        left = 0;
    }

    if ((size_t) left >= n) {
        return n;
    }

    __atomic_fetch_add(&small->failed, 1, __ATOMIC_SEQ_CST);

    return (size_t) left;
}


static int
small_fails(int err)
{
    __atomic_fetch_add(&small->failed, 1, __ATOMIC_SEQ_CST);
    errno = err;

    return -1;
}


ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
    size_t     room;
    ssize_t  (*real)(int, const void *, size_t, off_t);

    *(void **) &real = dlsym(RTLD_NEXT, "pwrite");

    if (!small_meant(fd, n) || small->kind == SMALL_SYNC) {
        return real(fd, data, n, at);
    }

    if (small->kind == SMALL_READ_ONLY) {
        return small_fails(EROFS);
    }

    room = small_room(n);

    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }

    return real(fd, data, room, at);
}


ssize_t
writev(int fd, const struct iovec *parts, int count)
{
    int            i;
    size_t         n, room;
    ssize_t      (*real)(int, const struct iovec *, int);
    struct iovec   some[IOV_MAX];

    *(void **) &real = dlsym(RTLD_NEXT, "writev");

    for (i = 0, n = 0; i < count; i++) {
        n += parts[i].iov_len;
    }

    if (count > IOV_MAX || !small_meant(fd, n) || small->kind == SMALL_SYNC) {
        return real(fd, parts, count);
    }

    if (small->kind == SMALL_READ_ONLY) {
        return small_fails(EROFS);
    }

    room = small_room(n);

    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }

    for (i = 0; i < count && room; i++) {
        some[i] = parts[i];

        if (some[i].iov_len > room) {
            some[i].iov_len = room;
        }

        room -= some[i].iov_len;
    }

    return real(fd, some, i);
}


int
ftruncate(int fd, off_t size)
{
    int  (*real)(int, off_t);

    if (small_meant(fd, 0) && small->kind == SMALL_READ_ONLY) {
        return small_fails(EROFS);
    }

    *(void **) &real = dlsym(RTLD_NEXT, "ftruncate");

    return real(fd, size);
}


int
fdatasync(int fd)
{
    int  (*real)(int);

    if (small_meant(fd, 0) && small->kind == SMALL_SYNC) {
        return small_fails(EIO);
    }

    *(void **) &real = dlsym(RTLD_NEXT, "fdatasync");

    return real(fd);
}
