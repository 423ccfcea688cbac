#ifndef FAULT_H
#define FAULT_H

/* What the parts of the shim have in common: see fault.c. */

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>


#define FAULT_NAME   32
#define FAULT_WHERE  128


/* Session::Faults knows the offsets. */

typedef struct {
    uint32_t  n;                 /* 0: nothing fails */
    uint32_t  on;                /* all from the n-th on */
    uint32_t  way;
    uint32_t  children;          /* not in the process that was started */
    uint32_t  calls;
    uint32_t  hits;
    int32_t   alive;
    uint32_t  spare;
    char      name[FAULT_NAME];
    char      where[FAULT_WHERE];  /* who called the first that failed */
} fault_page_t;


/* NULL where nobody asked for faults */
extern fault_page_t  *fault_page;


/* 0, or which of the n ways the call of this function fails in. */
int fault_hit(const char *name, const char *family, const int *ways, size_t n,
    void *caller);


#define FAULT(name, family, ...)                                             \
    ({                                                                       \
        static const int  fault_ways[] = { __VA_ARGS__ };                    \
                                                                             \
        fault_hit(name, family, fault_ways,                                  \
                  sizeof(fault_ways) / sizeof(int),                          \
                  __builtin_return_address(0));                              \
    })

#define REAL(name)  ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))


/* A function of libc: what it returns when it fails, and its errno. */

#define LIBC(type, name, family, failed, parameters, arguments, ...)         \
    type                                                                     \
    name parameters                                                          \
    {                                                                        \
        int                         error;                                   \
        static __typeof__(&name)    real;                                    \
                                                                             \
        error = FAULT(#name, family, __VA_ARGS__);                           \
                                                                             \
        if (error) {                                                         \
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


#endif
