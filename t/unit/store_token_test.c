#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "keys_file.h"


#define NOW  1700000000


static const char  alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static store_keyring_t  *ring;      /* A, B in realm default */
static uint8_t           id[STORE_ID_BYTES];
static char              token[STORE_TOKEN_CHARS];


static store_keyring_t *
ring_open(const char *text, const char *realm)
{
    char              why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    keys_text(text);
    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);
    assert_int_equal(store_keyring_derive(secrets, realm, &keyring), STORE_OK);
    store_secrets_free(secrets);

    return keyring;
}


static int
token_setup(void **state)
{
    uint8_t  i, random[STORE_ID_RANDOM_BYTES];

    if (folder_setup(state) != 0) {
        return -1;
    }

    for (i = 0; i < sizeof(random); i++) {
        random[i] = (uint8_t) (0xf0 + i);
    }

    ring = ring_open(SECRET_A "\n" SECRET_B "\n", "default");
    store_token_id(NOW, random, id);
    store_token_sign(ring, id, token);

    return 0;
}


static int
token_teardown(void **state)
{
    store_keyring_free(ring);

    return folder_teardown(state);
}


static int
verify(const store_keyring_t *keyring, const char *text, size_t len)
{
    uint8_t  out[STORE_ID_BYTES], zero[STORE_ID_BYTES];
    int      rc;

    memset(out, 0, sizeof(out));
    memset(zero, 0, sizeof(zero));

    rc = store_token_verify(keyring, text, len, out, NULL);

    /* an id that is not genuine does not come out */

    if (rc == STORE_OK) {
        assert_memory_equal(out, id, sizeof(out));

    } else {
        assert_memory_equal(out, zero, sizeof(out));
    }

    return rc;
}


static void
test_token_layout(void **state)
{
    uint8_t  bytes[STORE_TOKEN_BYTES], mac[STORE_MAC_BYTES];

    (void) state;

    assert_int_equal(store_base64url_decode(token, sizeof(token), bytes,
                                            sizeof(bytes)), STORE_OK);

    assert_memory_equal(bytes + 1, id, sizeof(id));
    assert_int_equal((uint32_t) bytes[1] << 24 | bytes[2] << 16
                     | bytes[3] << 8 | bytes[4], NOW);
    assert_int_equal(bytes[5], 0xf0);
    assert_int_equal(bytes[21], 0x00);

    store_keyring_mac(ring, STORE_LABEL_COOKIE, 0, bytes, 22, mac);
    assert_memory_equal(bytes + 22, mac, sizeof(mac));
}


static void
test_token_verify(void **state)
{
    unsigned  line;

    (void) state;

    line = 9;
    assert_int_equal(store_token_verify(ring, token, sizeof(token), id, &line),
                     STORE_OK);
    assert_int_equal(line, 0);
    assert_int_equal(verify(ring, token, sizeof(token)), STORE_OK);
}


/* Every bit of the 54 bytes, encoded again. */
static void
test_token_every_bit(void **state)
{
    int      rc;
    char     text[STORE_TOKEN_CHARS];
    size_t   i;
    uint8_t  bytes[STORE_TOKEN_BYTES];

    (void) state;

    assert_int_equal(store_base64url_decode(token, sizeof(token), bytes,
                                            sizeof(bytes)), STORE_OK);

    for (i = 0; i < sizeof(bytes) * 8; i++) {
        bytes[i / 8] ^= (uint8_t) (1 << i % 8);
        store_base64url_encode(bytes, sizeof(bytes), text);
        bytes[i / 8] ^= (uint8_t) (1 << i % 8);

        rc = verify(ring, text, sizeof(text));
        assert_int_equal(rc, i < 8 ? STORE_UNKNOWN_KEY : STORE_BAD_SIGNATURE);
    }
}


/* Every other character at every place. */
static void
test_token_every_character(void **state)
{
    char      text[STORE_TOKEN_CHARS];
    size_t    i;
    unsigned  c;

    (void) state;

    for (i = 0; i < sizeof(text); i++) {
        memcpy(text, token, sizeof(text));

        for (c = 0; c < 256; c++) {
            text[i] = (char) c;

            assert_int_equal(verify(ring, text, sizeof(text)) == STORE_OK,
                             (char) c == token[i]);

            if (c == 0 || strchr(alphabet, (int) c) == NULL) {
                assert_int_equal(verify(ring, text, sizeof(text)),
                                 STORE_MALFORMED);
            }
        }
    }
}


static void
test_token_lengths(void **state)
{
    char    text[STORE_TOKEN_CHARS * 2];
    size_t  n;

    (void) state;

    memcpy(text, token, sizeof(token));
    memcpy(text + sizeof(token), token, sizeof(token));

    for (n = 0; n <= sizeof(text); n++) {
        if (n != STORE_TOKEN_CHARS) {
            assert_int_equal(verify(ring, text, n), STORE_MALFORMED);
        }
    }

    assert_int_equal(verify(ring, text + 1, STORE_TOKEN_CHARS - 1),
                     STORE_MALFORMED);
}


