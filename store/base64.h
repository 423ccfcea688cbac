/*
 * base64.h: the standard alphabet without padding, for keys files and PHC
 * strings.  The public functions of store.h speak base64url.  Both are
 * canonical: one text per value, one value per text.
 */

#ifndef STORE_BASE64_H_INCLUDED
#define STORE_BASE64_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


/* Characters of n bytes. */
#define store_base64_chars(n)  (((n) * 8 + 5) / 6)

/* Returns the characters written; no NUL. */
size_t store_base64_encode(const uint8_t *data, size_t n, char *text);
/* STORE_OK, or STORE_MALFORMED unless the text is exactly n bytes. */
int store_base64_decode(const char *text, size_t len, uint8_t *data, size_t n);


#endif /* STORE_BASE64_H_INCLUDED */
