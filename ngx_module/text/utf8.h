/*
 * utf8.h: one character of UTF-8.  Private to text/.
 */

#ifndef TEXT_UTF8_H_INCLUDED
#define TEXT_UTF8_H_INCLUDED


#include "span.h"


#define TEXT_UTF8_INVALID  UINT32_MAX


/* Decodes the character at the start of `in`, which must not be empty, and
 * returns its length.  Bytes that are no character (overlong forms, surrogates
 * and what is cut off included) give TEXT_UTF8_INVALID and the length that one
 * U+FFFD replaces, as browsers count it. */
size_t text_utf8_next(text_span_t in, uint32_t *code);


#endif /* TEXT_UTF8_H_INCLUDED */
