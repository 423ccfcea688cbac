#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base64.h"
#include "store.h"


typedef struct {
    const char  *data;
    const char  *text;
} vector_t;


/* RFC 4648, section 10, without padding */
static const vector_t  vectors[] = {
    { "", "" },
    { "f", "Zg" },
    { "fo", "Zm8" },
    { "foo", "Zm9v" },
    { "foob", "Zm9vYg" },
    { "fooba", "Zm9vYmE" },
    { "foobar", "Zm9vYmFy" }
};


static void
test_base64url_encode_rfc4648(void **state)
{
    char    text[16];
    size_t  i, n;

    (void) state;

    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        n = store_base64url_encode((const uint8_t *) vectors[i].data,
                                   strlen(vectors[i].data), text);

        assert_int_equal(n, strlen(vectors[i].text));
        assert_memory_equal(text, vectors[i].text, n);
    }
}


static void
test_base64url_decode_rfc4648(void **state)
{
    size_t   i, n;
    uint8_t  data[16];

    (void) state;

    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        n = strlen(vectors[i].data);

        assert_int_equal(store_base64url_decode(vectors[i].text,
                                                strlen(vectors[i].text),
                                                data, n), STORE_OK);
        assert_memory_equal(data, vectors[i].data, n);
    }
}


static void
test_base64url_every_length_round_trips(void **state)
{
    char      text[512];
    size_t    i, n, len;
    uint8_t   data[256], back[256];

    (void) state;

    for (i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t) (255 - i * 7);
    }

    for (n = 0; n <= sizeof(data); n++) {
        len = store_base64url_encode(data, n, text);

        assert_int_equal(len, (n * 8 + 5) / 6);
        assert_int_equal(store_base64url_decode(text, len, back, n), STORE_OK);
        assert_memory_equal(back, data, n);

        assert_int_equal(store_base64url_decode(text, len, back, n + 1),
                         STORE_MALFORMED);
        if (n) {
            assert_int_equal(store_base64url_decode(text, len - 1, back, n),
                             STORE_MALFORMED);
            assert_int_equal(store_base64url_decode(text, len, back, n - 1),
                             STORE_MALFORMED);
        }
    }
}


/* Of the 256 bytes at each place exactly the 64 of the alphabet pass. */
static void
test_base64url_decode_alphabet(void **state)
{
    char         text[4];
    size_t       place;
    uint8_t      data[3];
    unsigned     c, url, std, passed;
    const char  *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                            "yz0123456789";

    (void) state;

    for (place = 0; place < 4; place++) {
        passed = 0;

        for (c = 0; c < 256; c++) {
            memcpy(text, "AAAA", 4);
            text[place] = (char) c;

            url = store_base64url_decode(text, 4, data, 3) == STORE_OK;
            std = store_base64_decode(text, 4, data, 3) == STORE_OK;

            passed += url + std;

            if (c && strchr(alphabet, (int) c)) {
                assert_true(url && std);

            } else {
                assert_int_equal(url, c == '-' || c == '_');
                assert_int_equal(std, c == '+' || c == '/');
            }
        }

        assert_int_equal(passed, 128);
    }
}


/* One byte has two characters, and only 4 of 64 second ones are canonical. */
static void
test_base64url_decode_stray_bits(void **state)
{
    char         text[3];
    size_t       i;
    uint8_t      data[2];
    unsigned     one, two;
    const char  *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
                            "yz0123456789-_";

    (void) state;

    one = 0;
    two = 0;
    memcpy(text, "AAA", 3);

    for (i = 0; i < 64; i++) {
        text[1] = alphabet[i];
        one += store_base64url_decode(text, 2, data, 1) == STORE_OK;
    }

    text[1] = 'A';

    for (i = 0; i < 64; i++) {
        text[2] = alphabet[i];
        two += store_base64url_decode(text, 3, data, 2) == STORE_OK;
    }

    assert_int_equal(one, 4);
    assert_int_equal(two, 16);
}


static void
test_base64url_decode_padding_and_space(void **state)
{
    uint8_t  data[4];

    (void) state;

    assert_int_equal(store_base64url_decode("Zg==", 4, data, 1),
                     STORE_MALFORMED);
    assert_int_equal(store_base64url_decode("Zg==", 4, data, 3),
                     STORE_MALFORMED);
    assert_int_equal(store_base64url_decode("Zm9 ", 4, data, 3),
                     STORE_MALFORMED);
    assert_int_equal(store_base64url_decode("Zm9\n", 4, data, 3),
                     STORE_MALFORMED);
    assert_int_equal(store_base64url_decode("Zm9v", 4, data, SIZE_MAX),
                     STORE_MALFORMED);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_base64url_encode_rfc4648),
        cmocka_unit_test(test_base64url_decode_rfc4648),
        cmocka_unit_test(test_base64url_every_length_round_trips),
        cmocka_unit_test(test_base64url_decode_alphabet),
        cmocka_unit_test(test_base64url_decode_stray_bits),
        cmocka_unit_test(test_base64url_decode_padding_and_space)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
