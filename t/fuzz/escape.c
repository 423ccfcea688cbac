/* escape.c: no markup in HTML, nothing but unreserved bytes in a query. */

#include "fuzz.h"
#include "text/escape.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       i, len;
    int64_t      seconds;
    uint8_t     *out, time[TEXT_TIME_CHARS];
    text_span_t  in;

    in.data = data;
    in.len = size;
    len = text_escape_html(in, NULL, 0);
    out = fuzz_buffer(len);
    fuzz_check(text_escape_html(in, out, len) == len && len <= size * 6);

    for (i = 0; i < len; i++) {
        fuzz_check(memchr("<>\"'`", out[i], 5) == NULL && out[i] != 0x7f);
        fuzz_check(out[i] >= 0x20 || out[i] == '\t' || out[i] == '\n');
    }

    free(out);
    len = text_escape_query(in, NULL, 0);
    out = fuzz_buffer(len);
    fuzz_check(text_escape_query(in, out, len) == len && len <= size * 3);

    for (i = 0; i < len; i++) {
        fuzz_check(out[i] > 0x24 && out[i] < 0x7f && out[i] != '&');
    }

    free(out);
    memcpy(&seconds, size < 8 ? (const uint8_t *) "01234567" : data, 8);
    fuzz_check(text_time_iso(seconds, time) == TEXT_TIME_CHARS);
    fuzz_check(text_time_human(seconds, time) == TEXT_TIME_CHARS);
    return 0;
}
