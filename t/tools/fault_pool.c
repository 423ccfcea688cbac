/*
 * fault_pool.c: what a module asks nginx for and may not get, for a module
 * that is linked with --wrap for these functions: family "pool", and "post" for
 * tasks.  Most of it comes out of blocks that a pool has already, where no
 * malloc() can fail.
 */

#define _GNU_SOURCE

#include "fault.h"


#define NGX_ERROR  (-1)

#define POOL(type, failed, name, family, parameters, arguments)              \
    type __wrap_##name parameters;                                           \
                                                                             \
    type                                                                     \
    __wrap_##name parameters                                                 \
    {                                                                        \
        static __typeof__(&__wrap_##name)  real;                             \
                                                                             \
        if (FAULT(#name, family, ENOMEM)) {                                  \
            return failed;                                                   \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = (__typeof__(real)) dlsym(RTLD_DEFAULT, #name);            \
        }                                                                    \
                                                                             \
        return real arguments;                                               \
    }

POOL(void *, NULL, ngx_palloc, "pool", (void *pool, size_t n), (pool, n))
POOL(void *, NULL, ngx_pcalloc, "pool", (void *pool, size_t n), (pool, n))
POOL(void *, NULL, ngx_pnalloc, "pool", (void *pool, size_t n), (pool, n))
POOL(void *, NULL, ngx_pstrdup, "pool", (void *pool, void *s), (pool, s))
POOL(void *, NULL, ngx_list_push, "pool", (void *list), (list))
POOL(void *, NULL, ngx_array_push, "pool", (void *array), (array))
POOL(void *, NULL, ngx_array_create, "pool",
     (void *pool, uintptr_t n, size_t size), (pool, n, size))
POOL(void *, NULL, ngx_alloc, "pool", (size_t n, void *log), (n, log))
POOL(void *, NULL, ngx_calloc, "pool", (size_t n, void *log), (n, log))
POOL(void *, NULL, ngx_alloc_chain_link, "pool", (void *pool), (pool))
POOL(void *, NULL, ngx_pool_cleanup_add, "pool", (void *pool, size_t n),
     (pool, n))
POOL(void *, NULL, ngx_http_cleanup_add, "pool", (void *r, size_t n), (r, n))
POOL(void *, NULL, ngx_slab_calloc, "pool", (void *pool, size_t n), (pool, n))
POOL(intptr_t, NGX_ERROR, ngx_thread_task_post, "post",
     (void *pool, void *task), (pool, task))
POOL(intptr_t, NGX_ERROR, ngx_http_send_header, "pool", (void *r), (r))
POOL(intptr_t, NGX_ERROR, ngx_http_output_filter, "pool",
     (void *r, void *in), (r, in))
POOL(intptr_t, NGX_ERROR, ngx_http_complex_value, "pool",
     (void *r, void *value, void *text), (r, value, text))
