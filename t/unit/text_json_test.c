/*
 * JSON: what is written is read back by a second, strict reader.
 */

#include "text_bytes.h"
#include "text/json.h"


#define NOTES  65536
#define BAD    "\xef\xbf\xbd"           /* U+FFFD */


/* What was said, in order: "{" "}" "[" "]" "i-1" "t" "f" "0", and "s3:abc"
 * for strings, "n3:abc" for names. */
typedef struct {
    uint8_t  bytes[NOTES];
    size_t   len;
} notes_t;

typedef struct {
    const uint8_t  *p;
    const uint8_t  *end;
    notes_t        *notes;
} reader_t;


static void
note(notes_t *notes, const void *bytes, size_t len)
{
    assert_true(notes->len + len <= NOTES);
    memcpy(notes->bytes + notes->len, bytes, len);
    notes->len += len;
}


static void
note_text(notes_t *notes, char kind, const void *bytes, size_t len)
{
    char  head[32];

    note(notes, head, (size_t) snprintf(head, sizeof(head), "%c%zu:", kind,
                                        len));
    note(notes, bytes, len);
}


static int
take(reader_t *r, const char *what)
{
    size_t  len;

    len = strlen(what);

    if ((size_t) (r->end - r->p) < len || memcmp(r->p, what, len) != 0) {
        return 0;
    }

    r->p += len;

    return 1;
}


static unsigned
read_hex(reader_t *r)
{
    char      digits[5];
    char     *stop;
    unsigned  code;

    assert_true(r->end - r->p >= 4);
    memcpy(digits, r->p, 4);
    digits[4] = '\0';
    code = (unsigned) strtoul(digits, &stop, 16);
    assert_ptr_equal(stop, digits + 4);
    r->p += 4;

    return code;
}


static void
read_string(reader_t *r, char kind)
{
    size_t    n;
    uint8_t   out[4096];
    unsigned  code;

    n = 0;

    while (!take(r, "\"")) {
        assert_true(r->p < r->end);
        assert_true(n + 4 < sizeof(out));
        assert_true(*r->p >= 0x20);

        if (!take(r, "\\")) {
            out[n++] = *r->p++;
            continue;
        }

        if (take(r, "\"")) {
            out[n++] = '"';

        } else if (take(r, "\\")) {
            out[n++] = '\\';

        } else {
            assert_true(take(r, "u"));
            code = read_hex(r);
            assert_true(code < 0xd800 || code > 0xdfff);

            if (code < 0x80) {
                out[n++] = (uint8_t) code;

            } else if (code < 0x800) {
                out[n++] = (uint8_t) (0xc0 | code >> 6);
                out[n++] = (uint8_t) (0x80 | (code & 0x3f));

            } else {
                out[n++] = (uint8_t) (0xe0 | code >> 12);
                out[n++] = (uint8_t) (0x80 | (code >> 6 & 0x3f));
                out[n++] = (uint8_t) (0x80 | (code & 0x3f));
            }
        }
    }

    note_text(r->notes, kind, out, n);
}


static void
read_value(reader_t *r)
{
    const uint8_t  *from;

    if (take(r, "\"")) {
        read_string(r, 's');

    } else if (take(r, "{")) {
        note(r->notes, "{", 1);

        while (!take(r, "}")) {
            assert_true(take(r, "\""));
            read_string(r, 'n');
            assert_true(take(r, ":"));
            read_value(r);
            assert_true(take(r, ",") ? *r->p == '"' : *r->p == '}');
        }

        note(r->notes, "}", 1);

    } else if (take(r, "[")) {
        note(r->notes, "[", 1);

        while (!take(r, "]")) {
            read_value(r);
            assert_true(take(r, ",") ? *r->p != ']' : *r->p == ']');
        }

        note(r->notes, "]", 1);

    } else if (take(r, "true")) {
        note(r->notes, "t", 1);

    } else if (take(r, "false")) {
        note(r->notes, "f", 1);

    } else if (take(r, "null")) {
        note(r->notes, "0", 1);

    } else {
        from = r->p;
        (void) take(r, "-");
        assert_true(r->p < r->end && *r->p >= '0' && *r->p <= '9');

        if (!take(r, "0")) {
            while (r->p < r->end && *r->p >= '0' && *r->p <= '9') {
                r->p++;
            }
        }

        note(r->notes, "i", 1);
        note(r->notes, from, (size_t) (r->p - from));
    }
}