static void
test_token_other_spellings(void **state)
{
    char    text[STORE_TOKEN_CHARS], plain[STORE_TOKEN_CHARS];
    char   *p;
    size_t  i, n;

    (void) state;

    /* the random bytes 0xf0.. give characters the alphabets differ in */

    memcpy(text, token, sizeof(text));

    for (i = 0, n = 0; i < sizeof(text); i++) {
        p = strchr("-_", text[i]);

        if (p) {
            memcpy(plain, text, sizeof(text));
            plain[i] = *p == '-' ? '+' : '/';
            assert_int_equal(verify(ring, plain, sizeof(plain)),
                             STORE_MALFORMED);
            n++;
        }
    }

    assert_true(n > 0);

    text[sizeof(text) - 1] = '=';
    assert_int_equal(verify(ring, text, sizeof(text)), STORE_MALFORMED);
    text[sizeof(text) - 2] = '=';
    assert_int_equal(verify(ring, text, sizeof(text)), STORE_MALFORMED);
}


static void
test_token_keys(void **state)
{
    store_keyring_t  *other;

    (void) state;

    other = ring_open(SECRET_C "\n", "default");
    assert_int_equal(verify(other, token, sizeof(token)), STORE_UNKNOWN_KEY);
    store_keyring_free(other);

    other = ring_open(SECRET_A "\n" SECRET_B "\n", "b");
    assert_int_equal(verify(other, token, sizeof(token)), STORE_BAD_SIGNATURE);
    store_keyring_free(other);
}


/*
 * Old and new workers through a whole rotation: nobody is signed out before
 * the old key is dropped.
 */
static void
test_token_rotation(void **state)
{
    char              why[STORE_WHY_CHARS], fresh[STORE_TOKEN_CHARS];
    uint8_t           a, b, out[STORE_ID_BYTES];
    unsigned          line;
    store_secrets_t  *secrets;
    store_keyring_t  *one, *added, *promoted, *dropped;

    (void) state;

    one = ring_open(SECRET_A "\n", "default");
    store_token_sign(one, id, token);

    assert_int_equal(store_secrets_random_add(keys, &b, why), STORE_OK);
    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);
    a = store_secrets_id(secrets, 0);
    assert_int_equal(store_secrets_id(secrets, 1), b);
    assert_int_equal(store_keyring_derive(secrets, "default", &added),
                     STORE_OK);
    store_secrets_free(secrets);

    assert_int_equal(verify(added, token, sizeof(token)), STORE_OK);
    store_token_sign(added, id, fresh);
    assert_int_equal(verify(one, fresh, sizeof(fresh)), STORE_OK);

    assert_int_equal(store_secrets_promote(keys, b, why), STORE_OK);
    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);
    assert_int_equal(store_keyring_derive(secrets, "default", &promoted),
                     STORE_OK);
    store_secrets_free(secrets);

    store_token_sign(promoted, id, fresh);
    assert_int_equal(verify(added, fresh, sizeof(fresh)), STORE_OK);
    assert_int_equal(verify(one, fresh, sizeof(fresh)), STORE_UNKNOWN_KEY);
    assert_int_equal(store_token_verify(promoted, token, sizeof(token), out,
                                        &line), STORE_OK);
    assert_int_equal(line, 1);

    assert_int_equal(store_secrets_drop(keys, a, why), STORE_OK);
    assert_int_equal(store_secrets_read(keys, &secrets, why), STORE_OK);
    assert_int_equal(store_keyring_derive(secrets, "default", &dropped),
                     STORE_OK);
    store_secrets_free(secrets);

    assert_int_equal(verify(dropped, token, sizeof(token)), STORE_UNKNOWN_KEY);
    assert_int_equal(verify(dropped, fresh, sizeof(fresh)), STORE_OK);

    store_keyring_free(one);
    store_keyring_free(added);
    store_keyring_free(promoted);
    store_keyring_free(dropped);
}


static void
test_token_key_and_ref(void **state)
{
    char     ref[STORE_REF_CHARS + 1];
    uint8_t  key[STORE_KEY_BYTES], digest[32], bytes[STORE_REF_BYTES];

    (void) state;

    store_token_key(id, key);
    assert_memory_equal(key, id, 4);
    SHA256(id, sizeof(id), digest);
    assert_memory_equal(key + 4, digest, 12);

    store_key_ref(key, ref);
    assert_int_equal(strlen(ref), STORE_REF_CHARS);
    assert_int_equal(store_base64url_decode(ref, STORE_REF_CHARS, bytes,
                                            sizeof(bytes)), STORE_OK);
    assert_memory_equal(bytes, key + 7, 9);
}


