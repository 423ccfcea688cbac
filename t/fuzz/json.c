/* json.c: a string is one string of plain characters, whatever its bytes. */

#include "fuzz.h"
#include "text/json.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       i, len;
    uint8_t     *out;
    text_span_t  value;
    text_json_t  json;

    value.data = data;
    value.len = size;
    text_json_init(&json, NULL, 0);
    text_json_string(&json, NULL, value);
    len = json.len;
    fuzz_check(len >= size / 4 + 2 && len <= size * 6 + 2);

    out = fuzz_buffer(len);
    text_json_init(&json, out, len);
    text_json_string(&json, NULL, value);
    fuzz_check(json.len == len && out[0] == '"' && out[len - 1] == '"');

    for (i = 1; i < len - 1; i++) {
        fuzz_check(out[i] >= 0x20 && out[i] != 0x7f && out[i] != '"');
        fuzz_check(memchr("<>&", out[i], 3) == NULL);

        if (out[i] == '\\') {
            fuzz_check(++i < len - 1 && memchr("\"\\u", out[i], 3) != NULL);
        }
    }

    free(out);

    return 0;
}