static void
test_values(void **state)
{
    bytes_t      out;
    text_json_t  json;

    static const char  want[] =
        "{\"login\":\"a\\u003cb\\u003e\\u0026\\\"\\\\/'\",\"id\":0,"
        "\"min\":-9223372036854775808,\"max\":9223372036854775807,\"n\":-1,"
        "\"yes\":true,\"no\":false,\"none\":null,"
        "\"at\":\"2026-01-02T03:04:05Z\",\"empty\":{},\"list\":[1,"
        "\"x\",null,true,[],{\"a\":\"\"},[[2]]],\"last\":\"\"}";

    (void) state;

    out = bytes_new(NULL, sizeof(want) - 1);
    text_json_init(&json, out.data, out.len);

    text_json_object(&json, NULL);
    text_json_string(&json, "login", text_span("a<b>&\"\\/'"));
    text_json_int(&json, "id", 0);
    text_json_int(&json, "min", INT64_MIN);
    text_json_int(&json, "max", INT64_MAX);
    text_json_int(&json, "n", -1);
    text_json_bool(&json, "yes", 2);
    text_json_bool(&json, "no", 0);
    text_json_null(&json, "none");
    text_json_time(&json, "at", 1767323045);
    text_json_object(&json, "empty");
    text_json_object_end(&json);
    text_json_array(&json, "list");
    text_json_int(&json, NULL, 1);
    text_json_string(&json, NULL, text_span("x"));
    text_json_null(&json, NULL);
    text_json_bool(&json, NULL, 1);
    text_json_array(&json, NULL);
    text_json_array_end(&json);
    text_json_object(&json, NULL);
    text_json_string(&json, "a", text_span(""));
    text_json_object_end(&json);
    text_json_array(&json, NULL);
    text_json_array(&json, NULL);
    text_json_int(&json, NULL, 2);
    text_json_array_end(&json);
    text_json_array_end(&json);
    text_json_array_end(&json);
    text_json_string(&json, "last", text_span(""));
    text_json_object_end(&json);

    assert_int_equal(json.len, out.len);
    bytes_assert(bytes_span(&out), want, "values");
    bytes_free(&out);
}


