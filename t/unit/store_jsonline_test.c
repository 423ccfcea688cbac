#include "store_fixture.h"

#include "jsonline.h"


static store_json_t  json;


/* In a block of its own size: ASan sees one byte too many. */
static int
parse(const char *line, size_t n)
{
    int    rc;
    char  *copy;

    copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, line, n);

    rc = store_json_parse(&json, copy, n);

    free(copy);

    return rc;
}


#define parse_text(text)  parse(text, sizeof(text) - 1)


static void
test_values(void **state)
{
    size_t       n;
    int32_t      integer;
    uint8_t      bytes[4];
    uint64_t     number;
    const char  *text;

    (void) state;

    assert_int_equal(parse_text("{\"a\":\"x\",\"b\":18446744073709551615,"
                                " \"c\" : -13 ,\t\"d\":\"00ff7a1c\","
                                "\"e\":true,\"f\":0}\r"),
                     STORE_OK);

    assert_int_equal(store_json_get_string(&json, "a", &text, &n), STORE_OK);
    assert_int_equal(n, 1);
    assert_memory_equal(text, "x", 1);
    assert_int_equal(store_json_get_number(&json, "b", UINT64_MAX, &number),
                     STORE_OK);
    assert_true(number == UINT64_MAX);
    assert_int_equal(store_json_get_integer(&json, "c", &integer), STORE_OK);
    assert_int_equal(integer, -13);
    assert_int_equal(store_json_get_hex(&json, "d", bytes, 4), STORE_OK);
    assert_memory_equal(bytes, "\x00\xff\x7a\x1c", 4);
    assert_int_equal(store_json_get_number(&json, "f", 0, &number), STORE_OK);

    /* not asked for */

    assert_int_equal(store_json_done(&json), STORE_MALFORMED);

    assert_int_equal(parse_text("{}"), STORE_OK);
    assert_int_equal(store_json_done(&json), STORE_OK);
}


static void
test_wrong_type_or_range(void **state)
{
    size_t       n;
    int32_t      integer;
    uint8_t      bytes[4];
    uint64_t     number;
    const char  *text;

    (void) state;

    assert_int_equal(parse_text("{\"a\":\"x\",\"b\":5,\"c\":-5,\"d\":true,"
                                "\"e\":2147483648,\"f\":\"00FF7a1c\","
                                "\"g\":\"00ff7a\"}"),
                     STORE_OK);

    assert_int_equal(store_json_get_number(&json, "a", 9, &number),
                     STORE_MALFORMED);
    assert_string_equal(json.wrong, "a");
    assert_int_equal(store_json_get_string(&json, "b", &text, &n),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_number(&json, "b", 4, &number),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_number(&json, "c", 9, &number),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_number(&json, "d", 9, &number),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_integer(&json, "e", &integer),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_hex(&json, "f", bytes, 4),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_hex(&json, "g", bytes, 4),
                     STORE_MALFORMED);
    assert_int_equal(store_json_get_string(&json, "none", &text, &n),
                     STORE_MALFORMED);

    /* once only */

    assert_int_equal(store_json_get_string(&json, "a", &text, &n), STORE_OK);
    assert_int_equal(store_json_get_string(&json, "a", &text, &n),
                     STORE_MALFORMED);
}


static void
test_escapes(void **state)
{
    size_t       n;
    const char  *text;

    (void) state;

    assert_int_equal(parse_text("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t"
                                "\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"}"),
                     STORE_OK);
    assert_int_equal(store_json_get_string(&json, "a", &text, &n), STORE_OK);
    assert_int_equal(n, 8 + 1 + 2 + 3 + 4);
    assert_memory_equal(text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac"
                              "\xf0\x9f\x98\x80", n);

    /* a name may be escaped and is the same name */

    assert_int_equal(parse_text("{\"\\u0061\":\"1\",\"a\":\"2\"}"),
                     STORE_MALFORMED);
}


