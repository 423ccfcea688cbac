/* json.c: jansson reads a string that was written as what it was, with U+FFFD
 * in place of what is no UTF-8; and it can stand in a page or a terminal. */

#include <jansson.h>

#include "naive_utf8.h"
#include "text/json.h"


static size_t
mended(const uint8_t *data, size_t size, uint8_t *out)
{
    int     code;
    size_t  i, n, len;

    for (i = len = 0; i < size; i += n) {
        n = naive_utf8(data + i, size - i, &code);

        if (code >= 0) {
            memcpy(out + len, data + i, n);
            len += n;

        } else {
            memcpy(out + len, "\xef\xbf\xbd", 3);
            len += 3;
        }
    }

    return len;
}


static void
write_all(text_json_t *json, text_span_t value, int64_t number)
{
    text_json_array(json, NULL);
    text_json_string(json, NULL, value);
    text_json_int(json, NULL, number);
    text_json_object(json, NULL);
    text_json_bool(json, "t", 1);
    text_json_null(json, "n_2");
    text_json_object_end(json);
    text_json_array_end(json);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t         i, len;
    json_t        *read, *text;
    int64_t        number;
    uint8_t       *out, *expected;
    text_span_t    value = { data, size };
    text_json_t    json;
    json_error_t   error;

    memcpy(&number, size < 8 ? (const uint8_t *) "01234567" : data, 8);
    text_json_init(&json, NULL, 0);
    write_all(&json, value, number);
    len = json.len;
    out = fuzz_buffer(len);
    text_json_init(&json, out, len);
    write_all(&json, value, number);
    fuzz_check(json.len == len);

    for (i = 0; i < len; i++) {
        fuzz_check(out[i] >= 0x20 && out[i] != 0x7f);
        fuzz_check(out[i] != '<' && out[i] != '>' && out[i] != '&');
        fuzz_check(out[i] != 0xc2 || out[i + 1] >= 0xa0);
        fuzz_check(out[i] != 0xe2 || out[i + 1] != 0x80
                   || (out[i + 2] & 0xfe) != 0xa8);
    }

    read = json_loadb((char *) out, len, JSON_ALLOW_NUL, &error);
    fuzz_check(read != NULL && json_array_size(read) == 3);
    text = json_array_get(read, 0);
    expected = fuzz_buffer(size * 3);
    i = mended(data, size, expected);
    fuzz_check(fuzz_same(json_string_value(text), json_string_length(text),
                         expected, i));
    fuzz_check(json_integer_value(json_array_get(read, 1)) == number);
    text = json_array_get(read, 2);
    fuzz_check(json_object_size(text) == 2);
    fuzz_check(json_is_true(json_object_get(text, "t")));
    fuzz_check(json_is_null(json_object_get(text, "n_2")));
    json_decref(read);
    free(expected);
    free(out);

    return 0;
}
