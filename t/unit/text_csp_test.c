/*
 * Policies: compiled once, refused with a reason and a place.
 */

#include "text_bytes.h"
#include "text/csp.h"


#define NONCE  "MDEyMzQ1Njc4OWFiY2RlZg=="


/* Compiles in exactly the room the header asks for and writes the value. */
static int
compile(text_span_t policy, bytes_t *value, size_t *at)
{
    int         rc;
    bytes_t     normal;
    text_csp_t  csp;

    memset(&csp, 0x5a, sizeof(csp));
    normal = bytes_new(NULL, 2 * policy.len + 64);
    *at = 4711;
    rc = text_csp_compile(policy, normal.data, normal.len, &csp, at);

    if (rc == TEXT_CSP_OK) {
        *value = bytes_new(NULL, csp.len);
        assert_true(csp.n >= 1 && csp.n <= TEXT_CSP_NONCES_MAX + 1);
        assert_int_equal(text_csp_write(&csp, (const uint8_t *) NONCE,
                                        value->data), csp.len);
    }

    bytes_free(&normal);

    return rc;
}


static void
test_compile(void **state)
{
    size_t   i, at;
    bytes_t  in, value;

    static const struct {
        const char  *policy;
        const char  *value;
    } cases[] = {
        { "default-src 'self'", "default-src 'self'" },
        { "default-src 'self';", "default-src 'self';" },
        { ";default-src 'self'", ";default-src 'self'" },
        { "  upgrade-insecure-requests  ", "upgrade-insecure-requests" },
        { "script-src 'nonce'", "script-src 'nonce-" NONCE "'" },
        { "script-src 'nonce-$csp_nonce'", "script-src 'nonce-" NONCE "'" },
        { "script-src 'NONCE'", "script-src 'nonce-" NONCE "'" },
        { "script-src 'nonce';style-src 'nonce'",
          "script-src 'nonce-" NONCE "';style-src 'nonce-" NONCE "'" },
        { "script-src 'strict-dynamic' 'nonce' https:; object-src 'none'",
          "script-src 'strict-dynamic' 'nonce-" NONCE
          "' https:; object-src 'none'" },
        { "script-src 'nonce' 'nonce'",
          "script-src 'nonce-" NONCE "' 'nonce-" NONCE "'" },
        { "a b;;; c d", "a b;;; c d" },
        { "x-new-directive $host", "x-new-directive $host" },
        { "img-src nonce.example", "img-src nonce.example" },
        { "script-src 'sha256-AAAA='", "script-src 'sha256-AAAA='" },
        { "a;aa;aaa;A-a", "a;aa;aaa;A-a" },
        { "0-9;az;AZ-", "0-9;az;AZ-" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].policy);
        assert_int_equal(compile(bytes_span(&in), &value, &at), TEXT_CSP_OK);
        bytes_assert(bytes_span(&value), cases[i].value, cases[i].policy);
        bytes_free(&value);
        bytes_free(&in);
    }
}


