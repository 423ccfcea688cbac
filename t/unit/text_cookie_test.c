/*
 * Cookies: what is found, what is cut, and what neither of them touches.
 */

#include "text_bytes.h"
#include "text/cookie.h"


#define NAME    "__Host-session"
#define VALUES  4096


/* All values of NAME in the line, one after the other with '|' between. */
static void
values_of(text_span_t line, char out[VALUES])
{
    size_t       pos, n;
    text_span_t  value;

    pos = 0;
    n = 0;

    while (text_cookie_next(line, &pos, text_span(NAME), &value)) {
        assert_true(pos <= line.len);
        assert_true(n + value.len + 2 < VALUES);

        memcpy(out + n, value.data, value.len);
        n += value.len;
        out[n++] = '|';
    }

    assert_int_equal(pos, line.len);
    out[n] = '\0';

    assert_int_equal(text_cookie_next(line, &pos, text_span(NAME), &value), 0);
}


static void
test_next_values(void **state)
{
    size_t   i;
    char     got[VALUES];
    bytes_t  line;

    static const struct {
        const char  *line;
        const char  *values;
    } cases[] = {
        { "", "" },
        { ";", "" },
        { "=", "" },
        { ";;; ; ;", "" },
        { NAME "=", "|" },
        { NAME, "" },
        { NAME ";", "" },
        { NAME "; " NAME "=b", "b|" },
        { "__host-session=sid", "" },
        { NAME "=sid", "sid|" },
        { NAME "=sid; " NAME "=sid", "sid|sid|" },
        { NAME "=a;" NAME "=b;" NAME "=", "a|b||" },
        { "x=1," NAME "=sid", "" },
        { "x=\"a; " NAME "=sid\"", "sid\"|" },
        { "x=\"a; " NAME "=sid; y\"", "sid|" },
        { NAME " =sid", "" },
        { NAME "\t=sid", "" },
        { NAME "= sid", " sid|" },
        { "=" NAME "=sid", "" },
        { "= " NAME "=sid", "" },
        { "_[Host-session=sid", "" },
        { "__Host-session[]=sid", "" },
        { NAME "=\"sid\"", "\"sid\"|" },
        { NAME "=%73id", "%73id|" },
        { "%5F_Host-session=sid", "" },
        { NAME "=a=b==", "a=b==|" },
        { NAME "=a,b", "a,b|" },
        { " \t " NAME "=sid \t ; x=1", "sid|" },
        { NAME "=a b ;", "a b|" },
        { NAME "=  ", "|" },
        { "x" NAME "=sid", "" },
        { NAME "x=sid", "" },
        { "x=" NAME "=sid", "" },
        { "\n" NAME "=sid", "" },
        { "a=1;" NAME "=sid", "sid|" },
        { "a=1;;;" NAME "=sid;;", "sid|" },
        { "a=1; " NAME "=\x01\x7f\x80\xff", "\x01\x7f\x80\xff|" },
        { "__Host-sessio=a; __Host-sessioN=b; " NAME "=c", "c|" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        line = bytes_str(cases[i].line);
        values_of(bytes_span(&line), got);
        bytes_assert(bytes_literal(got), cases[i].values, cases[i].line);
        bytes_free(&line);
    }
}


static void
test_next_keeps_nul(void **state)
{
    size_t       pos;
    bytes_t      line;
    text_span_t  value;

    (void) state;

    line = bytes_new("a\0b=1; " NAME "=x\0y", 7 + sizeof(NAME) + 3);
    pos = 0;

    assert_int_equal(text_cookie_next(bytes_span(&line), &pos,
                                      text_span(NAME), &value), 1);
    assert_true(text_span_equal(value, text_span("x\0y")));

    bytes_free(&line);
}


static void
test_next_of_no_line(void **state)
{
    size_t       pos;
    text_span_t  line, name, value;

    (void) state;

    line.data = NULL;
    line.len = 0;
    pos = 0;

    assert_int_equal(text_cookie_next(line, &pos, text_span(NAME), &value), 0);

    name = text_span("=");
    name.len = 0;
    pos = 0;
    assert_int_equal(text_cookie_next(text_span("=a"), &pos, name, &value), 0);
}


/* A cookie is found in a prefix only when its '=' is in it, and its value
 * is the part of the whole value that is there. */
static void
test_next_truncated(void **state)
{
    size_t       len, pos, equal;
    bytes_t      line;
    text_span_t  value;
    const char  *whole;

    (void) state;

    whole = "a=1; b; " NAME "=0123456789 ; c=3";
    equal = (size_t) (strchr(strstr(whole, NAME), '=') - whole);

    for (len = 0; len <= strlen(whole); len++) {
        line = bytes_new(whole, len);
        pos = 0;

        if (text_cookie_next(bytes_span(&line), &pos, text_span(NAME),
                             &value))
        {
            assert_true(len > equal);
            assert_memory_equal(value.data, whole + equal + 1, value.len);
            assert_true(value.len == 10 || value.len == len - equal - 1);

        } else {
            assert_true(len <= equal);
        }

        bytes_free(&line);
    }
}


/* These end soon only because the search is linear. */
static void
test_next_large(void **state)
{
    size_t       i, pos, size;
    bytes_t      line;
    text_span_t  value;

    static const char *const  junk[] = {
        "x=1; ", ";", "; ", " ", "=", "__Host-sessio; ", NAME "; ", "_",
    };

    (void) state;

    for (i = 0; i < bytes_count(junk); i++) {
        line = bytes_new(NULL, (1 << 20) + sizeof(";" NAME "=sid") - 1);

        for (size = 0; size < line.len; size++) {
            line.data[size] = (uint8_t) junk[i][size % strlen(junk[i])];
        }

        memcpy(line.data + (1 << 20), ";" NAME "=sid",
               sizeof(";" NAME "=sid") - 1);
        pos = 0;

        assert_int_equal(text_cookie_next(bytes_span(&line), &pos,
                                          text_span(NAME), &value), 1);
        bytes_assert(value, "sid", junk[i]);

        pos = 0;
        assert_int_equal(text_cookie_next(bytes_span(&line), &pos,
                                          text_span("absent"), &value), 0);
        bytes_free(&line);
    }

    line = bytes_new(NULL, (1 << 20) + sizeof(NAME));
    memset(line.data, 'v', line.len);
    memcpy(line.data, NAME "=", sizeof(NAME));
    pos = 0;

    assert_int_equal(text_cookie_next(bytes_span(&line), &pos,
                                      text_span(NAME), &value), 1);
    assert_int_equal(value.len, 1 << 20);
    bytes_free(&line);
}


static void
test_cut_lines(void **state)
{
    size_t       i, len;
    bytes_t      line, out;
    text_span_t  names[2], got;

    static const struct {
        const char  *line;
        const char  *left;
    } cases[] = {
        { "", "" },
        { "a=1", "a=1" },
        { " a=1; ;b;; ", " a=1; ;b;; " },
        { NAME "=sid", "" },
        { NAME "=sid;", "" },
        { " ; " NAME "=sid; ;", "" },
        { NAME, "" },
        { NAME "; b=2", "b=2" },
        { " " NAME " ; b=2", "b=2" },
        { NAME "=sid; b=2", "b=2" },
        { "a=1; " NAME "=sid", "a=1" },
        { "a=1; " NAME "=sid; ", "a=1" },
        { "a=1; " NAME "=sid; b=2", "a=1; b=2" },
        { "a=1;" NAME "=sid;b=2", "a=1;b=2" },
        { "a=1 ;\t" NAME "=sid ;\tb=2", "a=1 ;\tb=2" },
        { "a=1; " NAME "=s; b=2; " NAME "=t; c=3", "a=1; b=2; c=3" },
        { NAME "=s; " NAME "=t; pre=x", "" },
        { "pre=x; a=1; " NAME "=s", "a=1" },
        { "a=\"" NAME "\"; b=" NAME "=1", "a=\"" NAME "\"; b=" NAME "=1" },
        { NAME " =s", NAME " =s" },
        { NAME "x=s; " NAME "=s", NAME "x=s" },
        { "x=1," NAME "=s", "x=1," NAME "=s" },
        { "__host-session=s", "__host-session=s" },
        { "pre; pre =1; prefix=1; pr=1", "pre =1; prefix=1; pr=1" },
        { "=" NAME "=s; " NAME "=s", "=" NAME "=s" },
    };

    (void) state;

    names[0] = text_span(NAME);
    names[1] = text_span("pre");

    for (i = 0; i < bytes_count(cases); i++) {
        line = bytes_str(cases[i].line);

        len = text_cookie_cut(bytes_span(&line), names, 2, NULL, 0);
        assert_int_equal(len, strlen(cases[i].left));

        out = bytes_new(NULL, len);
        assert_int_equal(text_cookie_cut(bytes_span(&line), names, 2,
                                         out.data, out.len), len);
        got = bytes_span(&out);
        bytes_assert(got, cases[i].left, cases[i].line);

        bytes_free(&out);
        bytes_free(&line);
    }
}


/* The next pair of the line that is not empty, blanks around it dropped. */
static int
pair_of(text_span_t line, size_t *pos, text_span_t *pair)
{
    size_t  from, to;

    while (*pos < line.len) {
        from = *pos;

        for (to = from; to < line.len && line.data[to] != ';'; to++) { }

        *pos = to + 1;

        while (from < to && strchr(" \t", line.data[from]) != NULL
               && line.data[from] != 0)
        {
            from++;
        }

        while (to > from && (line.data[to - 1] == ' '
                             || line.data[to - 1] == '\t'))
        {
            to--;
        }

        if (to > from) {
            pair->data = line.data + from;
            pair->len = to - from;
            return 1;
        }
    }

    return 0;
}


static int
pair_is(text_span_t pair, const char *name)
{
    size_t  len;

    len = strlen(name);

    return pair.len >= len && memcmp(pair.data, name, len) == 0
           && (pair.len == len || pair.data[len] == '=');
}


static void
test_cut_leaves_others_alone(void **state)
{
    int          round;
    size_t       len, pos, left, short_of;
    bytes_t      line, out;
    uint64_t     seed;
    text_span_t  names[2], pair, kept, cut;

    (void) state;

    seed = 20260102;
    names[0] = text_span("ab");
    names[1] = text_span("c");

    for (round = 0; round < 50000; round++) {
        line = bytes_draw(&seed, "aabbc;;; \t==x\"", 40);
        len = text_cookie_cut(bytes_span(&line), names, 2, NULL, 0);
        assert_true(len <= line.len);

        out = bytes_new(NULL, len);
        assert_int_equal(text_cookie_cut(bytes_span(&line), names, 2,
                                         out.data, len), len);
        cut = bytes_span(&out);

        if (len == line.len) {
            assert_true(text_span_equal(cut, bytes_span(&line)));
        }

        pos = left = 0;

        while (pair_of(bytes_span(&line), &pos, &pair)) {
            if (pair_is(pair, "ab") || pair_is(pair, "c")) {
                assert_true(len < line.len);
                continue;
            }

            assert_int_equal(pair_of(cut, &left, &kept), 1);
            assert_true(text_span_equal(pair, kept));
        }

        assert_int_equal(pair_of(cut, &left, &kept), 0);
        bytes_free(&out);

        short_of = len / 2;
        out = bytes_new(NULL, short_of);
        assert_int_equal(text_cookie_cut(bytes_span(&line), names, 2,
                                         out.data, short_of), len);
        bytes_free(&out);
        bytes_free(&line);
    }
}


static void
test_name_valid(void **state)
{
    char     one[2];
    size_t   i;
    bytes_t  name;

    static const struct {
        const char  *name;
        int          valid;
    } cases[] = {
        { NAME, 1 },
        { "a", 1 },
        { "!#$%&'*+-.^_`|~09AZaz", 1 },
        { "0123456789012345678901234567890123456789012345678901234567890123",
          1 },
        { "01234567890123456789012345678901234567890123456789012345678901234",
          0 },
        { "", 0 },
        { "a b", 0 },
        { "a=", 0 },
        { "a;", 0 },
        { "a,b", 0 },
        { "caf\xc3\xa9", 0 },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        name = bytes_str(cases[i].name);
        assert_int_equal(text_cookie_name_valid(bytes_span(&name)),
                         cases[i].valid);
        bytes_free(&name);
    }

    for (i = 0; i < 256; i++) {
        one[0] = (char) i;
        name = bytes_new(one, 1);
        assert_int_equal(text_cookie_name_valid(bytes_span(&name)),
                         i > 32 && i < 127
                         && strchr("()<>@,;:\\\"/[]?={}", (int) i) == NULL);
        bytes_free(&name);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_next_values),
        cmocka_unit_test(test_next_keeps_nul),
        cmocka_unit_test(test_next_of_no_line),
        cmocka_unit_test(test_next_truncated),
        cmocka_unit_test(test_next_large),
        cmocka_unit_test(test_cut_lines),
        cmocka_unit_test(test_cut_leaves_others_alone),
        cmocka_unit_test(test_name_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
