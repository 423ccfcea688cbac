/*
 * Forms: one decoding, no field twice, nothing left of a body refused.
 */

#include "text_bytes.h"
#include "text/form.h"


#define FIELDS  4


/* The fields as text: "user=a pass= " and so on, absent ones left out. */
static int
parse(const bytes_t *body, char *out, size_t size)
{
    int                rc;
    size_t             i, n;
    text_form_field_t  fields[FIELDS];

    static const char *const  names[FIELDS] = {
        "user", "pass", "csrf", "next"
    };

    for (i = 0; i < FIELDS; i++) {
        memset(&fields[i], 0x5a, sizeof(fields[i]));
        fields[i].name = bytes_literal(names[i]);
    }

    rc = text_form_parse(body->data, body->len, fields, FIELDS);

    for (i = n = 0; i < FIELDS; i++) {

        if (!fields[i].present) {
            assert_null(fields[i].value.data);
            assert_int_equal(fields[i].value.len, 0);
            continue;
        }

        assert_int_equal(rc, TEXT_FORM_OK);
        assert_true(fields[i].value.data >= body->data);
        assert_true(fields[i].value.data + fields[i].value.len
                    <= body->data + body->len);

        n += (size_t) snprintf(out + n, size - n, "%s=%.*s|", names[i],
                               (int) fields[i].value.len,
                               (const char *) fields[i].value.data);
        assert_true(n < size);
    }

    out[n] = '\0';

    return rc;
}


