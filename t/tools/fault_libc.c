/* fault_libc.c: the functions of libc but for allocation. */

#define _GNU_SOURCE

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault.h"


/* of glibc: what ferror() looks at */
#define FAULT_STREAM_ERROR  0x0020


/* ----------------------------------------------------- random, thread --- */


/*
 * Not for libsodium, which draws a canary when it is started and calls abort()
 * where it gets none after it has got random bytes once.
 */

ssize_t
getrandom(void *p, size_t n, unsigned flags)
{
    int                            error;
    Dl_info                        info;
    static __typeof__(&getrandom)  real;

    if (fault_page && fault_page->n
        && dladdr(__builtin_return_address(0), &info) && info.dli_fname
        && strstr(info.dli_fname, "libsodium") == NULL)
    {
        error = FAULT("getrandom", "random", ENOSYS, EAGAIN);

        if (error) {
            errno = error;
            return -1;
        }
    }

    if (real == NULL) {
        real = REAL(getrandom);
    }

    return real(p, n, flags);
}


int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*run)(void *), void *arg)
{
    static __typeof__(&pthread_create)  real;

    if (FAULT("pthread_create", "thread", EAGAIN)) {
        return EAGAIN;
    }

    if (real == NULL) {
        real = REAL(pthread_create);
    }

    return real(thread, attr, run, arg);
}


/* --------------------------------------------------------------- files --- */


static int
fault_is_file(int fd)
{
    struct stat  st;

    /* a log is written to its end */

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
           && !(syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND);
}