static void
test_token_id_time(void **state)
{
    uint8_t  random[STORE_ID_RANDOM_BYTES], out[STORE_ID_BYTES];

    (void) state;

    memset(random, 0xab, sizeof(random));
    store_token_id(0xfedcba98, random, out);
    assert_memory_equal(out, "\xfe\xdc\xba\x98\xab\xab", 6);
    assert_int_equal(out[20], 0xab);
}


static void
csrf(const store_keyring_t *keyring, uint8_t fill, char *text)
{
    uint8_t  mask[STORE_MAC_BYTES];

    memset(mask, fill, sizeof(mask));
    store_csrf_sign(keyring, id, sizeof(id), mask, text);
}


static void
test_csrf_layout(void **state)
{
    char     text[STORE_CSRF_CHARS];
    size_t   i;
    uint8_t  bytes[STORE_CSRF_BYTES], in[1 + STORE_ID_BYTES], mac[32];

    (void) state;

    csrf(ring, 0x5a, text);
    assert_int_equal(store_base64url_decode(text, sizeof(text), bytes,
                                            sizeof(bytes)), STORE_OK);
    in[0] = STORE_ID_BYTES;
    memcpy(in + 1, id, sizeof(id));
    store_keyring_mac(ring, STORE_LABEL_CSRF, 0, in, sizeof(in), mac);

    for (i = 0; i < 32; i++) {
        assert_int_equal(bytes[i], 0x5a);
        assert_int_equal(bytes[32 + i], mac[i] ^ 0x5a);
    }
}


static void
test_csrf_verify(void **state)
{
    char     one[STORE_CSRF_CHARS], two[STORE_CSRF_CHARS];
    uint8_t  other[STORE_ID_BYTES];

    (void) state;

    csrf(ring, 0x00, one);
    csrf(ring, 0xa5, two);
    assert_memory_not_equal(one, two, sizeof(one));

    assert_int_equal(store_csrf_verify(ring, id, sizeof(id), one, sizeof(one)),
                     STORE_OK);
    assert_int_equal(store_csrf_verify(ring, id, sizeof(id), two, sizeof(two)),
                     STORE_OK);

    /* another session, the same bytes as an id of another length */

    memcpy(other, id, sizeof(other));
    other[20] ^= 1;
    assert_int_equal(store_csrf_verify(ring, other, sizeof(other), one,
                                       sizeof(one)), STORE_BAD_SIGNATURE);
    assert_int_equal(store_csrf_verify(ring, id, STORE_PRE_ID_BYTES, one,
                                       sizeof(one)), STORE_BAD_SIGNATURE);
}


static void
test_csrf_every_bit_and_length(void **state)
{
    char     text[STORE_CSRF_CHARS + 2];
    size_t   i, n;
    uint8_t  bytes[STORE_CSRF_BYTES];

    (void) state;

    csrf(ring, 0x3c, text);
    assert_int_equal(store_base64url_decode(text, STORE_CSRF_CHARS, bytes,
                                            sizeof(bytes)), STORE_OK);

    for (i = 0; i < sizeof(bytes) * 8; i++) {
        bytes[i / 8] ^= (uint8_t) (1 << i % 8);
        store_base64url_encode(bytes, sizeof(bytes), text);
        bytes[i / 8] ^= (uint8_t) (1 << i % 8);

        assert_int_equal(store_csrf_verify(ring, id, sizeof(id), text,
                                           STORE_CSRF_CHARS),
                         STORE_BAD_SIGNATURE);
    }

    csrf(ring, 0x3c, text);
    memcpy(text + STORE_CSRF_CHARS, "AA", 2);

    for (n = 0; n <= sizeof(text); n++) {
        assert_int_equal(store_csrf_verify(ring, id, sizeof(id), text, n),
                         n == STORE_CSRF_CHARS ? STORE_OK : STORE_MALFORMED);
    }

    /* 86 characters leave four bits over: 15 other last characters */

    n = 0;

    for (i = 0; i < 64; i++) {
        text[STORE_CSRF_CHARS - 1] = alphabet[i];
        n += store_csrf_verify(ring, id, sizeof(id), text, STORE_CSRF_CHARS)
             == STORE_MALFORMED;
    }

    assert_int_equal(n, 60);
}


