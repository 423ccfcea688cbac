#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "env.h"


#define STORE_POPULATE_BYTES  ((size_t) 16 << 20)

/* Linux 5.14; the headers of older systems lack it */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#endif


static uintptr_t store_map_find(const store_env_t *env);
static int store_populate_touch(const store_env_t *env, int fd,
    uintptr_t from, size_t at, size_t n);


/*
 * Page tables are each process's own, so each worker does this for itself.
 * Only pages in use: the rest of the map has nothing behind it.
 */
int
store_populate(store_t *store, size_t *at)
{
    int           rc, fd;
    size_t        n, end;
    uintptr_t     map;
    MDB_envinfo   info;
    store_env_t  *env;

    env = store->sessions;

    if (store->map == 0) {
        store->map = store_map_find(env);
    }

    rc = mdb_env_info(env->env, &info);
    if (rc != 0) {
        return rc;
    }

    rc = mdb_env_get_fd(env->env, &fd);
    if (rc != 0) {
        return rc;
    }

    map = store->map;
    end = (info.me_last_pgno + 1) * env->page_size;

    if (map == 0 || *at >= end) {
        return STORE_NOT_FOUND;
    }

    n = end - *at < STORE_POPULATE_BYTES ? end - *at : STORE_POPULATE_BYTES;

    /* an older kernel says EINVAL, a file cut short EFAULT */

    if (madvise((void *) (map + *at), n, MADV_POPULATE_READ) == -1) {

        if (errno != EINVAL) {
            return STORE_NOT_FOUND;
        }

        rc = store_populate_touch(env, fd, map, *at, n);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    *at += n;

    return STORE_OK;
}


/* A page beyond the end of the file would be SIGBUS. */
static int
store_populate_touch(const store_env_t *env, int fd, uintptr_t map, size_t at,
    size_t n)
{
    size_t         i;
    struct stat    st;
    volatile char  byte;

    if (fstat(fd, &st) == -1 || (size_t) st.st_size < at + n) {
        return STORE_NOT_FOUND;
    }

    (void) posix_fadvise(fd, (off_t) at, (off_t) n, POSIX_FADV_WILLNEED);

    for (i = 0; i < n; i += env->page_size) {
        byte = *(const volatile char *) (map + at + i);
        (void) byte;
    }

    return STORE_OK;
}


/* LMDB does not tell where it mapped the file; the kernel does, by device and
 * inode.  The map is the one mapping of this size. */
static uintptr_t
store_map_find(const store_env_t *env)
{
    FILE           *f;
    char            line[STORE_PATH_MAX + 256];
    uintptr_t       found;
    unsigned        major_, minor_;
    unsigned long   start, end, offset, inode;

    f = fopen("/proc/self/maps", "re");
    if (f == NULL) {
        return 0;
    }

    found = 0;

    while (found == 0 && fgets(line, sizeof(line), f)) {

        if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &start, &end, &offset,
                   &major_, &minor_, &inode)
            != 6)
        {
            continue;
        }

        if (inode == env->ino && major_ == major(env->dev)
            && minor_ == minor(env->dev) && offset == 0
            && end - start >= env->map_size)
        {
            found = start;
        }
    }

    (void) fclose(f);

    return found;
}