#define OUTPUT(name, family, type, second)                                   \
    ssize_t                                                                  \
    name(int fd, type p, second n)                                           \
    {                                                                        \
        int                        error;                                    \
        static __typeof__(&name)   real;                                     \
                                                                             \
        if (fault_page && fault_page->n && fault_is_file(fd)) {              \
            error = FAULT(#name, family, ENOSPC, EIO);                       \
                                                                             \
            if (error) {                                                     \
                errno = error;                                               \
                return -1;                                                   \
            }                                                                \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = REAL(name);                                               \
        }                                                                    \
                                                                             \
        return real(fd, p, n);                                               \
    }

OUTPUT(writev, "write", const struct iovec *, int)
OUTPUT(write, "out", const void *, size_t)

LIBC(ssize_t, pwrite, "write", -1, (int fd, const void *p, size_t n, off_t at),
     (fd, p, n, at), ENOSPC, EIO)
LIBC(ssize_t, pwrite64, "write", -1,
     (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at), ENOSPC, EIO)
LIBC(ssize_t, pwritev, "write", -1,
     (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), ENOSPC,
     EIO)
LIBC(ssize_t, pwritev64, "write", -1,
     (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), ENOSPC,
     EIO)
LIBC(int, fdatasync, "sync", -1, (int fd), (fd), EIO, ENOSPC)
LIBC(int, fsync, "sync", -1, (int fd), (fd), EIO, ENOSPC)
LIBC(int, msync, "sync", -1, (void *p, size_t n, int flags), (p, n, flags), EIO)
LIBC(void *, mmap, "map", MAP_FAILED,
     (void *p, size_t n, int prot, int flags, int fd, off_t at),
     (p, n, prot, flags, fd, at), ENOMEM, EAGAIN)
LIBC(void *, mmap64, "map", MAP_FAILED,
     (void *p, size_t n, int prot, int flags, int fd, off64_t at),
     (p, n, prot, flags, fd, at), ENOMEM, EAGAIN)
LIBC(int, flock, "lock", -1, (int fd, int operation), (fd, operation), ENOLCK,
     EINTR)
LIBC(FILE *, fopen, "open", NULL, (const char *name, const char *mode),
     (name, mode), EMFILE, EACCES)
LIBC(FILE *, fopen64, "open", NULL, (const char *name, const char *mode),
     (name, mode), EMFILE, EACCES)
LIBC(DIR *, opendir, "open", NULL, (const char *name), (name), EMFILE, EACCES)
LIBC(DIR *, fdopendir, "open", NULL, (int fd), (fd), ENOMEM)
LIBC(int, mkostemp, "open", -1, (char *name, int flags), (name, flags), EMFILE,
     ENOSPC)
LIBC(int, mkostemp64, "open", -1, (char *name, int flags), (name, flags),
     EMFILE, ENOSPC)
LIBC(int, rename, "name", -1, (const char *a, const char *b), (a, b), EIO)
LIBC(int, link, "name", -1, (const char *a, const char *b), (a, b), EIO)
LIBC(int, mkdir, "name", -1, (const char *name, mode_t mode), (name, mode),
     ENOSPC)
LIBC(int, ftruncate, "name", -1, (int fd, off_t size), (fd, size), EIO)
LIBC(int, ftruncate64, "name", -1, (int fd, off64_t size), (fd, size), EIO)
LIBC(int, fchmod, "name", -1, (int fd, mode_t mode), (fd, mode), EPERM)
LIBC(int, fchown, "name", -1, (int fd, uid_t u, gid_t g), (fd, u, g), EPERM)


/* A stream that failed says so ever after; fflush() may mean all of them. */

static void
fault_stream(FILE *f)
{
    if (f) {
        f->_flags |= FAULT_STREAM_ERROR;
    }
}


#define STREAM(type, name, failed, parameters, arguments)                    \
    type                                                                     \
    name parameters                                                          \
    {                                                                        \
        int                        error;                                    \
        static __typeof__(&name)   real;                                     \
                                                                             \
        error = FAULT(#name, "out", ENOSPC);                                 \
                                                                             \
        if (error) {                                                         \
            fault_stream(f);                                                 \
            errno = error;                                                   \
            return failed;                                                   \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = REAL(name);                                               \
        }                                                                    \
                                                                             \
        return real arguments;                                               \
    }

STREAM(size_t, fwrite, 0, (const void *p, size_t size, size_t n, FILE *f),
       (p, size, n, f))
STREAM(int, fflush, EOF, (FILE *f), (f))


/* As the kernel does it: the file is closed all the same. */

int
fclose(FILE *f)
{
    int                          error;
    static __typeof__(&fclose)   real;

    if (real == NULL) {
        real = REAL(fclose);
    }

    error = FAULT("fclose", "out", ENOSPC);

    if (error) {
        real(f);
        errno = error;
        return EOF;
    }

    return real(f);
}


#define OPEN(name, parameters, arguments)                                    \
    int                                                                      \
    name parameters                                                          \
    {                                                                        \
        int                        error;                                    \
        mode_t                     mode;                                     \
        va_list                    list;                                     \
        static __typeof__(&name)   real;                                     \
                                                                             \
        error = FAULT(#name, "open", EMFILE, EACCES, EIO);                   \
                                                                             \
        if (error) {                                                         \
            errno = error;                                                   \
            return -1;                                                       \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = REAL(name);                                               \
        }                                                                    \
                                                                             \
        va_start(list, flags);                                               \
        mode = va_arg(list, mode_t);                                         \
        va_end(list);                                                        \
                                                                             \
        return real arguments;                                               \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int dir, const char *path, int flags, ...),
     (dir, path, flags, mode))
OPEN(openat64, (int dir, const char *path, int flags, ...),
     (dir, path, flags, mode))


static int
fault_is_lock(int command)
{
    switch (command) {

    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return 1;

    default:
        return 0;
    }
}


#define FCNTL(name)                                                          \
    int                                                                      \
    name(int fd, int command, ...)                                           \
    {                                                                        \
        int                        error;                                    \
        void                      *p;                                        \
        va_list                    list;                                     \
        static __typeof__(&name)   real;                                     \
                                                                             \
        error = fault_is_lock(command) ? FAULT(#name, "lock", ENOLCK, EINTR) \
                                       : 0;                                  \
                                                                             \
        if (error) {                                                         \
            errno = error;                                                   \
            return -1;                                                       \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = REAL(name);                                               \
        }                                                                    \
                                                                             \
        va_start(list, command);                                             \
        p = va_arg(list, void *);                                            \
        va_end(list);                                                        \
                                                                             \
        return real(fd, command, p);                                         \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
