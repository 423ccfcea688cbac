#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "store.h"


#define PASSWORD  "correct horse battery staple"

/* the cheapest that is allowed, for speed */
static const store_hash_params_t  cheap = { STORE_ARGON2_MEMORY_MIN, 1 };

static const uint8_t  salt[STORE_SALT_BYTES] = "0123456789abcde";

/* What crypto_pwhash() below saw, and whether it should run out of memory. */
static unsigned            hash_calls;
static unsigned            hash_fails;
static size_t              hash_memory;
static unsigned long long  hash_passes;


int
crypto_pwhash(unsigned char *const out, unsigned long long out_len,
    const char *const password, unsigned long long n,
    const unsigned char *const s, unsigned long long passes, size_t memory,
    int alg)
{
    int (*real)(unsigned char *, unsigned long long, const char *,
        unsigned long long, const unsigned char *, unsigned long long, size_t,
        int);

    hash_calls++;
    hash_memory = memory;
    hash_passes = passes;

    if (hash_fails) {
        errno = ENOMEM;
        return -1;
    }

    *(void **) &real = dlsym(RTLD_NEXT, "crypto_pwhash");

    return real(out, out_len, password, n, s, passes, memory, alg);
}


static int
password_setup(void **state)
{
    (void) state;

    hash_calls = 0;
    hash_fails = 0;

    return 0;
}


static void
phc_set(store_phc_t *phc, const char *text)
{
    memset(phc, 0, sizeof(*phc));
    phc->len = (uint16_t) strlen(text);
    assert_true(phc->len <= STORE_PHC_MAX);
    memcpy(phc->data, text, phc->len);
}


/* libsodium reads what we write: the PHC string is the usual one. */
static void
test_hash_is_a_phc_string(void **state)
{
    store_phc_t  phc;

    (void) state;

    assert_int_equal(store_password_hash(&cheap, PASSWORD, strlen(PASSWORD),
                                         salt, &phc), STORE_OK);

    assert_memory_equal(phc.data, "$argon2id$v=19$m=8192,t=1,p=1$", 30);
    assert_int_equal(phc.len, strlen(phc.data));
    assert_int_equal(phc.len, 30 + 22 + 1 + 43);
    assert_int_equal(hash_memory, 8192 * 1024);
    assert_int_equal(hash_passes, 1);

    assert_int_equal(crypto_pwhash_str_verify(phc.data, PASSWORD,
                                              strlen(PASSWORD)), 0);
    assert_int_not_equal(crypto_pwhash_str_verify(phc.data, "x", 1), 0);
}


/* Made by PHP 8.2, password_hash("password", PASSWORD_ARGON2ID), which uses
 * the reference implementation. */
static void
test_verify_reads_what_php_writes(void **state)
{
    store_phc_t  phc;

    (void) state;

    phc_set(&phc, "$argon2id$v=19$m=19456,t=2,p=1$LmVYTGpLUThteTlRdEg5Yw"
            "$02MuU9VHONUH3b51X+g5eTHU490Y5r9mQFmWER5Z0OA");
    assert_int_equal(store_password_verify(&phc, "password", 8), STORE_OK);
    assert_int_equal(store_password_verify(&phc, "Password", 8),
                     STORE_BAD_PASSWORD);
}


static void
test_verify(void **state)
{
    store_phc_t  phc, other;

    (void) state;

    assert_int_equal(store_password_hash(&cheap, PASSWORD, strlen(PASSWORD),
                                         salt, &phc), STORE_OK);

    assert_int_equal(store_password_verify(&phc, PASSWORD, strlen(PASSWORD)),
                     STORE_OK);
    assert_int_equal(store_password_verify(&phc, PASSWORD,
                                           strlen(PASSWORD) - 1),
                     STORE_BAD_PASSWORD);
    assert_int_equal(store_password_verify(&phc, "", 0), STORE_BAD_PASSWORD);

    /* another salt, another string */

    assert_int_equal(store_password_hash(&cheap, PASSWORD, strlen(PASSWORD),
                                         (const uint8_t *) "fedcba987654321",
                                         &other), STORE_OK);
    assert_string_not_equal(phc.data, other.data);
    assert_int_equal(store_password_verify(&other, PASSWORD, strlen(PASSWORD)),
                     STORE_OK);
}


