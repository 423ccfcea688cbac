/*
 * percent.h: one %XX escape.  Private to text/.
 */

#ifndef TEXT_PERCENT_H_INCLUDED
#define TEXT_PERCENT_H_INCLUDED


#include "span.h"


static inline int
text_percent_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }

    return -1;
}


/* The byte that the escape at p stands for, or -1; p[0] is the '%' and len is
 * what is left from there. */
static inline int
text_percent(const uint8_t *p, size_t len)
{
    int  high, low;

    if (len < 3) {
        return -1;
    }

    high = text_percent_digit(p[1]);
    low = text_percent_digit(p[2]);

    return high < 0 || low < 0 ? -1 : high * 16 + low;
}


#endif /* TEXT_PERCENT_H_INCLUDED */