static void
test_csrf_rotation_and_realm(void **state)
{
    char              text[STORE_CSRF_CHARS];
    store_keyring_t  *other;

    (void) state;

    csrf(ring, 0x11, text);

    other = ring_open(SECRET_B "\n" SECRET_A "\n", "default");
    assert_int_equal(store_csrf_verify(other, id, sizeof(id), text,
                                       sizeof(text)), STORE_OK);
    store_keyring_free(other);

    other = ring_open(SECRET_B "\n", "default");
    assert_int_equal(store_csrf_verify(other, id, sizeof(id), text,
                                       sizeof(text)), STORE_BAD_SIGNATURE);
    store_keyring_free(other);

    other = ring_open(SECRET_A "\n", "b");
    assert_int_equal(store_csrf_verify(other, id, sizeof(id), text,
                                       sizeof(text)), STORE_BAD_SIGNATURE);
    store_keyring_free(other);
}


/*
 * The same bytes and the same layout under another label: a token that is
 * made with the CSRF key is no cookie, and none of the kinds is another one.
 */
static void
test_purposes_do_not_mix(void **state)
{
    char      text[STORE_TOKEN_CHARS], long_text[STORE_CSRF_CHARS];
    uint8_t   out[STORE_ID_BYTES];
    unsigned  label, as;

    (void) state;

    for (label = 0; label < STORE_LABELS; label++) {
        store_signed_write(ring, (store_label_t) label, id, sizeof(id), text);

        for (as = 0; as < STORE_LABELS; as++) {
            assert_int_equal(store_signed_read(ring, (store_label_t) as, text,
                                               sizeof(text), out, sizeof(out)),
                             as == label ? STORE_OK : STORE_BAD_SIGNATURE);
        }

        assert_int_equal(verify(ring, text, sizeof(text)),
                         label == STORE_LABEL_COOKIE ? STORE_OK
                                                     : STORE_BAD_SIGNATURE);
    }

    csrf(ring, 0x77, long_text);
    assert_int_equal(verify(ring, long_text, sizeof(long_text)),
                     STORE_MALFORMED);
    assert_int_not_equal(verify(ring, long_text, STORE_TOKEN_CHARS), STORE_OK);
    assert_int_equal(store_csrf_verify(ring, id, sizeof(id), token,
                                       sizeof(token)), STORE_MALFORMED);
}


static void
test_signed_values(void **state)
{
    char     text[512], copy[512];
    size_t   i, n, len;
    uint8_t  data[STORE_SIGNED_MAX], out[STORE_SIGNED_MAX + 1];

    (void) state;

    for (i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t) i;
    }

    for (n = 0; n <= sizeof(data); n++) {
        len = ((1 + n + STORE_MAC_BYTES) * 8 + 5) / 6;
        memset(text, 0x55, sizeof(text));
        store_signed_write(ring, STORE_LABEL_LINK, data, n, text);
        assert_int_equal(text[len], 0x55);

        memset(out, 0, sizeof(out));
        assert_int_equal(store_signed_read(ring, STORE_LABEL_LINK, text, len,
                                           out, n), STORE_OK);
        assert_memory_equal(out, data, n);

        assert_int_equal(store_signed_read(ring, STORE_LABEL_LINK, text,
                                           len - 1, out, n), STORE_MALFORMED);
        assert_int_equal(store_signed_read(ring, STORE_LABEL_LINK, text, len,
                                           out, n + 1), STORE_MALFORMED);

        for (i = 0; i < len; i++) {
            memcpy(copy, text, len);
            copy[i] = copy[i] == 'A' ? 'B' : 'A';
            assert_int_not_equal(store_signed_read(ring, STORE_LABEL_LINK,
                                                   copy, len, out, n),
                                 STORE_OK);
        }
    }

    /* the two cookies have the sizes of limits.h */

    store_signed_write(ring, STORE_LABEL_PRE, data, STORE_PRE_ID_BYTES, text);
    assert_int_equal(store_signed_read(ring, STORE_LABEL_PRE, text,
                                       STORE_PRE_CHARS, out,
                                       STORE_PRE_ID_BYTES), STORE_OK);
    store_signed_write(ring, STORE_LABEL_DEVICE, data, STORE_USER_BYTES, text);
    assert_int_equal(store_signed_read(ring, STORE_LABEL_DEVICE, text,
                                       STORE_DEVICE_CHARS, out,
                                       STORE_USER_BYTES), STORE_OK);
}


#define token_test(f)                                                        \
    cmocka_unit_test_setup_teardown(f, token_setup, token_teardown)

int
main(void)
{
    const struct CMUnitTest  tests[] = {
        token_test(test_token_layout),
        token_test(test_token_verify),
        token_test(test_token_every_bit),
        token_test(test_token_every_character),
        token_test(test_token_lengths),
        token_test(test_token_other_spellings),
        token_test(test_token_keys),
        token_test(test_token_rotation),
        token_test(test_token_key_and_ref),
        token_test(test_token_id_time),
        token_test(test_csrf_layout),
        token_test(test_csrf_verify),
        token_test(test_csrf_every_bit_and_length),
        token_test(test_csrf_rotation_and_realm),
        token_test(test_purposes_do_not_mix),
        token_test(test_signed_values)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