/* Passwords are bytes: a NUL does not end one, and 1024 are all looked at. */
static void
test_verify_bytes_and_lengths(void **state)
{
    char         big[STORE_PASSWORD_MAX + 1];
    store_phc_t  phc;

    (void) state;

    assert_int_equal(store_password_hash(&cheap, "a\0b", 3, salt, &phc),
                     STORE_OK);
    assert_int_equal(store_password_verify(&phc, "a\0b", 3), STORE_OK);
    assert_int_equal(store_password_verify(&phc, "a\0c", 3),
                     STORE_BAD_PASSWORD);
    assert_int_equal(store_password_verify(&phc, "a", 1), STORE_BAD_PASSWORD);

    memset(big, 'p', sizeof(big));
    assert_int_equal(store_password_hash(&cheap, big, STORE_PASSWORD_MAX, salt,
                                         &phc), STORE_OK);
    assert_int_equal(store_password_verify(&phc, big, STORE_PASSWORD_MAX),
                     STORE_OK);

    /* one more costs the same and does not match the first 1024 */

    hash_calls = 0;
    assert_int_equal(store_password_verify(&phc, big, STORE_PASSWORD_MAX + 1),
                     STORE_BAD_PASSWORD);
    assert_int_equal(hash_calls, 1);

    big[STORE_PASSWORD_MAX - 1] = 'q';
    assert_int_equal(store_password_verify(&phc, big, STORE_PASSWORD_MAX),
                     STORE_BAD_PASSWORD);
}


static void
test_hash_refuses(void **state)
{
    char                 big[STORE_PASSWORD_MAX + 1];
    size_t               i;
    store_phc_t          phc;
    store_hash_params_t  params[] = {
        { STORE_ARGON2_MEMORY_MIN - 1, 2 },
        { STORE_ARGON2_MEMORY_MAX + 1, 2 },
        { 0, 2 },
        { UINT32_MAX, 2 },
        { 19456, 0 },
        { 19456, STORE_ARGON2_PASSES_MAX + 1 },
        { 19456, UINT32_MAX }
    };

    (void) state;

    memset(big, 'p', sizeof(big));

    for (i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        assert_int_equal(store_password_hash(&params[i], PASSWORD,
                                             strlen(PASSWORD), salt, &phc),
                         STORE_INVALID);
    }

    assert_int_equal(store_password_hash(&cheap, "", 0, salt, &phc),
                     STORE_INVALID);
    assert_int_equal(store_password_hash(&cheap, big, sizeof(big), salt, &phc),
                     STORE_INVALID);

    assert_int_equal(hash_calls, 0);
}


#define SALT  "MDEyMzQ1Njc4OWFiY2RlAA"
#define TAG   "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static const char *const  corrupt[] = {
    "",
    "x",
    PASSWORD,
    "$argon2id$",
    "$argon2id$v=19$m=2147483648,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=1048577,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=4294975488,t=1,p=1$" SALT "$" TAG,    /* 2^32 + 8192 */
    "$argon2id$v=19$m=18446744073709559808,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8191,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=0,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=-8192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=+8192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=08192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m= 8192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=0x2000,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=0,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=17,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=4294967297,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=2$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=0$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=16777216$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1$" SALT "$" TAG,
    "$argon2id$v=19$t=1,m=8192,p=1$" SALT "$" TAG,
    "$argon2id$v=16$m=8192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$m=8192,t=1,p=1$" SALT "$" TAG,
    "$argon2i$v=19$m=8192,t=1,p=1$" SALT "$" TAG,
    "$argon2d$v=19$m=8192,t=1,p=1$" SALT "$" TAG,
    "$Argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG,
    " $argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1,keyid=AA$" SALT "$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG " ",
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG "$",
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG "A",
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "A$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "A" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2RlAB$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2Rl-A$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$MDEyMzQ1Njc4OWFiY2Rl==$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT
        "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
    "$argon2id$v=19$m=8192,t=1,p=1$$" TAG,
    "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$",
    "$2b$12$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"
};


