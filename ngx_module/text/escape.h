/*
 * escape.h: one function per place a value can stand in.
 */

#ifndef TEXT_ESCAPE_H_INCLUDED
#define TEXT_ESCAPE_H_INCLUDED


#include "span.h"


/* Element content and double-quoted attributes: & < > " ' ` become entities,
 * control characters but tab and newline and invalid UTF-8 become U+FFFD. */
size_t text_escape_html(text_span_t in, uint8_t *out, size_t capacity);

/* The same in pieces, without a buffer: sets *piece to what the start of `in`
 * becomes (part of `in` itself or static bytes) and returns how much of `in`
 * that was, 0 only for empty `in`. */
size_t text_escape_html_step(text_span_t in, text_span_t *piece);

/* A query parameter's value: all but A-Z a-z 0-9 - . _ ~ and '/' as %XX. */
size_t text_escape_query(text_span_t in, uint8_t *out, size_t capacity);

/* "2026-01-02 03:04 UTC", and the machine's form "2026-01-02T03:04:05Z";
 * years 0 to 9999, others are clamped.  Return the length. */
#define TEXT_TIME_CHARS  20
size_t text_time_human(int64_t seconds, uint8_t out[TEXT_TIME_CHARS]);
size_t text_time_iso(int64_t seconds, uint8_t out[TEXT_TIME_CHARS]);


#endif /* TEXT_ESCAPE_H_INCLUDED */
