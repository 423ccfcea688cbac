/*
 * text_bytes.h: input for the tests of text/.  A copy ends exactly where its
 * heap block does and no NUL follows, so the address sanitizer sees every read
 * behind the end.
 */

#ifndef TEXT_BYTES_H_INCLUDED
#define TEXT_BYTES_H_INCLUDED


#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text/span.h"


#define bytes_count(array)  (sizeof(array) / sizeof((array)[0]))


/* Owned by the caller: bytes_free(). */
typedef struct {
    uint8_t  *data;
    size_t    len;
    uint8_t  *block;
} bytes_t;


static inline bytes_t
bytes_new(const void *from, size_t len)
{
    bytes_t  b;

    b.block = malloc(len == 0 ? 1 : len);
    assert_non_null(b.block);

    /* an empty copy stands behind the only byte */

    b.data = len == 0 ? b.block + 1 : b.block;
    b.len = len;

    if (from != NULL && len != 0) {
        memcpy(b.data, from, len);
    }

    return b;
}


static inline bytes_t
bytes_str(const char *str)
{
    return bytes_new(str, strlen(str));
}


static inline void
bytes_free(bytes_t *b)
{
    free(b->block);
    b->block = b->data = NULL;
}


static inline text_span_t
bytes_span(const bytes_t *b)
{
    text_span_t  span;

    span.data = b->data;
    span.len = b->len;

    return span;
}


static inline text_span_t
bytes_literal(const char *str)
{
    text_span_t  span;

    span.data = (const uint8_t *) str;
    span.len = strlen(str);

    return span;
}


static inline void
bytes_assert(text_span_t got, const char *want, const char *input)
{
    if (!text_span_equal(got, bytes_literal(want))) {
        fail_msg("%s: got \"%.*s\", not \"%s\"", input, (int) got.len,
                 (const char *) got.data, want);
    }
}


/* xorshift64*: the same numbers in every run. */
static inline uint64_t
bytes_random(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;

    return *seed * UINT64_C(2685821657736338717) >> 16;
}


/* Up to max - 1 bytes, drawn from the alphabet, or any when it is NULL. */
static inline bytes_t
bytes_draw(uint64_t *seed, const char *alphabet, size_t max)
{
    size_t   i;
    bytes_t  b;

    b = bytes_new(NULL, bytes_random(seed) % max);

    for (i = 0; i < b.len; i++) {
        b.data[i] = (uint8_t) (alphabet == NULL ? bytes_random(seed)
                       : (uint8_t) alphabet[bytes_random(seed)
                                            % strlen(alphabet)]);
    }

    return b;
}


#endif /* TEXT_BYTES_H_INCLUDED */
