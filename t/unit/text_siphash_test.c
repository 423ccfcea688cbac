/*
 * text_siphash_test.c: the published vectors of SipHash-2-4.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/siphash.h"


static uint8_t  key[TEXT_SIPHASH_KEY_BYTES];
static uint8_t  data[16];


static int
setup(void **state)
{
    uint8_t  i;

    (void) state;

    for (i = 0; i < 16; i++) {
        key[i] = i;
        data[i] = i;
    }

    return 0;
}


static void
test_siphash_vectors(void **state)
{
    size_t  n;

    /* of the key 00 01 .. 0f and the first n bytes of 00 01 02 .. */

    static const uint64_t  vectors[] = {
        0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a,
        0x85676696d7fb7e2d, 0xcf2794e0277187b7, 0x18765564cd99a68d,
        0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462,
        0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
        0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee,
        0xa129ca6149be45e5
    };

    (void) state;

    for (n = 0; n < sizeof(vectors) / sizeof(vectors[0]); n++) {
        assert_true(text_siphash(key, data, n) == vectors[n]);
    }
}


static void
test_siphash_depends_on_the_key(void **state)
{
    (void) state;

    key[0] = 1;

    assert_true(text_siphash(key, data, 15) != 0xa129ca6149be45e5);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup(test_siphash_vectors, setup),
        cmocka_unit_test_setup(test_siphash_depends_on_the_key, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
