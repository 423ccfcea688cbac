/*
 * span.h: bytes somebody else owns.  Everything under text/ takes and gives
 * spans; none is NUL-terminated and none is kept after a call returns.
 *
 * Functions that write take a buffer and its capacity and return the length
 * needed; the output is whole only if that is <= capacity.  With capacity 0
 * the buffer may be NULL, so a first call can measure.
 */

#ifndef TEXT_SPAN_H_INCLUDED
#define TEXT_SPAN_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <string.h>


typedef struct {
    const uint8_t  *data;
    size_t          len;
} text_span_t;


#define text_span(str)                                                      \
    ((text_span_t) { (const uint8_t *) (str), sizeof(str) - 1 })


static inline int
text_span_equal(text_span_t a, text_span_t b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}


#endif /* TEXT_SPAN_H_INCLUDED */
