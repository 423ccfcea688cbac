/*
 * The low-level SHA-256 functions are marked deprecated since OpenSSL 3.0, and
 * this one file uses them nevertheless.  A SHA256_CTX is a plain struct: it
 * lies in our own pages that stay out of core dumps, and copying two of them
 * and finishing takes 125 ns a request.  The EVP interface keeps the key state
 * on OpenSSL's heap, where neither holds.
 */

#define OPENSSL_SUPPRESS_DEPRECATED

#include <string.h>

#include "sha256.h"
#include "store.h"


_Static_assert(STORE_MAC_BYTES == SHA256_DIGEST_LENGTH, "HMAC-SHA-256");


void
store_sha256(const void *data, size_t n, uint8_t digest[SHA256_DIGEST_LENGTH])
{
    SHA256_CTX  ctx;

    (void) SHA256_Init(&ctx);
    (void) SHA256_Update(&ctx, data, n);
    (void) SHA256_Final(digest, &ctx);
}


void
store_hmac_prepare(store_hmac_t *hmac, const void *key, size_t n)
{
    size_t   i;
    uint8_t  block[SHA256_CBLOCK];

    memset(block, 0, sizeof(block));

    if (n > sizeof(block)) {
        store_sha256(key, n, block);

    } else if (n) {
        memcpy(block, key, n);
    }

    for (i = 0; i < sizeof(block); i++) {
        block[i] ^= 0x36;
    }

    (void) SHA256_Init(&hmac->inner);
    (void) SHA256_Update(&hmac->inner, block, sizeof(block));

    for (i = 0; i < sizeof(block); i++) {
        block[i] ^= 0x36 ^ 0x5c;
    }

    (void) SHA256_Init(&hmac->outer);
    (void) SHA256_Update(&hmac->outer, block, sizeof(block));

    store_wipe(block, sizeof(block));
}


void
store_hmac(const store_hmac_t *hmac, const void *data, size_t n,
    uint8_t mac[STORE_MAC_BYTES])
{
    uint8_t     digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX  ctx;

    ctx = hmac->inner;
    (void) SHA256_Update(&ctx, data, n);
    (void) SHA256_Final(digest, &ctx);

    ctx = hmac->outer;
    (void) SHA256_Update(&ctx, digest, sizeof(digest));
    (void) SHA256_Final(mac, &ctx);

    store_wipe(&ctx, sizeof(ctx));
    store_wipe(digest, sizeof(digest));
}
