#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pages.h"
#include "store.h"


#define BYTES  10000


static const void  *watched;
static int          left;       /* bytes not zero when they were given back */


/* In place of libc's: the pages cannot be looked at any later. */
int
munmap(void *pages, size_t n)
{
    size_t          i;
    const uint8_t  *p;

    p = pages;

    if (pages == watched) {
        left = 0;

        for (i = 0; i < n; i++) {
            left += p[i] != 0;
        }
    }

    return (int) syscall(SYS_munmap, pages, n);
}


static void
test_pages_begin_with_zeroes(void **state)
{
    void    *pages;
    size_t   i;

    (void) state;

    assert_int_equal(store_pages_get(&pages, BYTES), STORE_OK);

    for (i = 0; i < BYTES; i++) {
        assert_int_equal(((uint8_t *) pages)[i], 0);
    }

    store_pages_put(pages, BYTES);
}


static void
test_pages_go_back_wiped(void **state)
{
    void  *pages;

    (void) state;

    assert_int_equal(store_pages_get(&pages, BYTES), STORE_OK);
    memset(pages, 0x5a, BYTES);

    watched = pages;
    left = -1;
    store_pages_put(pages, BYTES);
    watched = NULL;

    assert_int_equal(left, 0);
}


static void
test_no_pages(void **state)
{
    (void) state;

    store_pages_put(NULL, BYTES);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_pages_begin_with_zeroes),
        cmocka_unit_test(test_pages_go_back_wiped),
        cmocka_unit_test(test_no_pages)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
