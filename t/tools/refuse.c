/*
 * refuse: for LD_PRELOAD.  A worker goes on without what REFUSE says: "held",
 * the memory of the sessions that it holds, or "populate", page tables that are
 * filled when it starts.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#endif


/* The only memory of this size, which is 3.76 MiB. */
#define REFUSE_LEAST  ((size_t) 3600 << 10)
#define REFUSE_MOST   ((size_t) 4000 << 10)


static int
refused(const char *what)
{
    const char  *word;

    word = getenv("REFUSE");

    return word != NULL && strcmp(word, what) == 0;
}


void *
mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
    void  *(*next)(void *at, size_t size, int prot, int flags, int fd,
                   off_t offset);

    if (fd == -1 && size > REFUSE_LEAST && size < REFUSE_MOST
        && refused("held"))
    {
        errno = ENOMEM;
        return MAP_FAILED;
    }

    *(void **) &next = dlsym(RTLD_NEXT, "mmap");

    return next(at, size, prot, flags, fd, offset);
}


/* A worker that hears EINVAL, as of an old kernel, touches the pages itself. */
int
madvise(void *at, size_t size, int advice)
{
    int  (*next)(void *at, size_t size, int advice);

    if (advice == MADV_POPULATE_READ && refused("populate")) {
        errno = EFAULT;
        return -1;
    }

    *(void **) &next = dlsym(RTLD_NEXT, "madvise");

    return next(at, size, advice);
}
