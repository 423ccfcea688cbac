/*
 * redirect.h: where a sign-in may send somebody, and which origin a request
 * claims to come from.
 */

#ifndef TEXT_REDIRECT_H_INCLUDED
#define TEXT_REDIRECT_H_INCLUDED


#include "span.h"


#define TEXT_RETURN_MAX  2048


/*
 * 1 when `target` (as decoded from the parameter) is a path of this site: one
 * '/' first, then neither '/' nor '\'; no control character, space, backslash,
 * DEL or byte above 0x7e anywhere; no %-encoded form of '/', '\', control
 * characters or DEL in the path's first segment, no encoded control character
 * anywhere; no '%' in the path that is no escape; no "." or ".." segment in
 * any encoding (browsers would normalise them away after we looked); at most
 * TEXT_RETURN_MAX bytes.  '?' and '#' may follow.
 */
int text_return_path(text_span_t target);

/* 1 when target is an absolute URL whose origin is exactly one of origins
 * (text_origin_normal form) and whose rest is a text_return_path or empty. */
int text_return_origin(text_span_t target, const text_span_t *origins,
    size_t n);

/*
 * Normal form of an origin: "scheme://host" or "scheme://host:port", lower
 * case, default port dropped (80 for http, 443 for https), [IPv6] kept in
 * brackets.  Anything else (path, userinfo, "null", empty, other schemes,
 * bytes outside host syntax, port 0 or > 65535) gives 0.  Returns the length
 * written; out needs in.len bytes.
 */
size_t text_origin_normal(text_span_t in, uint8_t *out, size_t capacity);


#endif /* TEXT_REDIRECT_H_INCLUDED */