/* None of them reaches libsodium, so nothing is allocated. */
static void
test_verify_corrupt(void **state)
{
    size_t       i;
    store_phc_t  phc;

    (void) state;

    for (i = 0; i < sizeof(corrupt) / sizeof(corrupt[0]); i++) {
        phc_set(&phc, corrupt[i]);

        if (store_password_verify(&phc, PASSWORD, 5) != STORE_CORRUPT) {
            fail_msg("taken: %s", corrupt[i]);
        }

        assert_int_equal(store_password_outdated(&phc, &cheap), 1);
    }

    phc_set(&phc, "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG);
    phc.data[phc.len] = 'x';
    assert_int_equal(store_password_verify(&phc, "x", 1), STORE_CORRUPT);
    phc.len = STORE_PHC_MAX + 1;
    assert_int_equal(store_password_verify(&phc, "x", 1), STORE_CORRUPT);

    assert_int_equal(hash_calls, 0);
}


static void
test_verify_truncated(void **state)
{
    char         text[STORE_PHC_MAX + 1];
    size_t       n;
    store_phc_t  phc;

    (void) state;

    strcpy(text, "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG);

    for (n = strlen(text) - 1; n > 0; n--) {
        text[n] = '\0';
        phc_set(&phc, text);
        assert_int_equal(store_password_verify(&phc, "x", 1), STORE_CORRUPT);

        /* a NUL inside is no end */
        phc.len = (uint16_t) (n + 1);
        assert_int_equal(store_password_verify(&phc, "x", 1), STORE_CORRUPT);
    }

    assert_int_equal(hash_calls, 0);
}


static void
test_out_of_memory(void **state)
{
    store_phc_t  phc;

    (void) state;

    hash_fails = 1;
    assert_int_equal(store_password_hash(&cheap, PASSWORD, 5, salt, &phc),
                     ENOMEM);

    phc_set(&phc, "$argon2id$v=19$m=8192,t=1,p=1$" SALT "$" TAG);
    assert_int_equal(store_password_verify(&phc, PASSWORD, 5), ENOMEM);
}


static void
test_dummy_costs_the_same(void **state)
{
    store_phc_t          phc;
    store_hash_params_t  params = { 9000, 3 };

    (void) state;

    store_password_dummy(&params, &phc);
    assert_int_equal(store_password_verify(&phc, PASSWORD, strlen(PASSWORD)),
                     STORE_BAD_PASSWORD);
    assert_int_equal(hash_calls, 1);
    assert_int_equal(hash_memory, 9000 * 1024);
    assert_int_equal(hash_passes, 3);
    assert_int_equal(store_password_outdated(&phc, &params), 0);
}


static void
test_outdated(void **state)
{
    store_phc_t          phc;
    store_hash_params_t  params;

    (void) state;

    assert_int_equal(store_password_hash(&cheap, PASSWORD, 5, salt, &phc),
                     STORE_OK);

    params = cheap;
    assert_int_equal(store_password_outdated(&phc, &params), 0);
    params.memory++;
    assert_int_equal(store_password_outdated(&phc, &params), 1);
    params = cheap;
    params.passes++;
    assert_int_equal(store_password_outdated(&phc, &params), 1);
}


static void
test_password_random(void **state)
{
    char      text[STORE_GENERATED_CHARS + 2], other[STORE_GENERATED_CHARS + 1];
    size_t    i;
    unsigned  n, seen[128];

    (void) state;

    memset(seen, 0, sizeof(seen));

    for (n = 0; n < 500; n++) {
        text[STORE_GENERATED_CHARS + 1] = 0x55;
        assert_int_equal(store_password_random(text), STORE_OK);
        assert_int_equal(strlen(text), STORE_GENERATED_CHARS);
        assert_int_equal(text[STORE_GENERATED_CHARS + 1], 0x55);

        for (i = 0; i < STORE_GENERATED_CHARS; i++) {
            assert_non_null(strchr("0123456789abcdefghjkmnpqrstvwxyz",
                                   text[i]));
            seen[(unsigned char) text[i]]++;
        }

        /* the last character holds three bits */
        assert_non_null(strchr("048cgmrw", text[STORE_GENERATED_CHARS - 1]));

        assert_int_equal(store_password_random(other), STORE_OK);
        assert_string_not_equal(text, other);
    }

    /* each of the 32 comes about 400 times in 13000 */

    for (i = 0; i < 32; i++) {
        n = seen[(unsigned char) "0123456789abcdefghjkmnpqrstvwxyz"[i]];
        assert_true(n >= 250 && n <= 600);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup(test_hash_is_a_phc_string, password_setup),
        cmocka_unit_test_setup(test_verify_reads_what_php_writes,
                               password_setup),
        cmocka_unit_test_setup(test_verify, password_setup),
        cmocka_unit_test_setup(test_verify_bytes_and_lengths, password_setup),
        cmocka_unit_test_setup(test_hash_refuses, password_setup),
        cmocka_unit_test_setup(test_verify_corrupt, password_setup),
        cmocka_unit_test_setup(test_verify_truncated, password_setup),
        cmocka_unit_test_setup(test_out_of_memory, password_setup),
        cmocka_unit_test_setup(test_dummy_costs_the_same, password_setup),
        cmocka_unit_test_setup(test_outdated, password_setup),
        cmocka_unit_test(test_password_random)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
