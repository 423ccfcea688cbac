/* token.c: a token is taken exactly when libsodium decodes it to the id of our
 * secret and bytes with their HMAC, under a key that OpenSSL derives. */

#include <fcntl.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <sodium.h>

#include "base64.h"
#include "fuzz.h"
#include "store.h"


static uint8_t           cookie_key[32], csrf_key[32], key_id[1];
static store_keyring_t  *ring;


static void
derive(const char *secret, const char *info, size_t n, uint8_t *out,
    size_t out_len)
{
    EVP_PKEY_CTX  *ctx;

    ctx = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, NULL);
    fuzz_check(EVP_PKEY_derive_init(ctx) == 1);
    fuzz_check(EVP_PKEY_CTX_set_hkdf_md(ctx, EVP_sha256()) == 1);
    fuzz_check(EVP_PKEY_CTX_set1_hkdf_key(ctx, (const uint8_t *) secret,
                                          (int) strlen(secret)) == 1);
    fuzz_check(EVP_PKEY_CTX_add1_hkdf_info(ctx, (const uint8_t *) info,
                                           (int) n) == 1);
    fuzz_check(EVP_PKEY_derive(ctx, out, &out_len) == 1);
    EVP_PKEY_CTX_free(ctx);
}


int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int               fd;
    char              file[32], why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;

    static const char  secret[] = "0123456789abcdef0123456789abcdef";
    static const char  line[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    (void) argc;
    (void) argv;

    fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    fuzz_check(fd != -1 && write(fd, line, sizeof(line) - 1) > 0);
    (void) snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    fuzz_check(store_secrets_read(file, &secrets, why) == STORE_OK);
    fuzz_check(store_keyring_derive(secrets, "default", &ring) == STORE_OK);
    store_secrets_free(secrets);
    (void) close(fd);

    derive(secret, "id", 2, key_id, 1);
    derive(secret, "cookie/1\0default", 16, cookie_key, 32);
    derive(secret, "csrf/1\0default", 14, csrf_key, 32);

    return 0;
}


/* libsodium's base64 takes some bytes that are no ASCII for characters. */
static int
decode(const char *text, size_t len, uint8_t *out, size_t max, size_t *n)
{
    size_t       i;
    const char  *end;

    for (i = 0; i < len; i++) {
        if (text[i] <= 0) {
            return 0;
        }
    }

    return sodium_base642bin(out, max, text, len, NULL, n, &end,
                             sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0
           && end == text + len;
}


static void
mac(const uint8_t *key, const uint8_t *data, size_t n, uint8_t out[32])
{
    (void) crypto_auth_hmacsha256(out, data, n, key);
}


static void
check_base64(const char *text, size_t len)
{
    int      good;
    char     again[512];
    size_t   n;
    uint8_t  ours[512], theirs[512];

    good = decode(text, len, theirs, sizeof(theirs), &n);
    fuzz_check((store_base64url_decode(text, len, ours, len * 3 / 4)
                == STORE_OK) == good);

    if (good) {
        fuzz_check(fuzz_same(ours, len * 3 / 4, theirs, n));
        fuzz_check(store_base64url_encode(ours, n, again) == len);
        fuzz_check(memcmp(again, text, len) == 0);
    }
}


static void
check_token(const char *text, size_t len)
{
    int      good;
    size_t   n;
    uint8_t  bytes[512], expected[32], id[STORE_ID_BYTES];

    good = decode(text, len, bytes, sizeof(bytes), &n)
           && n == 1 + STORE_ID_BYTES + 32 && bytes[0] == key_id[0];

    if (good) {
        mac(cookie_key, bytes, 1 + STORE_ID_BYTES, expected);
        good = memcmp(bytes + 1 + STORE_ID_BYTES, expected, 32) == 0;
    }

    memset(id, 0, sizeof(id));
    fuzz_check((store_token_verify(ring, text, len, id, NULL) == STORE_OK)
               == good);
    fuzz_check(memcmp(id, good ? bytes + 1 : (const uint8_t[21]) { 0 },
                      sizeof(id)) == 0);
}


static void
check_csrf(const uint8_t *id, const char *text, size_t len)
{
    int      good;
    size_t   i, n;
    uint8_t  bytes[512], expected[32], named[1 + STORE_ID_BYTES];

    good = decode(text, len, bytes, sizeof(bytes), &n) && n == 64;

    if (good) {
        named[0] = STORE_ID_BYTES;
        memcpy(named + 1, id, STORE_ID_BYTES);
        mac(csrf_key, named, sizeof(named), expected);

        for (i = 0; i < 32; i++) {
            good &= (bytes[i] ^ bytes[32 + i]) == expected[i];
        }
    }

    fuzz_check((store_csrf_verify(ring, id, STORE_ID_BYTES, text, len)
                == STORE_OK) == good);
}


/* The input as text; then as an id to sign and changes to what was signed. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char     text[STORE_TOKEN_CHARS], csrf[STORE_CSRF_CHARS];
    size_t   i;
    uint8_t  id[STORE_ID_BYTES] = "0123456789abcdefghij", mask[32] = "m";

    if (size > 256) {
        return 0;
    }

    check_base64((const char *) data, size);
    check_token((const char *) data, size);
    check_csrf(id, (const char *) data, size);

    i = size < sizeof(id) ? size : sizeof(id);
    memcpy(id, data, i);
    memcpy(mask, data, i);
    store_token_sign(ring, id, text);
    store_csrf_sign(ring, id, sizeof(id), mask, csrf);

    for ( ; i + 1 < size; i += 2) {
        text[data[i] % sizeof(text)] ^= (char) data[i + 1];
        csrf[data[i] % sizeof(csrf)] ^= (char) data[i + 1];
    }

    check_token(text, sizeof(text));
    check_csrf(id, csrf, sizeof(csrf));

    return 0;
}