static void
test_compile_refuses(void **state)
{
    int      rc;
    size_t   i, at;
    bytes_t  in, value;

    static const struct {
        const char  *policy;
        int          rc;
        size_t       at;
    } cases[] = {
        { "", TEXT_CSP_EMPTY, 0 },
        { "   ", TEXT_CSP_EMPTY, 0 },
        { " ; ;; ", TEXT_CSP_EMPTY, 0 },
        { "default-src a, script-src b", TEXT_CSP_BAD_BYTE, 13 },
        { "default-src\ta", TEXT_CSP_BAD_BYTE, 11 },
        { "default-src a\r\nSet-Cookie: b", TEXT_CSP_BAD_BYTE, 13 },
        { "default-src a\n", TEXT_CSP_BAD_BYTE, 13 },
        { "a\x7f", TEXT_CSP_BAD_BYTE, 1 },
        { "a \xc3\xa9", TEXT_CSP_BAD_BYTE, 2 },
        { "default_src a", TEXT_CSP_BAD_DIRECTIVE, 0 },
        { "_a b", TEXT_CSP_BAD_DIRECTIVE, 0 },
        { "a_ b", TEXT_CSP_BAD_DIRECTIVE, 0 },
        { "  'self'", TEXT_CSP_BAD_DIRECTIVE, 2 },
        { "default-src: a", TEXT_CSP_BAD_DIRECTIVE, 0 },
        { "a; default-src='b'", TEXT_CSP_BAD_DIRECTIVE, 3 },
        { "script-src'nonce'", TEXT_CSP_BAD_DIRECTIVE, 0 },
        { "a 1; b 2; a 3", TEXT_CSP_DUPLICATE, 10 },
        { "a;A", TEXT_CSP_DUPLICATE, 2 },
        { " Img-Src a; img-src b", TEXT_CSP_DUPLICATE, 12 },
        { "a 'nonce-'", TEXT_CSP_BAD_NONCE, 2 },
        { " a 'nonce-abc'", TEXT_CSP_BAD_NONCE, 3 },
        { "a 'Nonce-abc'", TEXT_CSP_BAD_NONCE, 2 },
        { "a 'nonce", TEXT_CSP_BAD_NONCE, 2 },
        { "a 'nonce'x", TEXT_CSP_BAD_NONCE, 2 },
        { "a 'nonce''nonce'", TEXT_CSP_BAD_NONCE, 2 },
        { "a 'self''nonce'", TEXT_CSP_BAD_NONCE, 2 },
        { "a https:'NONCE'", TEXT_CSP_BAD_NONCE, 2 },
        { "a nonce-$csp_nonce", TEXT_CSP_BAD_NONCE, 2 },
        { "a b; c $csp_nonce", TEXT_CSP_BAD_NONCE, 7 },
        { "a 'nonce-${csp_nonce}'", TEXT_CSP_BAD_NONCE, 2 },
        { "a 'nonce-$csp_nonce", TEXT_CSP_BAD_NONCE, 2 },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].policy);
        rc = compile(bytes_span(&in), &value, &at);

        if (rc != cases[i].rc || at != cases[i].at) {
            fail_msg("%s: %d at %zu", cases[i].policy, rc, at);
        }

        bytes_free(&in);
    }

    rc = compile(text_span("a b\0c"), &value, &at);
    assert_int_equal(rc, TEXT_CSP_BAD_BYTE);
    assert_int_equal(at, 3);
}


static void
test_compile_counts_nonces(void **state)
{
    size_t   n, k, at;
    bytes_t  in, value;

    (void) state;

    for (n = 1; n <= TEXT_CSP_NONCES_MAX + 1; n++) {
        in = bytes_new(NULL, 1 + n * 8);
        in.data[0] = 'a';

        for (k = 0; k < n; k++) {
            memcpy(in.data + 1 + k * 8, " 'nonce'", 8);
        }

        if (n > TEXT_CSP_NONCES_MAX) {
            assert_int_equal(compile(bytes_span(&in), &value, &at),
                             TEXT_CSP_TOO_MANY_NONCES);
            assert_int_equal(at, 2 + TEXT_CSP_NONCES_MAX * 8);

        } else {
            assert_int_equal(compile(bytes_span(&in), &value, &at),
                             TEXT_CSP_OK);
            assert_int_equal(value.len,
                             1 + n * (9 + TEXT_CSP_NONCE_CHARS));
            bytes_free(&value);
        }

        bytes_free(&in);
    }
}


