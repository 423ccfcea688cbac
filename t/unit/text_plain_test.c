/*
 * Text that needs no escape: nothing else is ever taken for it.
 */

#include "text_bytes.h"
#include "text/plain.h"


#define LENGTHS  70


static int
harmless(uint8_t c)
{
    return c >= 0x20 && c <= 0x7e && strchr("\"&'<>`\\", c) == NULL;
}


/* Every byte at every place of every length; whole when it is harmless. */
static void
test_plain(void **state)
{
    size_t    n, at, got;
    bytes_t   in;
    unsigned  c;

    (void) state;

    for (n = 0; n < LENGTHS; n++) {
        in = bytes_new(NULL, n);

        for (at = 0; at < n; at++) {
            for (c = 0; c < 256; c++) {
                memset(in.data, 'a' + (int) (n % 26), n);
                in.data[at] = (uint8_t) c;
                got = text_plain(bytes_span(&in));

                if (harmless((uint8_t) c)) {
                    assert_int_equal(got, n);

                } else {
                    assert_true(got <= at);
                }
            }
        }

        bytes_free(&in);
    }

    assert_int_equal(text_plain(text_span("")), 0);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
