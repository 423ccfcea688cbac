/*
 * pages.h: memory for secrets.  Whole pages of their own, zeroed, left out of
 * core dumps, and wiped before they go back to the kernel.
 */

#ifndef STORE_PAGES_H_INCLUDED
#define STORE_PAGES_H_INCLUDED


#include <stddef.h>


/* 0 or an errno value.  The caller owns *pages and remembers n. */
int store_pages_get(void **pages, size_t n);
/* NULL is allowed. */
void store_pages_put(void *pages, size_t n);


#endif /* STORE_PAGES_H_INCLUDED */
