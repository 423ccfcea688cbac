/*
 * escape.h: one function per place a value can stand in.
 */

#ifndef TEXT_ESCAPE_H_INCLUDED
#define TEXT_ESCAPE_H_INCLUDED


#include "span.h"


/* Element content and double-quoted attributes: & < > " ' ` become entities,
 * control characters but tab and newline and invalid UTF-8 become U+FFFD. */
size_t text_escape_html(text_span_t in, uint8_t *out, size_t capacity);

/* A query parameter's value: all but A-Z a-z 0-9 - . _ ~ and '/' as %XX. */
size_t text_escape_query(text_span_t in, uint8_t *out, size_t capacity);

/* "2026-01-02 03:04 UTC", and the machine's form "2026-01-02T03:04:05Z";
 * years 0 to 9999, others are clamped.  Always as long as that. */
#define TEXT_TIME_CHARS  20
void text_time_iso(int64_t seconds, uint8_t out[TEXT_TIME_CHARS]);
void text_time_both(int64_t seconds, uint8_t human[TEXT_TIME_CHARS],
    uint8_t iso[TEXT_TIME_CHARS]);


#endif /* TEXT_ESCAPE_H_INCLUDED */
