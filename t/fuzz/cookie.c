/* cookie.c: what is cut is found no more, and nothing is cut twice. */

#include "fuzz.h"
#include "text/cookie.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       pos, last, len;
    uint8_t     *out;
    text_span_t  line, left, value, names[2];

    line.data = data;
    line.len = size;
    names[0] = text_span("sid");
    names[1] = text_span("d");

    for (pos = last = 0; text_cookie_next(line, &pos, names[0], &value); ) {
        fuzz_check(value.data >= data + last + 4);
        fuzz_check(value.data + value.len <= data + pos && pos > last);
        fuzz_check(memcmp(value.data - 4, "sid=", 4) == 0);
        last = pos;
    }

    len = text_cookie_cut(line, names, 2, NULL, 0);
    fuzz_check(len <= size && (last == 0 || len < size));
    out = fuzz_buffer(len);
    fuzz_check(text_cookie_cut(line, names, 2, out, len) == len);
    fuzz_check(len < size || memcmp(out, data, size) == 0);

    left.data = out;
    left.len = len;
    pos = 0;
    fuzz_check(!text_cookie_next(left, &pos, names[0], &value));
    fuzz_check(text_cookie_cut(left, names, 2, NULL, 0) == len);
    free(out);

    return 0;
}
