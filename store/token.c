#include <assert.h>
#include <string.h>

#include "base64.h"
#include "keyring.h"


#define STORE_SIGNED_BYTES  (1 + STORE_SIGNED_MAX + STORE_MAC_BYTES)


_Static_assert(STORE_TOKEN_CHARS == store_base64_chars(STORE_TOKEN_BYTES),
               "token");
_Static_assert(STORE_CSRF_CHARS == store_base64_chars(STORE_CSRF_BYTES),
               "CSRF token");
_Static_assert(STORE_PRE_CHARS
               == store_base64_chars(1 + STORE_PRE_ID_BYTES + STORE_MAC_BYTES),
               "pre-session cookie");
_Static_assert(STORE_DEVICE_CHARS
               == store_base64_chars(1 + STORE_USER_BYTES + STORE_MAC_BYTES),
               "device cookie");
_Static_assert(STORE_ID_BYTES <= STORE_SIGNED_MAX, "a token is signed too");


static int store_signed_verify(const store_keyring_t *keyring,
    store_label_t label, const char *text, size_t len, uint8_t *data,
    size_t n, unsigned *line);
static void store_csrf_mac(const store_keyring_t *keyring, unsigned line,
    const uint8_t *id, size_t n, uint8_t mac[STORE_MAC_BYTES]);


void
store_token_id(int64_t now, const uint8_t random[STORE_ID_RANDOM_BYTES],
    uint8_t id[STORE_ID_BYTES])
{
    id[0] = (uint8_t) (now >> 24);
    id[1] = (uint8_t) (now >> 16);
    id[2] = (uint8_t) (now >> 8);
    id[3] = (uint8_t) now;

    memcpy(id + 4, random, STORE_ID_RANDOM_BYTES);
}


void
store_token_sign(const store_keyring_t *keyring,
    const uint8_t id[STORE_ID_BYTES], char text[STORE_TOKEN_CHARS])
{
    store_signed_write(keyring, STORE_LABEL_COOKIE, id, STORE_ID_BYTES, text);
}


int
store_token_verify(const store_keyring_t *keyring, const char *text,
    size_t len, uint8_t id[STORE_ID_BYTES], unsigned *line)
{
    return store_signed_verify(keyring, STORE_LABEL_COOKIE, text, len, id,
                               STORE_ID_BYTES, line);
}


void
store_signed_write(const store_keyring_t *keyring, store_label_t label,
    const uint8_t *data, size_t n, char *text)
{
    uint8_t  bytes[STORE_SIGNED_BYTES];

    assert(n <= STORE_SIGNED_MAX);

    bytes[0] = keyring->ids[0];
    memcpy(bytes + 1, data, n);
    store_keyring_mac(keyring, label, 0, bytes, 1 + n, bytes + 1 + n);

    (void) store_base64url_encode(bytes, 1 + n + STORE_MAC_BYTES, text);

    store_wipe(bytes, 1 + n + STORE_MAC_BYTES);
}


int
store_signed_read(const store_keyring_t *keyring, store_label_t label,
    const char *text, size_t len, uint8_t *data, size_t n)
{
    return store_signed_verify(keyring, label, text, len, data, n, NULL);
}


/*
 * Nothing is copied out before the HMAC is right.  The HMAC that was expected
 * is wiped: with the bytes it covers it would be a valid token.
 */