static void
test_refused(void **state)
{
    size_t  i;

    static const char *const  lines[] = {
        "", " ", "{", "}", "[]", "null", "1", "\"a\"", "{}}", "{} {}", "{}x",
        "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}",
        "{\"a\":1;\"b\":2}", "{a:1}", "{'a':1}", "{\"a\":{}}", "{\"a\":[]}",
        "{\"a\":null}", "{\"a\":tru}", "{\"a\":True}", "{\"a\":truee}",
        "{\"a\":1.5}", "{\"a\":1e9}", "{\"a\":+1}", "{\"a\":01}",
        "{\"a\":-0}", "{\"a\":-}", "{\"a\":--1}", "{\"a\":0x10}",
        "{\"a\":18446744073709551616}", "{\"a\":NaN}", "{\"a\":\"x}",
        "{\"a\":\"\\\"}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\u12g4\"}", "{\"a\":\"\\u0000\"}", "{\"a\":\"\\ud83d\"}",
        "{\"a\":\"\\ud83dx\"}", "{\"a\":\"\\ud83d\\u0041\"}",
        "{\"a\":\"\\ude00\"}", "{\"a\":\"\t\"}", "{\"a\":\"\x01\"}",
        "{\"a\":\"\x80\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xc3\"}",
        "{\"a\":\"\xe0\x80\x80\"}", "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xf8\x88\x80\x80\x80\"}",
        "{\"a\":1,\"a\":1}", "{\"a\":1}\n{\"a\":1}", "\xef\xbb\xbf{}",
        "{\"a\":1/**/}", "\v{}"
    };

    (void) state;

    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (parse(lines[i], strlen(lines[i])) != STORE_MALFORMED) {
            fail_msg("taken: %s", lines[i]);
        }
    }

    /* zero bytes */

    assert_int_equal(parse("{}\0", 3), STORE_MALFORMED);
    assert_int_equal(parse("\0{}", 3), STORE_MALFORMED);
    assert_int_equal(parse("{\"a\":\"\0\"}", 9), STORE_MALFORMED);
    assert_int_equal(parse("{\"a\":\"\\\0\"}", 10), STORE_MALFORMED);
}


/* A valid line cut at each byte. */
static void
test_every_truncation(void **state)
{
    size_t             n;
    static const char  line[] = "{\"name\":\"\\u20ac\xe2\x82\xac\\\"\","
                                "\"n\":-120,\"t\":true,\"f\":false}";

    (void) state;

    assert_int_equal(parse(line, sizeof(line) - 1), STORE_OK);

    for (n = 0; n < sizeof(line) - 1; n++) {
        assert_int_equal(parse(line, n), STORE_MALFORMED);
    }
}


static void
test_bounds(void **state)
{
    int     i;
    char   *line;
    size_t  n;

    (void) state;

    line = malloc(STORE_JSON_LINE_MAX + 2);
    assert_non_null(line);

    memset(line, 'x', STORE_JSON_LINE_MAX + 2);
    memcpy(line, "{\"a\":\"", 6);
    memcpy(line + STORE_JSON_LINE_MAX - 2, "\"}", 2);
    assert_int_equal(parse(line, STORE_JSON_LINE_MAX), STORE_OK);

    line[STORE_JSON_LINE_MAX] = ' ';
    assert_int_equal(parse(line, STORE_JSON_LINE_MAX + 1), STORE_LIMIT);

    for (i = 0, n = 1; i < STORE_JSON_MEMBERS_MAX; i++) {
        n += (size_t) snprintf(line + n, 32, "\"m%d\":1,", i);
    }

    line[n - 1] = '}';
    assert_int_equal(parse(line, n), STORE_OK);

    line[n - 1] = ',';
    memcpy(line + n, "\"x\":1}", 6);
    assert_int_equal(parse(line, n + 6), STORE_LIMIT);

    free(line);
}


/* What is written is read. */
static void
test_round_trip(void **state)
{
    char               line[512];
    FILE              *out;
    size_t             n;
    int32_t            integer;
    uint8_t            bytes[3];
    uint64_t           number;
    const char        *text;
    store_json_out_t   w;
    static const char  odd[] = "a\"b\\c\x01\x7f\xe2\x82\xac/";

    (void) state;

    out = fmemopen(line, sizeof(line), "w");
    assert_non_null(out);
    store_json_begin(&w, out);
    store_json_put_string(&w, "s", odd, sizeof(odd) - 1);
    store_json_put_number(&w, "n", UINT64_MAX);
    store_json_put_integer(&w, "i", -30799);
    store_json_put_hex(&w, "h", (const uint8_t *) "\x00\x9f\xff", 3);
    store_json_end(&w);
    assert_int_equal(fclose(out), 0);

    n = strlen(line);
    assert_int_equal(line[n - 1], '\n');
    assert_int_equal(parse(line, n - 1), STORE_OK);

    assert_int_equal(store_json_get_string(&json, "s", &text, &n), STORE_OK);
    assert_int_equal(n, sizeof(odd) - 1);
    assert_memory_equal(text, odd, n);
    assert_int_equal(store_json_get_number(&json, "n", UINT64_MAX, &number),
                     STORE_OK);
    assert_true(number == UINT64_MAX);
    assert_int_equal(store_json_get_integer(&json, "i", &integer), STORE_OK);
    assert_int_equal(integer, -30799);
    assert_int_equal(store_json_get_hex(&json, "h", bytes, 3), STORE_OK);
    assert_memory_equal(bytes, "\x00\x9f\xff", 3);
    assert_int_equal(store_json_done(&json), STORE_OK);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_wrong_type_or_range),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