static void
test_parse_bodies(void **state)
{
    int      rc;
    char     got[1024];
    size_t   i;
    bytes_t  body;

    static const struct {
        const char  *body;
        int          rc;
        const char  *fields;
    } cases[] = {
        { "", TEXT_FORM_OK, "" },
        { "&", TEXT_FORM_OK, "" },
        { "&&user=a&&", TEXT_FORM_OK, "user=a|" },
        { "=", TEXT_FORM_OK, "" },
        { "=user", TEXT_FORM_OK, "" },
        { "user", TEXT_FORM_OK, "user=|" },
        { "user=", TEXT_FORM_OK, "user=|" },
        { "user=a", TEXT_FORM_OK, "user=a|" },
        { "user=a=b", TEXT_FORM_OK, "user=a=b|" },
        { "user=a&pass=b", TEXT_FORM_OK, "user=a|pass=b|" },
        { "pass=b&user=a", TEXT_FORM_OK, "user=a|pass=b|" },
        { "user=%41+%2b%2B", TEXT_FORM_OK, "user=A ++|" },
        { "%75ser=a", TEXT_FORM_OK, "user=a|" },
        { "pass=+a+", TEXT_FORM_OK, "pass= a |" },
        { "pass=%26%3D%25%41", TEXT_FORM_OK, "pass=&=%A|" },
        { "pass=%2541", TEXT_FORM_OK, "pass=%41|" },
        { "pass=%c3%A9\xc3\xa9", TEXT_FORM_OK,
          "pass=\xc3\xa9\xc3\xa9|" },
        { "USER=a", TEXT_FORM_OK, "" },
        { "user =a", TEXT_FORM_OK, "" },
        { "+user=a", TEXT_FORM_OK, "" },
        { "users=a&use=b&xuser=c", TEXT_FORM_OK, "" },
        { "user=a;pass=b", TEXT_FORM_OK, "user=a;pass=b|" },
        { "user=a&role=admin&role=x", TEXT_FORM_OK, "user=a|" },
        { "role[]=admin", TEXT_FORM_OK, "" },
        { "user.name=a&user_=b", TEXT_FORM_OK, "" },

        { "user=a&user=b", TEXT_FORM_DUPLICATE, "" },
        { "user=a&user=a", TEXT_FORM_DUPLICATE, "" },
        { "user&user", TEXT_FORM_DUPLICATE, "" },
        { "user=a&%75%73%65%72=b", TEXT_FORM_DUPLICATE, "" },
        { "csrf=a&user=b&csrf=a", TEXT_FORM_DUPLICATE, "" },
        { "user[]=a", TEXT_FORM_DUPLICATE, "" },
        { "user[x]=a", TEXT_FORM_DUPLICATE, "" },
        { "user[", TEXT_FORM_DUPLICATE, "" },
        { "user%5b%5d=a", TEXT_FORM_DUPLICATE, "" },
        { "user=a&user[0]=b", TEXT_FORM_DUPLICATE, "" },

        { "user=%", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%4", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%4&pass=1", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%zz", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%4g", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%%41", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=% 41", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%u0041", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%+1", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=%-1", TEXT_FORM_BAD_ESCAPE, "" },
        { "%=a", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=a&x=%", TEXT_FORM_BAD_ESCAPE, "" },
        { "user=a&%", TEXT_FORM_BAD_ESCAPE, "" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        body = bytes_str(cases[i].body);
        rc = parse(&body, got, sizeof(got));

        if (rc != cases[i].rc) {
            fail_msg("%s: %d", cases[i].body, rc);
        }

        bytes_assert(bytes_literal(got), cases[i].fields, cases[i].body);
        bytes_free(&body);
    }
}


/* A NUL ends nothing: not a name, not a value. */
static void
test_parse_nul(void **state)
{
    size_t             i;
    bytes_t            body;
    text_form_field_t  field;

    static const char *const  bodies[] = {
        "user%00x=1&user=a%00b", "pass=1&user=a%00b", "user=a%00b",
    };

    (void) state;

    for (i = 0; i < bytes_count(bodies); i++) {
        body = bytes_str(bodies[i]);
        field.name = text_span("user");

        assert_int_equal(text_form_parse(body.data, body.len, &field, 1),
                         TEXT_FORM_OK);
        assert_int_equal(field.present, 1);
        assert_true(text_span_equal(field.value, text_span("a\0b")));
        bytes_free(&body);
    }

    body = bytes_new("user=a\0b", 8);
    assert_int_equal(text_form_parse(body.data, body.len, &field, 1),
                     TEXT_FORM_OK);
    assert_true(text_span_equal(field.value, text_span("a\0b")));
    bytes_free(&body);
}


static void
test_parse_of_no_body(void **state)
{
    text_form_field_t  field;

    (void) state;

    field.name = text_span("user");
    field.present = 1;

    assert_int_equal(text_form_parse(NULL, 0, &field, 1), TEXT_FORM_OK);
    assert_int_equal(field.present, 0);
    assert_int_equal(text_form_parse(NULL, 0, NULL, 0), TEXT_FORM_OK);
}


static void
test_parse_every_byte(void **state)
{
    char               text[16];
    unsigned           i;
    bytes_t            body;
    text_form_field_t  field;

    (void) state;

    field.name = text_span("v");

    for (i = 0; i < 512; i++) {
        snprintf(text, sizeof(text), i < 256 ? "v=%%%02x" : "v=%%%02X",
                 i % 256);
        body = bytes_str(text);

        assert_int_equal(text_form_parse(body.data, body.len, &field, 1),
                         TEXT_FORM_OK);
        assert_int_equal(field.value.len, 1);
        assert_int_equal(field.value.data[0], i % 256);
        bytes_free(&body);
    }
}


static void
test_parse_counts_fields(void **state)
{
    int      rc;
    char     got[1024];
    size_t   i, n, pairs;
    bytes_t  body;

    (void) state;

    for (pairs = TEXT_FORM_FIELDS_MAX - 1; pairs <= TEXT_FORM_FIELDS_MAX + 1;
         pairs++)
    {
        body = bytes_new(NULL, pairs * 4 + 6);

        for (i = n = 0; i < pairs - 1; i++) {
            memcpy(body.data + n, "x=1&", 4);
            n += 4;
        }

        memcpy(body.data + n, "&&user=abc", 10);
        body.len = n + 10;

        rc = parse(&body, got, sizeof(got));

        if (pairs > TEXT_FORM_FIELDS_MAX) {
            assert_int_equal(rc, TEXT_FORM_TOO_MANY);
            assert_string_equal(got, "");

        } else {
            assert_int_equal(rc, TEXT_FORM_OK);
            assert_string_equal(got, "user=abc|");
        }

        bytes_free(&body);
    }

    body = bytes_new(NULL, TEXT_FORM_FIELDS_MAX * 4);

    for (i = 0; i < body.len; i += 4) {
        memcpy(body.data + i, "x=1&", 4);
    }

    assert_int_equal(parse(&body, got, sizeof(got)), TEXT_FORM_OK);
    bytes_free(&body);

    /* 10^5 fields, and a megabyte of separators */

    body = bytes_new(NULL, 400000);

    for (i = 0; i < body.len; i += 4) {
        memcpy(body.data + i, "a=1&", 4);
    }

    assert_int_equal(parse(&body, got, sizeof(got)), TEXT_FORM_TOO_MANY);
    bytes_free(&body);

    body = bytes_new(NULL, 1 << 20);
    memset(body.data, '&', body.len);
    assert_int_equal(parse(&body, got, sizeof(got)), TEXT_FORM_OK);
    bytes_free(&body);

    body = bytes_new(NULL, 1 << 20);
    memset(body.data, '+', body.len);
    assert_int_equal(parse(&body, got, sizeof(got)), TEXT_FORM_OK);
    bytes_free(&body);
}


static void
test_parse_truncated(void **state)
{
    int          rc;
    char         got[1024];
    size_t       len;
    bytes_t      body;
    const char  *whole;

    (void) state;

    whole = "user=a%40b&pass=x+y&%63srf=%41%42&next=%2F";

    for (len = 0; len <= strlen(whole); len++) {
        body = bytes_new(whole, len);
        rc = parse(&body, got, sizeof(got));

        if ((len >= 1 && whole[len - 1] == '%')
            || (len >= 2 && whole[len - 2] == '%'))
        {
            assert_int_equal(rc, TEXT_FORM_BAD_ESCAPE);

        } else {
            assert_int_equal(rc, TEXT_FORM_OK);
        }

        bytes_free(&body);
    }

    assert_string_equal(got, "user=a@b|pass=x y|csrf=AB|next=/|");
}


/* What is encoded comes back, whatever the bytes. */
static void
test_parse_round_trip(void **state)
{
    int                round;
    size_t             i, n;
    bytes_t            value, body;
    uint64_t           seed;
    text_form_field_t  field;

    (void) state;

    seed = 31;
    field.name = text_span("v");

    for (round = 0; round < 20000; round++) {
        value = bytes_draw(&seed, round % 2 ? NULL : "%+&=a4 \r", 30);
        body = bytes_new(NULL, 2 + value.len * 3);
        memcpy(body.data, "v=", 2);

        for (i = 0, n = 2; i < value.len; i++) {

            if (value.data[i] == ' ' && bytes_random(&seed) % 2) {
                body.data[n++] = '+';

            } else if (strchr("%+&", value.data[i]) != NULL
                       || bytes_random(&seed) % 2)
            {
                /* strchr() finds the NUL too, which is as well */

                body.data[n++] = '%';
                body.data[n++] = (uint8_t)
                                  "0123456789abcdef"[value.data[i] >> 4];
                body.data[n++] = (uint8_t)
                                  "0123456789ABCDEF"[value.data[i] & 15];

            } else {
                body.data[n++] = value.data[i];
            }
        }

        assert_int_equal(text_form_parse(body.data, n, &field, 1),
                         TEXT_FORM_OK);
        assert_true(text_span_equal(field.value, bytes_span(&value)));

        bytes_free(&body);
        bytes_free(&value);
    }
}


static void
test_type(void **state)
{
    size_t   i, len;
    bytes_t  type;

    static const struct {
        const char  *type;
        int          form;
    } cases[] = {
        { "application/x-www-form-urlencoded", 1 },
        { "Application/X-WWW-Form-URLEncoded", 1 },
        { "application/x-www-form-urlencoded;charset=UTF-8", 1 },
        { "application/x-www-form-urlencoded ; charset=UTF-8", 1 },
        { "application/x-www-form-urlencoded;", 1 },
        { " application/x-www-form-urlencoded \t", 1 },
        { "", 0 },
        { ";", 0 },
        { "xpplication/x-www-form-urlencoded", 0 },
        { "application\x0fx-www-form-urlencoded", 0 },
        { "application/x-www-form-urlencode", 0 },
        { "application/x-www-form-urlencodedx", 0 },
        { "application/x-www-form-urlencoded,text/plain", 0 },
        { "application/x-www-form-urlencoded text/plain", 0 },
        { "text/plain; application/x-www-form-urlencoded", 0 },
        { "multipart/form-data; boundary=a", 0 },
        { "text/plain", 0 },
        { "application/json", 0 },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        type = bytes_str(cases[i].type);

        if (text_form_type(bytes_span(&type)) != cases[i].form) {
            fail_msg("%s", cases[i].type);
        }

        bytes_free(&type);
    }

    for (len = 0; len < strlen(cases[0].type); len++) {
        type = bytes_new(cases[0].type, len);
        assert_int_equal(text_form_type(bytes_span(&type)), 0);
        bytes_free(&type);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_parse_bodies),
        cmocka_unit_test(test_parse_nul),
        cmocka_unit_test(test_parse_of_no_body),
        cmocka_unit_test(test_parse_every_byte),
        cmocka_unit_test(test_parse_counts_fields),
        cmocka_unit_test(test_parse_truncated),
        cmocka_unit_test(test_parse_round_trip),
        cmocka_unit_test(test_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
