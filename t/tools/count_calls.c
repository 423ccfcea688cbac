/*
 * count_calls.c: the calls that each request costs, for LD_PRELOAD.
 *
 * $COUNT_CALLS names a file that the test has made: 4096 bytes for the names
 * of what is counted, then a row of 256 bytes a request, which begins when
 * recv() brings the request to nginx and ends when it brings the next one.
 * A row has the beginning of the request's line and a number of 4 bytes for
 * each name, of all threads.  What comes before the first request and after
 * the last row is not counted.
 *
 * Memory that libc's functions take from one another is not seen here; the
 * system calls that it ends in are strace's.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>


#define COUNT_NAMES_BYTES  4096
#define COUNT_LINE         64
#define COUNT_MAX          48

/* As many arguments of LMDB's functions as any has; all fit in registers. */
#define COUNT_PARAMETERS   long a, long b, long c, long d, long e, long f
#define COUNT_ARGUMENTS    a, b, c, d, e, f

#define COUNT_MEMORY(count)                                                   \
    count(malloc) count(calloc) count(realloc) count(free)                    \
    count(posix_memalign) count(aligned_alloc) count(memalign)

#define COUNT_LMDB(count)                                                     \
    count(mdb_get) count(mdb_put) count(mdb_del) count(mdb_stat)              \
    count(mdb_cursor_open) count(mdb_cursor_renew) count(mdb_cursor_get)      \
    count(mdb_cursor_put) count(mdb_cursor_del) count(mdb_cursor_close)       \
    count(mdb_txn_begin) count(mdb_txn_renew) count(mdb_txn_reset)            \
    count(mdb_txn_abort) count(mdb_txn_commit) count(mdb_env_stat)            \
    count(mdb_env_info) count(mdb_reader_check)

#define COUNT_NUMBER(name)  COUNT_##name,
#define COUNT_TEXT(name)    #name " "


enum {
    COUNT_MEMORY(COUNT_NUMBER)
    COUNT_LMDB(COUNT_NUMBER)
    COUNT_END
};


typedef struct {
    char      line[COUNT_LINE];
    uint32_t  calls[COUNT_MAX];
} count_row_t;


_Static_assert(COUNT_END <= COUNT_MAX, "a row has no room for all names");


void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);
void *__libc_memalign(size_t align, size_t n);


static count_row_t  *count_next;
static count_row_t  *count_last;
static count_row_t  *count_row;


static void count_init(void) __attribute__((constructor));


static void
count_init(void)
{
    int           fd;
    char         *map;
    const char   *name;
    struct stat   st;

    name = getenv("COUNT_CALLS");
    fd = (name != NULL) ? open(name, O_RDWR | O_CLOEXEC) : -1;

    if (fd == -1) {
        return;
    }

    if (fstat(fd, &st) == -1) {
        close(fd);
        return;
    }

    map = mmap(NULL, (size_t) st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
               fd, 0);
    close(fd);

    if (map == MAP_FAILED) {
        return;
    }

    strcpy(map, COUNT_MEMORY(COUNT_TEXT) COUNT_LMDB(COUNT_TEXT));

    count_next = (count_row_t *) (map + COUNT_NAMES_BYTES);
    count_last = (count_row_t *) (map + st.st_size);
}


static void
count(int name)
{
    if (count_row != NULL) {
        __atomic_fetch_add(&count_row->calls[name], 1, __ATOMIC_RELAXED);
    }
}


static void *
count_real(const char *name)
{
    void  *real, *lmdb;

    real = dlsym(RTLD_NEXT, name);

    if (real == NULL) {
        lmdb = dlopen("liblmdb.so.0", RTLD_NOW | RTLD_NOLOAD);
        real = (lmdb != NULL) ? dlsym(lmdb, name) : NULL;
    }

    return real;
}


/* What an upstream answers begins with "HTTP/". */

ssize_t
recv(int fd, void *data, size_t n, int flags)
{
    size_t            line;
    ssize_t           got;
    static ssize_t  (*real)(int, void *, size_t, int);

    if (real == NULL) {
        *(void **) &real = count_real("recv");
    }

    got = real(fd, data, n, flags);

    if (count_next == NULL || got < 6
        || (memcmp(data, "GET /", 5) != 0 && memcmp(data, "POST /", 6) != 0))
    {
        return got;
    }

    if (count_next == count_last) {
        count_row = NULL;
        return got;
    }

    line = (size_t) got < COUNT_LINE ? (size_t) got : COUNT_LINE;
    memcpy(count_next->line, data, line);
    count_row = count_next++;

    return got;
}


void *
malloc(size_t n)
{
    count(COUNT_malloc);
    return __libc_malloc(n);
}


void *
calloc(size_t n, size_t size)
{
    count(COUNT_calloc);
    return __libc_calloc(n, size);
}


void *
realloc(void *p, size_t n)
{
    count(COUNT_realloc);
    return __libc_realloc(p, n);
}


void
free(void *p)
{
    count(COUNT_free);
    __libc_free(p);
}


int
posix_memalign(void **p, size_t align, size_t n)
{
    void  *made;

    count(COUNT_posix_memalign);
    made = __libc_memalign(align, n);

    if (made == NULL) {
        return ENOMEM;
    }

    *p = made;

    return 0;
}


void *
aligned_alloc(size_t align, size_t n)
{
    count(COUNT_aligned_alloc);
    return __libc_memalign(align, n);
}


void *
memalign(size_t align, size_t n)
{
    count(COUNT_memalign);
    return __libc_memalign(align, n);
}


#define COUNT_CALL(name)                                                      \
                                                                              \
long name(COUNT_PARAMETERS);                                                  \
                                                                              \
long                                                                          \
name(COUNT_PARAMETERS)                                                        \
{                                                                             \
    static long  (*real)(COUNT_PARAMETERS);                                   \
                                                                              \
    if (real == NULL) {                                                       \
        *(void **) &real = count_real(#name);                                 \
    }                                                                         \
                                                                              \
    count(COUNT_##name);                                                      \
                                                                              \
    return real(COUNT_ARGUMENTS);                                             \
}


COUNT_LMDB(COUNT_CALL)