static int
store_signed_verify(const store_keyring_t *keyring, store_label_t label,
    const char *text, size_t len, uint8_t *data, size_t n, unsigned *line)
{
    int      i, rc;
    uint8_t  mac[STORE_MAC_BYTES], bytes[STORE_SIGNED_BYTES];

    if (n > STORE_SIGNED_MAX) {
        return STORE_MALFORMED;
    }

    rc = store_base64url_decode(text, len, bytes, 1 + n + STORE_MAC_BYTES);

    if (rc != STORE_OK) {
        return rc;
    }

    i = store_keyring_line(keyring, bytes[0]);

    if (i < 0) {
        return STORE_UNKNOWN_KEY;
    }

    store_keyring_mac(keyring, label, (unsigned) i, bytes, 1 + n, mac);

    rc = store_equal(mac, bytes + 1 + n, STORE_MAC_BYTES) ? STORE_OK
                                                      : STORE_BAD_SIGNATURE;
    store_wipe(mac, sizeof(mac));

    if (rc != STORE_OK) {
        return rc;
    }

    memcpy(data, bytes + 1, n);

    if (line != NULL) {
        *line = (unsigned) i;
    }

    return STORE_OK;
}


void
store_token_key(const uint8_t id[STORE_ID_BYTES],
    uint8_t key[STORE_KEY_BYTES])
{
    uint8_t  digest[SHA256_DIGEST_LENGTH];

    store_sha256(id, STORE_ID_BYTES, digest);

    memcpy(key, id, 4);
    memcpy(key + 4, digest, STORE_KEY_BYTES - 4);
}


void
store_key_ref(const uint8_t key[STORE_KEY_BYTES],
    char ref[STORE_REF_CHARS + 1])
{
    size_t  n;

    n = store_base64url_encode(key + STORE_KEY_BYTES - STORE_REF_BYTES,
                               STORE_REF_BYTES, ref);
    ref[n] = '\0';
}


/*
 * The mask makes the text differ in every page, so that compression of pages
 * that reflect input (BREACH) learns nothing about the HMAC.
 */
void
store_csrf_sign(const store_keyring_t *keyring, const uint8_t *id, size_t n,
    const uint8_t mask[STORE_MAC_BYTES], char text[STORE_CSRF_CHARS])
{
    size_t   i;
    uint8_t  bytes[STORE_CSRF_BYTES];

    memcpy(bytes, mask, STORE_MAC_BYTES);
    store_csrf_mac(keyring, 0, id, n, bytes + STORE_MAC_BYTES);

    for (i = 0; i < STORE_MAC_BYTES; i++) {
        bytes[STORE_MAC_BYTES + i] ^= mask[i];
    }

    (void) store_base64url_encode(bytes, sizeof(bytes), text);

    store_wipe(bytes, sizeof(bytes));
}


/* A CSRF token names no key, so every secret of the file is tried. */
int
store_csrf_verify(const store_keyring_t *keyring, const uint8_t *id, size_t n,
    const char *text, size_t len)
{
    int       rc;
    size_t    i;
    uint8_t   mac[STORE_MAC_BYTES], bytes[STORE_CSRF_BYTES];
    unsigned  line;

    rc = store_base64url_decode(text, len, bytes, sizeof(bytes));

    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < STORE_MAC_BYTES; i++) {
        bytes[STORE_MAC_BYTES + i] ^= bytes[i];
    }

    rc = STORE_BAD_SIGNATURE;

    for (line = 0; line < keyring->count; line++) {
        store_csrf_mac(keyring, line, id, n, mac);

        if (store_equal(mac, bytes + STORE_MAC_BYTES, STORE_MAC_BYTES)) {
            rc = STORE_OK;
        }
    }

    store_wipe(mac, sizeof(mac));
    store_wipe(bytes, sizeof(bytes));

    return rc;
}


/* The length in front keeps ids of different kinds apart. */
static void
store_csrf_mac(const store_keyring_t *keyring, unsigned line,
    const uint8_t *id, size_t n, uint8_t mac[STORE_MAC_BYTES])
{
    uint8_t  bytes[1 + STORE_SIGNED_MAX];

    assert(n <= STORE_SIGNED_MAX);

    bytes[0] = (uint8_t) n;
    memcpy(bytes + 1, id, n);

    store_keyring_mac(keyring, STORE_LABEL_CSRF, line, bytes, 1 + n, mac);

    store_wipe(bytes, 1 + n);
}
