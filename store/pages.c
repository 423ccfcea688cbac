#include <errno.h>
#include <sys/mman.h>

#include "pages.h"
#include "store.h"


/*
 * A kernel that cannot keep the pages out of a core dump is an error, not a
 * lesser kind of success: the caller is about to put keys there.
 */
int
store_pages_get(void **pages, size_t n)
{
    int    err;
    void  *p;

    p = mmap(NULL, n, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        return errno;
    }

    if (madvise(p, n, MADV_DONTDUMP) != 0) {
        err = errno;
        (void) munmap(p, n);
        return err;
    }

    *pages = p;

    return STORE_OK;
}


void
store_pages_put(void *pages, size_t n)
{
    if (pages == NULL) {
        return;
    }

    store_wipe(pages, n);
    (void) munmap(pages, n);
}