static void
test_compile_lengths(void **state)
{
    size_t      at;
    bytes_t     in, value;
    text_csp_t  csp;

    (void) state;

    in = bytes_new(NULL, TEXT_CSP_POLICY_MAX + 1);
    memset(in.data, 'a', in.len);
    assert_int_equal(compile(bytes_span(&in), &value, &at),
                     TEXT_CSP_TOO_LONG);

    in.len--;
    assert_int_equal(compile(bytes_span(&in), &value, &at), TEXT_CSP_OK);
    bytes_free(&value);
    bytes_free(&in);

    /* as many directives as fit, all different, and one more of them twice */

    in = bytes_new(NULL, TEXT_CSP_POLICY_MAX);

    for (at = 0; at < in.len; at += 4) {
        in.data[at] = (uint8_t) ('a' + at / 4 % 26);
        in.data[at + 1] = (uint8_t) ('a' + at / 4 / 26 % 26);
        in.data[at + 2] = (uint8_t) ('a' + at / 4 / 26 / 26);
        in.data[at + 3] = ';';
    }

    assert_int_equal(compile(bytes_span(&in), &value, &at), TEXT_CSP_OK);
    bytes_free(&value);

    memcpy(in.data + in.len - 4, "AAA", 3);
    assert_int_equal(compile(bytes_span(&in), &value, &at),
                     TEXT_CSP_DUPLICATE);
    assert_int_equal(at, in.len - 4);
    bytes_free(&in);

    value = bytes_new(NULL, 2 * 3 + 63);
    assert_int_equal(text_csp_compile(text_span("a b"), value.data, value.len,
                                      &csp, &at), TEXT_CSP_TOO_LONG);
    bytes_free(&value);
}


static void
test_compile_truncated(void **state)
{
    int          rc;
    size_t       len, at;
    bytes_t      in, value;
    const char  *whole;

    (void) state;

    whole = "script-src 'nonce' 'self'; style-src 'nonce-$csp_nonce'; a b";

    for (len = 0; len <= strlen(whole); len++) {
        in = bytes_new(whole, len);
        rc = compile(bytes_span(&in), &value, &at);

        if (rc == TEXT_CSP_OK) {
            bytes_free(&value);

        } else {
            assert_true(rc == TEXT_CSP_EMPTY || rc == TEXT_CSP_BAD_NONCE
                        || rc == TEXT_CSP_BAD_DIRECTIVE
                        || rc == TEXT_CSP_DUPLICATE);
            assert_true(at <= len);
        }

        bytes_free(&in);
    }

    assert_int_equal(rc, TEXT_CSP_OK);
}


/* The value is the policy with its places filled in, and a legal field. */
static void
test_compile_anything(void **state)
{
    int          rc, round;
    size_t       i, n, at, places;
    bytes_t      in, value;
    uint64_t     seed;
    const char  *part;

    static const char *const  parts[] = {
        "'nonce'", "'nonce-$csp_nonce'", " ", " ", ";", "a", "b-src", "'self'",
        "'nonce-x'", "$csp_nonce", ",", "\n", "https:",
    };

    (void) state;

    seed = 41;

    for (round = 0; round < 50000; round++) {
        in = bytes_new(NULL, 400);
        places = 0;

        for (i = bytes_random(&seed) % 16, n = 0; i > 0; i--) {
            part = parts[bytes_random(&seed)
                         % (bytes_count(parts) - (round % 2 ? 0 : 5))];
            memcpy(in.data + n, part, strlen(part));
            n += strlen(part);
        }

        in.len = n;
        rc = compile(bytes_span(&in), &value, &at);
        assert_non_null(text_csp_strerror(rc));

        if (rc != TEXT_CSP_OK) {
            assert_true(at <= in.len);
            bytes_free(&in);
            continue;
        }

        assert_true(value.data[0] != ' ' && value.data[value.len - 1] != ' ');

        for (i = 0; i < value.len; i++) {
            assert_true(value.data[i] >= ' ' && value.data[i] < 0x7f
                        && value.data[i] != ',');

            if (value.len - i >= sizeof(NONCE) - 1
                && memcmp(value.data + i, NONCE, sizeof(NONCE) - 1) == 0)
            {
                assert_true(i > 7);
                assert_memory_equal(value.data + i - 7, "'nonce-", 7);
                assert_int_equal(value.data[i + sizeof(NONCE) - 1], '\'');
                places++;
            }
        }

        for (i = 0; i + 7 <= in.len; i++) {
            if (memcmp(in.data + i, "'nonce'", 7) == 0
                || memcmp(in.data + i, "'nonce-", 7) == 0)
            {
                places--;
                i += 6;
            }
        }

        assert_int_equal(places, 0);
        bytes_free(&value);
        bytes_free(&in);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_compile_refuses),
        cmocka_unit_test(test_compile_counts_nonces),
        cmocka_unit_test(test_compile_lengths),
        cmocka_unit_test(test_compile_truncated),
        cmocka_unit_test(test_compile_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
