/*
 * csp.h: Content-Security-Policy values, compiled once into pieces between
 * which a nonce goes.
 */

#ifndef TEXT_CSP_H_INCLUDED
#define TEXT_CSP_H_INCLUDED


#include "span.h"


#define TEXT_CSP_NONCES_MAX  16         /* places for a nonce */
#define TEXT_CSP_POLICY_MAX  4096
#define TEXT_CSP_NONCE_CHARS 24         /* base64 of 16 bytes, with == */


typedef struct {
    text_span_t  pieces[TEXT_CSP_NONCES_MAX + 1];   /* into the policy */
    size_t       n;             /* pieces; nonces are n - 1 */
    size_t       len;           /* of the whole value with nonces in it */
} text_csp_t;


typedef enum {
    TEXT_CSP_OK = 0,
    TEXT_CSP_EMPTY = -1,
    TEXT_CSP_TOO_LONG = -2,
    TEXT_CSP_TOO_MANY_NONCES = -3,
    TEXT_CSP_BAD_BYTE = -4,             /* outside 0x20..0x7e, or a ',' */
    TEXT_CSP_BAD_DIRECTIVE = -5,        /* not a directive name */
    TEXT_CSP_DUPLICATE = -6,            /* browsers ignore the second */
    TEXT_CSP_BAD_NONCE = -7             /* fixed, or not in its quotes */
} text_csp_code_t;


/*
 * The operator writes 'nonce' (with the quotes) or $csp_nonce inside
 * 'nonce-$csp_nonce'; both become 'nonce-<value>'.  *at is the place of an
 * error.  The policy must outlive the compiled form, which points into it:
 * `normal` (capacity 2 * policy.len + 64) receives the text with each place
 * rewritten to 'nonce-' + piece border + ', without spaces at its ends.
 */
int text_csp_compile(text_span_t policy, uint8_t *normal, size_t capacity,
    text_csp_t *csp, size_t *at);

/* Writes the header value with `nonce` at each place; returns csp->len. */
size_t text_csp_write(const text_csp_t *csp,
    const uint8_t nonce[TEXT_CSP_NONCE_CHARS], uint8_t *out);

const char *text_csp_strerror(int code);


#endif /* TEXT_CSP_H_INCLUDED */
