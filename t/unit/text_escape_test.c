/*
 * Escapes: nothing that means something comes out of a value.
 */

#include "text_bytes.h"
#include "text/escape.h"
#include "text/utf8.h"


#define BAD  "\xef\xbf\xbd"             /* U+FFFD */


/* Two calls, as callers do it: one measures, one writes. */
static bytes_t
escaped(size_t (*escape)(text_span_t, uint8_t *, size_t), text_span_t in)
{
    size_t   len;
    bytes_t  out;

    len = escape(in, NULL, 0);
    out = bytes_new(NULL, len);
    assert_int_equal(escape(in, out.data, len), len);

    return out;
}


static void
test_html(void **state)
{
    size_t   i;
    bytes_t  in, out;

    static const struct {
        const char  *in;
        const char  *out;
    } cases[] = {
        { "", "" },
        { "plain text, 1.5%", "plain text, 1.5%" },
        { "&<>\"'`", "&amp;&lt;&gt;&quot;&#39;&#96;" },
        { "a&amp;b", "a&amp;amp;b" },
        { "</script><script>alert(1)</script>",
          "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;" },
        { "\" onload=\"x", "&quot; onload=&quot;x" },
        { "{{name}}", "{{name}}" },
        { "a\tb\nc", "a\tb\nc" },
        { "a\rb\x01\x1b[0m\x7f", "a" BAD "b" BAD BAD "[0m" BAD },
        { "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
          "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
        { "\xe2\x80\xa8", "\xe2\x80\xa8" },
        { "\xc2\x80\xc2\x9f\xc2\xa0", BAD BAD "\xc2\xa0" },
        { "\x80", BAD },
        { "\xff\xfe", BAD BAD },
        { "\xc0\xbc" "a", BAD BAD "a" },
        { "\xe0\x80\xbc" "a", BAD BAD BAD "a" },
        { "\xed\xa0\x80", BAD BAD BAD },
        { "\xf4\x90\x80\x80", BAD BAD BAD BAD },
        { "\xf5\x80", BAD BAD },
        { "\xe2\x82" "<", BAD "&lt;" },
        { "\xe2\x82", BAD },
        { "\xf0\x9f\x98", BAD },
        { "\xf0\x9f\x98\xc3\xa9", BAD "\xc3\xa9" },
        { "\xc3", BAD },
        { "\xc3\"", BAD "&quot;" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].in);
        out = escaped(text_escape_html, bytes_span(&in));
        bytes_assert(bytes_span(&out), cases[i].out, cases[i].in);
        bytes_free(&out);
        bytes_free(&in);
    }

    in = bytes_new("a\0b", 3);
    out = escaped(text_escape_html, bytes_span(&in));
    bytes_assert(bytes_span(&out), "a" BAD "b", "NUL");
    bytes_free(&out);
    bytes_free(&in);
}


