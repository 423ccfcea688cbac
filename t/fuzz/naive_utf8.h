/*
 * naive_utf8.h: one character of UTF-8 by its definition.
 */

#ifndef NAIVE_UTF8_H_INCLUDED
#define NAIVE_UTF8_H_INCLUDED


#include "fuzz.h"


/* What n bytes stand for, or -1 if they are not one character. */
static inline int
naive_utf8_code(const uint8_t *p, size_t n)
{
    int     code;
    size_t  i;

    static const int  first[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    static const int  mask[5] = { 0, 0x80, 0xe0, 0xf0, 0xf8 };
    static const int  least[5] = { 0, 0, 0x80, 0x800, 0x10000 };

    if ((p[0] & mask[n]) != first[n]) {
        return -1;
    }

    code = p[0] & ~mask[n];

    for (i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return -1;
        }

        code = code * 64 + (p[i] & 0x3f);
    }

    return code < least[n] || code > 0x10ffff || (code >> 11) == 0x1b
           ? -1 : code;
}


/* 1 when more bytes can make a character of these n. */
static inline int
naive_utf8_begins(const uint8_t *p, size_t n)
{
    size_t   all;
    uint8_t  low[4], high[4];

    for (all = n + 1; all <= 4; all++) {
        memset(low, 0x80, 4);
        memset(high, 0xbf, 4);
        memcpy(low, p, n);
        memcpy(high, p, n);

        if (naive_utf8_code(low, all) >= 0 || naive_utf8_code(high, all) >= 0) {
            return 1;
        }
    }

    return 0;
}


/*
 * The length of the character at p, and its code; for what is none, the
 * length of the longest start of one, at least 1, and -1.
 */
static inline size_t
naive_utf8(const uint8_t *p, size_t left, int *code)
{
    size_t  n;

    if (p[0] < 0x80) {
        *code = p[0];
        return 1;
    }

    for (n = 2; n <= 4 && n <= left; n++) {
        *code = naive_utf8_code(p, n);

        if (*code >= 0) {
            return n;
        }
    }

    *code = -1;

    if (p[0] < 0xc0) {
        return 1;
    }

    for (n = left < 3 ? left : 3; n > 1; n--) {
        if (naive_utf8_begins(p, n)) {
            return n;
        }
    }

    return 1;
}


#endif /* NAIVE_UTF8_H_INCLUDED */
