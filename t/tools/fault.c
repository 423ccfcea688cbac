/*
 * fault.c: the n-th call of a function fails, or all from the n-th on, for
 * LD_PRELOAD.
 *
 * $FAULT names a file, mapped by every process that is started with it, in
 * which a test says what fails and reads what came of it: fault_page_t.  A
 * function is named by itself or by its family:
 *
 *   alloc    malloc, calloc, realloc, posix_memalign
 *   random   getrandom
 *   thread   pthread_create
 *   write    pwrite, pwritev, writev to a file
 *   sync     fdatasync, fsync, msync
 *   map      mmap
 *   lock     flock, fcntl about locks
 *   open     open, openat, fopen, opendir, fdopendir, mkostemp
 *   out      write to a file, fwrite, fflush, fclose
 *   name     rename, link, mkdir, ftruncate, fchmod, fchown
 *   mdb      what the store calls of LMDB and can fail
 *
 * Where a function fails in several ways, "way" says which.
 *
 * Blocks that are allocated and not yet freed are counted in "alive", those of
 * the youngest child of the process that was started.
 */

#define _GNU_SOURCE

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault.h"


#define FAULT_EARLY  16384


void fault_child(void);
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));


fault_page_t  *fault_page;

static int  fault_is_child;

/* for what dlsym() itself allocates */
static char    fault_early[FAULT_EARLY];
static size_t  fault_early_used;


void
fault_child(void)
{
    fault_is_child = 1;
    fault_page->alive = 0;
}


/*
 * Not by mmap() and open(), which are those below.  The first pthread_exit() of
 * a process loads libgcc, or glibc ends the process: as backtrace() does, which
 * is called here, before anything fails.  What dlopen() keeps of that is a leak
 * to LeakSanitizer, where there is one.
 */

static void __attribute__((constructor))
fault_init(void)
{
    int          fd;
    void        *map, *frame;
    const char  *name;

    name = getenv("FAULT");

    if (name == NULL) {
        return;
    }

    fd = (int) syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC);

    if (fd == -1) {
        return;
    }

    map = (void *) syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
                           MAP_SHARED, fd, 0);
    close(fd);

    if (map == MAP_FAILED) {
        return;
    }

    if (__lsan_disable && __lsan_enable) {
        __lsan_disable();
    }

    (void) backtrace(&frame, 1);

    if (__lsan_disable && __lsan_enable) {
        __lsan_enable();
    }

    fault_page = map;
    pthread_atfork(NULL, NULL, fault_child);
}


static void
fault_where(const char *name, void *caller)
{
    Dl_info  info;

    if (!dladdr(caller, &info) || info.dli_fname == NULL) {
        memset(&info, 0, sizeof(info));
        info.dli_fname = "?";
    }

    snprintf(fault_page->where, FAULT_WHERE, "%s from %s+0x%lx", name,
             info.dli_fname,
             (unsigned long) ((char *) caller - (char *) info.dli_fbase));
}


int
fault_hit(const char *name, const char *family, const int *ways, size_t n,
    void *caller)
{
    uint32_t  at, call;

    if (fault_page == NULL) {
        return 0;
    }

    at = __atomic_load_n(&fault_page->n, __ATOMIC_ACQUIRE);

    if (at == 0 || (fault_page->children && !fault_is_child)
        || (strcmp(fault_page->name, name) != 0
            && strcmp(fault_page->name, family) != 0))
    {
        return 0;
    }

    call = __atomic_add_fetch(&fault_page->calls, 1, __ATOMIC_SEQ_CST);

    if (call < at || (call > at && !fault_page->on)) {
        return 0;
    }

    if (__atomic_fetch_add(&fault_page->hits, 1, __ATOMIC_SEQ_CST) == 0) {
        fault_where(name, caller);
    }

    return ways[fault_page->way % n];
}


/* ---------------------------------------------------------- allocation --- */


static void
fault_alive(int by)
{
    if (fault_is_child) {
        __atomic_add_fetch(&fault_page->alive, by, __ATOMIC_RELAXED);
    }
}


static int
fault_is_early(const void *p)
{
    return (const char *) p >= fault_early
           && (const char *) p < fault_early + FAULT_EARLY;
}


static void *
fault_early_alloc(size_t size)
{
    void  *p;

    size = (size + 15) & ~(size_t) 15;

    if (size > FAULT_EARLY - fault_early_used) {
        abort();
    }

    p = fault_early + fault_early_used;
    fault_early_used += size;

    return p;
}


static void  *(*real_malloc)(size_t);
static void  *(*real_calloc)(size_t, size_t);
static void  *(*real_realloc)(void *, size_t);
static int    (*real_posix_memalign)(void **, size_t, size_t);
static void   (*real_free)(void *);


/* False while dlsym() looks for the real ones. */

static int
fault_ready(void)
{
    static int  looking;

    if (real_free) {
        return 1;
    }

    if (looking) {
        return 0;
    }

    looking = 1;
    real_malloc = REAL(malloc);
    real_calloc = REAL(calloc);
    real_realloc = REAL(realloc);
    real_posix_memalign = REAL(posix_memalign);
    real_free = REAL(free);
    looking = 0;

    return 1;
}


void *
malloc(size_t size)
{
    void  *p;

    if (!fault_ready()) {
        return fault_early_alloc(size);
    }

    if (FAULT("malloc", "alloc", ENOMEM)) {
        errno = ENOMEM;
        return NULL;
    }

    p = real_malloc(size);

    if (p) {
        fault_alive(1);
    }

    return p;
}


void *
calloc(size_t n, size_t size)
{
    void  *p;

    if (!fault_ready()) {
        return fault_early_alloc(n * size);
    }

    if (FAULT("calloc", "alloc", ENOMEM)) {
        errno = ENOMEM;
        return NULL;
    }

    p = real_calloc(n, size);

    if (p) {
        fault_alive(1);
    }

    return p;
}


void *
realloc(void *old, size_t size)
{
    void  *p;

    if (!fault_ready()) {
        abort();
    }

    if (FAULT("realloc", "alloc", ENOMEM)) {
        errno = ENOMEM;
        return NULL;
    }

    p = real_realloc(old, size);

    if (old == NULL && p) {
        fault_alive(1);

    } else if (old && size == 0) {
        fault_alive(-1);
    }

    return p;
}


int
posix_memalign(void **p, size_t alignment, size_t size)
{
    int  rc;

    if (!fault_ready()) {
        abort();
    }

    if (FAULT("posix_memalign", "alloc", ENOMEM)) {
        return ENOMEM;
    }

    rc = real_posix_memalign(p, alignment, size);

    if (rc == 0) {
        fault_alive(1);
    }

    return rc;
}


void
free(void *p)
{
    if (p == NULL || fault_is_early(p) || !fault_ready()) {
        return;
    }

    fault_alive(-1);
    real_free(p);
}