/* What a browser reads out of the escaped text. */
static bytes_t
html_read(text_span_t in)
{
    size_t   i, k, n;
    bytes_t  out;

    static const struct {
        const char  *entity;
        uint8_t      byte;
    } entities[] = {
        { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
        { "&quot;", '"' }, { "&#39;", '\'' }, { "&#96;", '`' },
    };

    out = bytes_new(NULL, in.len);

    for (i = n = 0; i < in.len; i++) {

        if (in.data[i] != '&') {
            out.data[n++] = in.data[i];
            continue;
        }

        for (k = 0; k < bytes_count(entities); k++) {
            if (in.len - i >= strlen(entities[k].entity)
                && memcmp(in.data + i, entities[k].entity,
                          strlen(entities[k].entity)) == 0)
            {
                break;
            }
        }

        assert_true(k < bytes_count(entities));
        out.data[n++] = entities[k].byte;
        i += strlen(entities[k].entity) - 1;
    }

    out.len = n;

    return out;
}


static int
ascii_printable(text_span_t in)
{
    size_t  i;

    for (i = 0; i < in.len; i++) {
        if ((in.data[i] < 0x20 && in.data[i] != '\t' && in.data[i] != '\n')
            || in.data[i] >= 0x7f)
        {
            return 0;
        }
    }

    return 1;
}


static void
test_html_of_anything(void **state)
{
    int          round;
    size_t       i, n, len;
    bytes_t      in, out, read, cut;
    uint64_t     seed;
    uint32_t     code;
    text_span_t  rest;

    (void) state;

    seed = 4711;

    for (round = 0; round < 50000; round++) {
        in = bytes_draw(&seed, round % 3 == 0 ? NULL : round % 3 == 1
                        ? "<>&\"'`ab;#39 \xc3\xa9\x80\xf0\x9f\x98\x0d"
                        : "<>&\"'`abc;#39 amplt\t\n", 40);
        out = escaped(text_escape_html, bytes_span(&in));

        for (i = 0; i < out.len; i += n) {
            rest.data = out.data + i;
            rest.len = out.len - i;
            n = text_utf8_next(rest, &code);

            assert_true(code != TEXT_UTF8_INVALID);
            assert_true(code >= 0x20 || code == '\t' || code == '\n');
            assert_true(code < 0x7f || code > 0x9f);
            assert_true(code >= 0x80 || strchr("<>\"'`", (int) code) == NULL);
        }

        read = html_read(bytes_span(&out));

        if (ascii_printable(bytes_span(&in))) {
            assert_true(text_span_equal(bytes_span(&read), bytes_span(&in)));
        }

        /* a buffer too small gets the beginning of the same text */

        len = out.len / 2;
        cut = bytes_new(NULL, len);
        assert_int_equal(text_escape_html(bytes_span(&in), cut.data, len),
                         out.len);
        assert_memory_equal(cut.data, out.data, len);

        bytes_free(&cut);
        bytes_free(&read);
        bytes_free(&out);
        bytes_free(&in);
    }
}


/* What a byte becomes does not depend on where in a text it stands: texts are
 * looked at block by block, a byte alone is not. */
static void
test_html_every_place(void **state)
{
    size_t    i, len;
    bytes_t   in, out, alone;
    uint8_t   byte;
    unsigned  c;

    (void) state;

    for (c = 0; c < 256; c++) {
        byte = (uint8_t) c;
        in = bytes_new(&byte, 1);
        alone = escaped(text_escape_html, bytes_span(&in));
        bytes_free(&in);

        for (len = 1; len < 50; len++) {
            for (i = 0; i < len; i++) {
                in = bytes_new(NULL, len);
                memset(in.data, 'x', len);
                in.data[i] = byte;
                out = escaped(text_escape_html, bytes_span(&in));

                assert_int_equal(out.len, len - 1 + alone.len);
                assert_memory_equal(out.data, in.data, i);
                assert_memory_equal(out.data + i, alone.data, alone.len);
                assert_memory_equal(out.data + i + alone.len,
                                    in.data + i + 1, len - i - 1);

                bytes_free(&out);
                bytes_free(&in);
            }
        }

        bytes_free(&alone);
    }
}


static void
test_query(void **state)
{
    size_t   i;
    bytes_t  in, out;

    static const struct {
        const char  *in;
        const char  *out;
    } cases[] = {
        { "", "" },
        { "/settings/a-b_c.d~e09AZ", "/settings/a-b_c.d~e09AZ" },
        { "/a?b=c&d=e#f", "/a%3Fb%3Dc%26d%3De%23f" },
        { "a b+c%20", "a%20b%2Bc%2520" },
        { "\r\n\x7f\x80\xff", "%0D%0A%7F%80%FF" },
        { "\"'<>\\^`{|}", "%22%27%3C%3E%5C%5E%60%7B%7C%7D" },
        { "!$()*,:;=@[]", "%21%24%28%29%2A%2C%3A%3B%3D%40%5B%5D" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].in);
        out = escaped(text_escape_query, bytes_span(&in));
        bytes_assert(bytes_span(&out), cases[i].out, cases[i].in);
        bytes_free(&out);
        bytes_free(&in);
    }
}


static void
test_query_every_byte(void **state)
{
    char      want[4];
    uint8_t   byte;
    bytes_t   in, out;
    unsigned  i;

    (void) state;

    for (i = 0; i < 256; i++) {
        byte = (uint8_t) i;
        in = bytes_new(&byte, 1);
        out = escaped(text_escape_query, bytes_span(&in));

        if (i != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz"
                             "0123456789-._~/", (int) i) != NULL)
        {
            snprintf(want, sizeof(want), "%c", (int) i);

        } else {
            snprintf(want, sizeof(want), "%%%02X", i);
        }

        bytes_assert(bytes_span(&out), want, "byte");
        bytes_free(&out);
        bytes_free(&in);
    }
}


