/*
 * Accept: a page for people, JSON for programs.
 */

#include "text_bytes.h"
#include "text/accept.h"


static void
test_accept(void **state)
{
    size_t         i;
    bytes_t        in;
    text_accept_t  got;

    static const struct {
        const char     *accept;
        text_accept_t   want;
    } cases[] = {
        { "", TEXT_ACCEPT_ANY },
        { "*/*", TEXT_ACCEPT_ANY },
        { "text/*, application/*;q=0.5", TEXT_ACCEPT_ANY },
        { ",,, ;;", TEXT_ACCEPT_ANY },
        { "image/png", TEXT_ACCEPT_ANY },
        { "text/plain", TEXT_ACCEPT_ANY },

        { "text/html,application/xhtml+xml,application/xml;q=0.9,"
          "image/avif,image/webp,*/*;q=0.8", TEXT_ACCEPT_HTML },
        { "application/xml,application/xhtml+xml,text/html;q=0.9",
          TEXT_ACCEPT_HTML },
        { "text/html", TEXT_ACCEPT_HTML },
        { "TEXT/HTML", TEXT_ACCEPT_HTML },
        { " text/html ", TEXT_ACCEPT_HTML },
        { "text/html;level=1", TEXT_ACCEPT_HTML },
        { "text/html;charset=\"a,b;q=0\"", TEXT_ACCEPT_HTML },
        { "text/html;a=\"\\\",application/json;b=\"", TEXT_ACCEPT_HTML },
        { "*/*, text/html;q=0.1", TEXT_ACCEPT_HTML },
        { "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
          TEXT_ACCEPT_HTML },

        { "application/json", TEXT_ACCEPT_JSON },
        { "Application/JSON ; charset=utf-8", TEXT_ACCEPT_JSON },
        { "text/json", TEXT_ACCEPT_JSON },
        { "application/vnd.api+json", TEXT_ACCEPT_JSON },
        { "application/problem+json, */*", TEXT_ACCEPT_JSON },
        { "application/json, text/plain, */*", TEXT_ACCEPT_JSON },
        { "application/json, text/javascript, */*; q=0.01",
          TEXT_ACCEPT_JSON },
        { ",, ,application/json", TEXT_ACCEPT_JSON },

        { "text/html, application/json", TEXT_ACCEPT_HTML },
        { "application/json, text/html", TEXT_ACCEPT_JSON },
        { "text/html;q=0.5, application/json", TEXT_ACCEPT_JSON },
        { "application/json;q=0.5, text/html", TEXT_ACCEPT_HTML },
        { "application/json;q=0.5,text/html;q=0.500", TEXT_ACCEPT_JSON },
        { "application/json;q=0.5,text/html;q=0.501", TEXT_ACCEPT_HTML },
        { "application/json;q=1.000,text/html;Q=0.999", TEXT_ACCEPT_JSON },
        { "application/json; a=b; q=0.1; c=d, text/html ; q = 0.2",
          TEXT_ACCEPT_HTML },
        { "application/json;q=0.3333333333333333, text/html;q=0.3",
          TEXT_ACCEPT_JSON },
        { "text/html;q=.5,application/json;q=.6", TEXT_ACCEPT_JSON },
        { "text/html;q=1.,application/json", TEXT_ACCEPT_HTML },

        { "text/html;q=0", TEXT_ACCEPT_ANY },
        { "text/html;q=0.000, application/json;q=0.001", TEXT_ACCEPT_JSON },
        { "text/html;q=2, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=1.001, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=-1, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=x, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=0.5x, application/json;q=0.1", TEXT_ACCEPT_JSON },
        { "text/html;q=1e9, application/json;q=0.1", TEXT_ACCEPT_JSON },

        { "application/+json", TEXT_ACCEPT_ANY },
        { "application/jsonp", TEXT_ACCEPT_ANY },
        { "application/json5", TEXT_ACCEPT_ANY },
        { "image/svg+json", TEXT_ACCEPT_ANY },
        { "text/htmlx, xtext/html", TEXT_ACCEPT_ANY },
        { "text /html", TEXT_ACCEPT_ANY },
        { "text/html\"", TEXT_ACCEPT_ANY },
        { "text/html application/json", TEXT_ACCEPT_ANY },
        { "\"text/html\"", TEXT_ACCEPT_ANY },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].accept);
        got = text_accept(bytes_span(&in));

        if (got != cases[i].want) {
            fail_msg("%s: %d", cases[i].accept, (int) got);
        }

        bytes_free(&in);
    }
}


static void
test_accept_truncated(void **state)
{
    size_t         len;
    bytes_t        in;
    text_accept_t  got;
    const char    *whole;

    (void) state;

    whole = "text/html;a=\"b\\\",c\";q=0.5,application/json;q=0.9";

    for (len = 0; len <= strlen(whole); len++) {
        in = bytes_new(whole, len);
        got = text_accept(bytes_span(&in));
        assert_true(got != TEXT_ACCEPT_JSON || len > 40);
        bytes_free(&in);
    }

    assert_int_equal(got, TEXT_ACCEPT_JSON);
}


static void
test_accept_large(void **state)
{
    size_t   i, k;
    bytes_t  in;

    static const char *const  junk[] = { ",", ";", "\"", "\\", "q=1;", "a/b," };

    (void) state;

    for (i = 0; i < bytes_count(junk); i++) {
        in = bytes_new(NULL, 1 << 20);

        for (k = 0; k < in.len; k++) {
            in.data[k] = (uint8_t) junk[i][k % strlen(junk[i])];
        }

        assert_int_equal(text_accept(bytes_span(&in)), TEXT_ACCEPT_ANY);
        bytes_free(&in);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_accept_truncated),
        cmocka_unit_test(test_accept_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
