/*
 * sha256.h: SHA-256, and HMAC-SHA-256 with the key mixed in beforehand.
 */

#ifndef STORE_SHA256_H_INCLUDED
#define STORE_SHA256_H_INCLUDED


#include <stddef.h>
#include <stdint.h>

#include <openssl/sha.h>

#include "limits.h"


/*
 * Whoever holds this can sign: treat it as the key.  A plain struct, so that
 * it lies where its owner puts it.
 */
typedef struct {
    SHA256_CTX  inner;          /* after key ^ ipad */
    SHA256_CTX  outer;          /* after key ^ opad */
} store_hmac_t;


void store_sha256(const void *data, size_t n,
    uint8_t digest[SHA256_DIGEST_LENGTH]);

/* Keys of any length (RFC 2104); ours are 32 bytes. */
void store_hmac_prepare(store_hmac_t *hmac, const void *key, size_t n);
void store_hmac(const store_hmac_t *hmac, const void *data, size_t n,
    uint8_t mac[STORE_MAC_BYTES]);


#endif /* STORE_SHA256_H_INCLUDED */
