/*
 * hkdf.h: HKDF-SHA-256 (RFC 5869) with an empty salt, which is right for
 * secrets that are random already.
 */

#ifndef STORE_HKDF_H_INCLUDED
#define STORE_HKDF_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


#define STORE_HKDF_INFO_MAX  255


/* STORE_OK, or EINVAL where info or output are longer than may be. */
int store_hkdf(const void *secret, size_t n, const void *info,
    size_t info_len, uint8_t *out, size_t out_len);


#endif /* STORE_HKDF_H_INCLUDED */
