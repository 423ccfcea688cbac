/*
 * cookie.h: the Cookie header.  ';' separates, always; names are compared byte
 * for byte; quotes mean nothing; nothing is %-decoded.  A pair without '=' is
 * not a cookie.  Spaces and tabs around a pair are dropped, spaces around '='
 * are part of name or value (so "a =b" is not the cookie "a").
 */

#ifndef TEXT_COOKIE_H_INCLUDED
#define TEXT_COOKIE_H_INCLUDED


#include "span.h"


/* Finds the next cookie `name` in one header line, from *pos (0 to begin); the
 * name is one that text_cookie_name_valid takes.
 * 1: *value is set and *pos is behind it; 0: no more.  Linear in the line. */
int text_cookie_next(text_span_t line, size_t *pos, text_span_t name,
    text_span_t *value);

/*
 * Copies a header line without the cookies whose name is in names[].  The
 * other cookies keep their bytes and their order; a separator "; " belongs to
 * the cookie before it.  Returns the length needed (never more than line.len);
 * equal to line.len means nothing was cut.  0: nothing is left, the header
 * goes.  Pairs without '=' whose whole text is one of the names are cut too:
 * some servers read "name" as "name=".
 */
size_t text_cookie_cut(text_span_t line, const text_span_t *names, size_t n,
    uint8_t *out, size_t capacity);


/* 1 when the bytes are a cookie-name (RFC 6265 token) of at most 64. */
int text_cookie_name_valid(text_span_t name);


#endif /* TEXT_COOKIE_H_INCLUDED */