static void
test_strings(void **state)
{
    size_t       i, len;
    bytes_t      in, out;
    text_json_t  json;

    static const struct {
        const char  *in;
        const char  *out;
    } cases[] = {
        { "", "\"\"" },
        { "plain", "\"plain\"" },
        { "\"\\", "\"\\\"\\\\\"" },
        { "</script>", "\"\\u003c/script\\u003e\"" },
        { "<!--", "\"\\u003c!--\"" },
        { "]]>&amp;", "\"]]\\u003e\\u0026amp;\"" },
        { "\r\n\t\b\f\x1b",
          "\"\\u000d\\u000a\\u0009\\u0008\\u000c\\u001b\"" },
        { "\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0",
          "\"\\u007f\\u0080\\u009b\\u009f\xc2\xa0\"" },
        { "\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa",
          "\"\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa\"" },
        { "caf\xc3\xa9 \xf0\x9f\x98\x80",
          "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"" },
        { "\x80", "\"" BAD "\"" },
        { "\xc0\xaf", "\"" BAD BAD "\"" },
        { "\xed\xa0\x80", "\"" BAD BAD BAD "\"" },
        { "\xe2\x80", "\"" BAD "\"" },
        { "\xe2\x80\"", "\"" BAD "\\\"\"" },
        { "\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\"" },
        { "\\u0041", "\"\\\\u0041\"" },
    };

    (void) state;

    for (i = 0; i < bytes_count(cases); i++) {
        in = bytes_str(cases[i].in);
        text_json_init(&json, NULL, 0);
        text_json_string(&json, NULL, bytes_span(&in));
        len = json.len;

        out = bytes_new(NULL, len);
        text_json_init(&json, out.data, out.len);
        text_json_string(&json, NULL, bytes_span(&in));
        assert_int_equal(json.len, len);
        bytes_assert(bytes_span(&out), cases[i].out, cases[i].in);

        bytes_free(&out);
        bytes_free(&in);
    }

    out = bytes_new(NULL, 10);
    text_json_init(&json, out.data, out.len);
    text_json_string(&json, NULL, text_span("a\0b"));
    bytes_assert(bytes_span(&out), "\"a\\u0000b\"", "NUL");
    bytes_free(&out);
}


/* A value of fragments that cannot join into other characters. */
static void
draw_string(uint64_t *seed, uint8_t *in, size_t *in_len, uint8_t *out,
    size_t *out_len)
{
    size_t  i, pick;

    static const struct {
        const char  *in;
        const char  *out;
    } parts[] = {
        { "a", "a" }, { "\"", "\"" }, { "\\", "\\" }, { "<", "<" },
        { "&", "&" }, { ">", ">" }, { "\n", "\n" }, { "\x1f", "\x1f" },
        { "\x7f", "\x7f" }, { "u0041", "u0041" }, { "\xc3\xa9", "\xc3\xa9" },
        { "\xe2\x80\xa8", "\xe2\x80\xa8" }, { "\xc2\x85", "\xc2\x85" },
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" }, { "\xff", BAD },
        { "\xc3", BAD }, { "\xe2\x82", BAD }, { "\xf0\x9f\x98", BAD },
        { "\xef\xbf\xbf", "\xef\xbf\xbf" },
    };

    *in_len = *out_len = 0;

    for (i = bytes_random(seed) % 8; i > 0; i--) {
        pick = bytes_random(seed) % (bytes_count(parts) + 1);

        if (pick == bytes_count(parts)) {
            in[(*in_len)++] = '\0';
            out[(*out_len)++] = '\0';
            continue;
        }

        memcpy(in + *in_len, parts[pick].in, strlen(parts[pick].in));
        *in_len += strlen(parts[pick].in);
        memcpy(out + *out_len, parts[pick].out, strlen(parts[pick].out));
        *out_len += strlen(parts[pick].out);
    }
}


static void
write_value(text_json_t *json, const char *name, uint64_t *seed,
    unsigned depth, notes_t *notes)
{
    int      array;
    char     number[32];
    size_t   i, in_len, out_len;
    uint8_t  in[64], out[64];
    bytes_t  value;
    int64_t  n;

    static const char *const  names[] = { "a", "", "x_y", "Z9" };

    if (name != NULL) {
        note_text(notes, 'n', name, strlen(name));
    }

    switch (bytes_random(seed) % (depth < 6 ? 8 : 4)) {

    case 0:
        text_json_null(json, name);
        note(notes, "0", 1);
        return;

    case 1:
        array = bytes_random(seed) % 2 == 1;
        text_json_bool(json, name, array);
        note(notes, array ? "t" : "f", 1);
        return;

    case 2:
        n = (int64_t) (bytes_random(seed) << 17)
            >> (bytes_random(seed) % 64);
        text_json_int(json, name, n);
        note(notes, number, (size_t) snprintf(number, sizeof(number),
                                              "i%lld", (long long) n));
        return;

    case 3:
    case 4:
        draw_string(seed, in, &in_len, out, &out_len);
        value = bytes_new(in, in_len);
        text_json_string(json, name, bytes_span(&value));
        note_text(notes, 's', out, out_len);
        bytes_free(&value);
        return;
    }

    array = bytes_random(seed) % 2 == 1;

    if (array) {
        text_json_array(json, name);

    } else {
        text_json_object(json, name);
    }

    note(notes, array ? "[" : "{", 1);

    for (i = bytes_random(seed) % 5; i > 0; i--) {
        write_value(json, array ? NULL : names[bytes_random(seed) % 4], seed,
                    depth + 1, notes);
    }

    note(notes, array ? "]" : "}", 1);

    if (array) {
        text_json_array_end(json);

    } else {
        text_json_object_end(json);
    }
}


static void
test_read_back(void **state)
{
    int              round;
    size_t           i;
    bytes_t          out, cut;
    reader_t         r;
    uint64_t         seed, again;
    text_json_t      json;
    static notes_t   said, read;

    (void) state;

    seed = 87;

    for (round = 0; round < 20000; round++) {
        again = seed;
        said.len = read.len = 0;
        text_json_init(&json, NULL, 0);
        write_value(&json, NULL, &seed, 0, &said);

        out = bytes_new(NULL, json.len);
        said.len = 0;
        seed = again;
        text_json_init(&json, out.data, out.len);
        write_value(&json, NULL, &seed, 0, &said);
        assert_int_equal(json.len, out.len);

        for (i = 0; i < out.len; i++) {
            assert_true(out.data[i] >= 0x20 && out.data[i] != 0x7f);
            assert_null(memchr("<>&", out.data[i], 3));
        }

        r.p = out.data;
        r.end = out.data + out.len;
        r.notes = &read;
        read_value(&r);
        assert_ptr_equal(r.p, r.end);
        assert_int_equal(said.len, read.len);
        assert_memory_equal(said.bytes, read.bytes, said.len);

        /* a buffer too small gets the beginning and the whole length */

        cut = bytes_new(NULL, out.len / 2);
        said.len = 0;
        seed = again;
        text_json_init(&json, cut.data, cut.len);
        write_value(&json, NULL, &seed, 0, &said);
        assert_int_equal(json.len, out.len);
        assert_memory_equal(cut.data, out.data, cut.len);

        bytes_free(&cut);
        bytes_free(&out);
    }
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
