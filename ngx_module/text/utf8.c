/*
 * utf8.c: one character of UTF-8.
 */

#include "utf8.h"


/*
 * The first byte decides the length and the range of the second one, which
 * excludes overlong forms, surrogates and what is above U+10FFFF.  Every later
 * byte is 80..BF.  A sequence ends before the first byte that does not fit, so
 * that byte is looked at again as the start of something.
 */
size_t
text_utf8_next(text_span_t in, uint32_t *code)
{
    size_t    i, len;
    uint8_t   first, low, high;
    uint32_t  c;

    first = in.data[0];

    if (first < 0x80) {
        *code = first;
        return 1;
    }

    *code = TEXT_UTF8_INVALID;

    if (first < 0xc2 || first > 0xf4) {
        return 1;
    }

    len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    c = first & (0x7fu >> len);

    for (i = 1; i < len; i++) {

        if (i == in.len || in.data[i] < low || in.data[i] > high) {
            return i;
        }

        c = (c << 6) | (in.data[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }

    *code = c;
    return len;
}