static void
test_time(void **state)
{
    size_t       i;
    bytes_t      out;
    uint8_t      iso[TEXT_TIME_CHARS];
    text_span_t  got;

    static const struct {
        int64_t      seconds;
        const char  *iso;
        const char  *human;
    } cases[] = {
        { 0, "1970-01-01T00:00:00Z", "1970-01-01 00:00 UTC" },
        { -1, "1969-12-31T23:59:59Z", "1969-12-31 23:59 UTC" },
        { 1767323045, "2026-01-02T03:04:05Z", "2026-01-02 03:04 UTC" },
        { 951782400, "2000-02-29T00:00:00Z", "2000-02-29 00:00 UTC" },
        { 951868799, "2000-02-29T23:59:59Z", "2000-02-29 23:59 UTC" },
        { 951868800, "2000-03-01T00:00:00Z", "2000-03-01 00:00 UTC" },
        { 4107542399, "2100-02-28T23:59:59Z", "2100-02-28 23:59 UTC" },
        { 4107542400, "2100-03-01T00:00:00Z", "2100-03-01 00:00 UTC" },
        { 2147483647, "2038-01-19T03:14:07Z", "2038-01-19 03:14 UTC" },
        { 2147483648, "2038-01-19T03:14:08Z", "2038-01-19 03:14 UTC" },
        { 4294967296, "2106-02-07T06:28:16Z", "2106-02-07 06:28 UTC" },
        { 253402300799, "9999-12-31T23:59:59Z", "9999-12-31 23:59 UTC" },
        { 253402300800, "9999-12-31T23:59:59Z", "9999-12-31 23:59 UTC" },
        { INT64_MAX, "9999-12-31T23:59:59Z", "9999-12-31 23:59 UTC" },
        { -62167219200, "0000-01-01T00:00:00Z", "0000-01-01 00:00 UTC" },
        { -62167219201, "0000-01-01T00:00:00Z", "0000-01-01 00:00 UTC" },
        { -62162121600, "0000-02-29T00:00:00Z", "0000-02-29 00:00 UTC" },
        { INT64_MIN, "0000-01-01T00:00:00Z", "0000-01-01 00:00 UTC" },
    };

    (void) state;

    out = bytes_new(NULL, TEXT_TIME_CHARS);
    got = bytes_span(&out);

    for (i = 0; i < bytes_count(cases); i++) {
        text_time_iso(cases[i].seconds, out.data);
        bytes_assert(got, cases[i].iso, "iso");

        text_time_both(cases[i].seconds, out.data, iso);
        assert_memory_equal(iso, cases[i].iso, TEXT_TIME_CHARS);
        bytes_assert(got, cases[i].human, "human");
    }

    bytes_free(&out);
}


/* Every day of ten thousand years follows the one before it. */
static void
test_time_of_every_day(void **state)
{
    char       want[TEXT_TIME_CHARS + 1];
    bytes_t    out;
    int64_t    seconds;
    unsigned   year, month, day, last;

    static const unsigned  days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
    };

    (void) state;

    out = bytes_new(NULL, TEXT_TIME_CHARS);
    seconds = INT64_C(-62167219200);
    year = 0;
    month = day = 1;

    while (year < 10000) {
        text_time_iso(seconds, out.data);
        snprintf(want, sizeof(want), "%04u-%02u-%02uT00:00:00Z",
                 year % 10000, month % 100, day % 100);
        assert_memory_equal(out.data, want, TEXT_TIME_CHARS);

        last = days[month - 1] + (month == 2 && year % 4 == 0
                                  && (year % 100 != 0 || year % 400 == 0));
        seconds += 86400;

        if (++day > last) {
            day = 1;

            if (++month > 12) {
                month = 1;
                year++;
            }
        }
    }

    assert_int_equal(seconds, INT64_C(253402300800));
    bytes_free(&out);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_html_of_anything),
        cmocka_unit_test(test_html_every_place),
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_query_every_byte),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_time_of_every_day),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
