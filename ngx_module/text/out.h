/*
 * out.h: a caller's buffer being filled.  Private to text/.  It counts what
 * the whole output needs and stores what fits, so one pass both writes and
 * measures.
 */

#ifndef TEXT_OUT_H_INCLUDED
#define TEXT_OUT_H_INCLUDED


#include "span.h"


typedef struct {
    uint8_t  *data;             /* may be NULL when capacity is 0 */
    size_t    capacity;
    size_t    len;              /* needed so far */
} text_out_t;


static inline void
text_out_bytes(text_out_t *out, text_span_t bytes)
{
    size_t  room;

    if (out->len < out->capacity && bytes.len != 0) {
        room = out->capacity - out->len;
        memcpy(out->data + out->len, bytes.data,
               bytes.len < room ? bytes.len : room);
    }

    out->len += bytes.len;
}


static inline void
text_out_byte(text_out_t *out, uint8_t byte)
{
    if (out->len < out->capacity) {
        out->data[out->len] = byte;
    }

    out->len++;
}


#endif /* TEXT_OUT_H_INCLUDED */
