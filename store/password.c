#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "base64.h"
#include "store.h"


#define STORE_SALT_CHARS  store_base64_chars(STORE_SALT_BYTES)
#define STORE_TAG_CHARS   store_base64_chars(STORE_TAG_BYTES)

/* longest text that store_phc_write() makes, with its NUL */
#define STORE_PHC_LONGEST                                                    \
    (sizeof("$argon2id$v=19$m=4294967295,t=4294967295,p=1$$")                \
     + STORE_SALT_CHARS + STORE_TAG_CHARS)

_Static_assert(STORE_PHC_LONGEST <= STORE_PHC_MAX + 1, "PHC string");
_Static_assert(STORE_SALT_BYTES == crypto_pwhash_argon2id_SALTBYTES, "salt");
_Static_assert(STORE_ARGON2_MEMORY_MIN * 1024
               >= crypto_pwhash_argon2id_MEMLIMIT_MIN, "memory");


typedef struct {
    store_hash_params_t  params;
    uint8_t              salt[STORE_SALT_BYTES];
    uint8_t              tag[STORE_TAG_BYTES];
} store_phc_parts_t;


static int store_hash_params_valid(const store_hash_params_t *params);
static int store_argon2id(const store_hash_params_t *params,
    const void *password, size_t n, const uint8_t salt[STORE_SALT_BYTES],
    uint8_t tag[STORE_TAG_BYTES]);
static void store_phc_write(const store_phc_parts_t *parts, store_phc_t *phc);
static int store_phc_read(const store_phc_t *phc, store_phc_parts_t *parts);
static const char *store_phc_skip(const char *p, const char *text);
static const char *store_phc_number(const char *p, uint32_t max, uint32_t *n);


int
store_password_hash(const store_hash_params_t *params, const void *password,
    size_t n, const uint8_t salt[STORE_SALT_BYTES], store_phc_t *phc)
{
    int                rc;
    store_phc_parts_t  parts;

    if (!store_hash_params_valid(params) || n == 0 || n > STORE_PASSWORD_MAX) {
        return STORE_INVALID;
    }

    parts.params = *params;
    memcpy(parts.salt, salt, STORE_SALT_BYTES);

    rc = store_argon2id(params, password, n, salt, parts.tag);

    if (rc == STORE_OK) {
        store_phc_write(&parts, phc);
    }

    store_wipe(&parts, sizeof(parts));

    return rc;
}


/* An impossible password costs what a wrong one costs. */
int
store_password_verify(const store_phc_t *phc, const void *password, size_t n)
{
    int                rc, possible;
    uint8_t            tag[STORE_TAG_BYTES];
    store_phc_parts_t  parts;

    rc = store_phc_read(phc, &parts);

    if (rc != STORE_OK) {
        return rc;
    }

    possible = n > 0 && n <= STORE_PASSWORD_MAX;

    rc = store_argon2id(&parts.params, password,
                        n <= STORE_PASSWORD_MAX ? n : STORE_PASSWORD_MAX,
                        parts.salt, tag);

    if (rc == STORE_OK
        && !(store_equal(tag, parts.tag, sizeof(tag)) && possible))
    {
        rc = STORE_BAD_PASSWORD;
    }

    store_wipe(tag, sizeof(tag));
    store_wipe(&parts, sizeof(parts));

    return rc;
}


/* Nobody knows a password whose tag is all zero. */
void
store_password_dummy(const store_hash_params_t *params, store_phc_t *phc)
{
    store_phc_parts_t  parts;

    memset(&parts, 0, sizeof(parts));
    parts.params = *params;

    store_phc_write(&parts, phc);
}


int
store_password_outdated(const store_phc_t *phc,
    const store_hash_params_t *params)
{
    int                outdated;
    store_phc_parts_t  parts;

    if (store_phc_read(phc, &parts) != STORE_OK) {
        return 1;
    }

    outdated = parts.params.memory != params->memory
               || parts.params.passes != params->passes;

    store_wipe(&parts, sizeof(parts));

    return outdated;
}


/*
 * Crockford's base32 in lower case: no i, l, o or u to misread.  130 bits are
 * written, the last two of them zero.
 */
int
store_password_random(char text[STORE_GENERATED_CHARS + 1])
{
    int                rc;
    size_t             i, bit;
    unsigned           v;
    uint8_t            bytes[16 + 1];
    static const char  alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

    rc = store_random(bytes, 16);

    if (rc != STORE_OK) {
        return rc;
    }

    bytes[16] = 0;

    for (i = 0; i < STORE_GENERATED_CHARS; i++) {
        bit = i * 5;
        v = (unsigned) bytes[bit / 8] << 8;

        if (bit / 8 + 1 < sizeof(bytes)) {
            v |= bytes[bit / 8 + 1];
        }

        text[i] = alphabet[v >> (11 - bit % 8) & 0x1f];
    }

    text[i] = '\0';

    store_wipe(bytes, sizeof(bytes));

    return STORE_OK;
}


static int
store_hash_params_valid(const store_hash_params_t *params)
{
    return params->memory >= STORE_ARGON2_MEMORY_MIN
           && params->memory <= STORE_ARGON2_MEMORY_MAX
           && params->passes >= 1
           && params->passes <= STORE_ARGON2_PASSES_MAX;
}


/*
 * sodium_init() picks the fast code for this processor once; without it
 * libsodium works with its slowest.  With parameters inside our caps the only
 * failure left is memory.
 */
static int
store_argon2id(const store_hash_params_t *params, const void *password,
    size_t n, const uint8_t salt[STORE_SALT_BYTES],
    uint8_t tag[STORE_TAG_BYTES])
{
    if (sodium_init() == -1) {
        return ENOMEM;
    }

    if (crypto_pwhash(tag, STORE_TAG_BYTES, password, n, salt, params->passes,
                      (size_t) params->memory * 1024,
                      crypto_pwhash_ALG_ARGON2ID13)
        != 0)
    {
        return ENOMEM;
    }

    return STORE_OK;
}


static void
store_phc_write(const store_phc_parts_t *parts, store_phc_t *phc)
{
    int   n;
    char  salt[STORE_SALT_CHARS + 1], tag[STORE_TAG_CHARS + 1];

    salt[store_base64_encode(parts->salt, STORE_SALT_BYTES, salt)] = '\0';
    tag[store_base64_encode(parts->tag, STORE_TAG_BYTES, tag)] = '\0';

    n = snprintf(phc->data, sizeof(phc->data),
                 "$argon2id$v=19$m=%lu,t=%lu,p=1$%s$%s",
                 (unsigned long) parts->params.memory,
                 (unsigned long) parts->params.passes, salt, tag);

    phc->len = (uint16_t) n;

    store_wipe(salt, sizeof(salt));
    store_wipe(tag, sizeof(tag));
}


/*
 * Only the one form that store_phc_write() makes is read, and the parameters
 * are compared with the caps here: a record that came from a dump or a damaged
 * page must not make anybody allocate two terabytes.
 */
static int
store_phc_read(const store_phc_t *phc, store_phc_parts_t *parts)
{
    const char  *p, *end;

    if (phc->len > STORE_PHC_MAX || phc->data[phc->len] != '\0') {
        return STORE_CORRUPT;
    }

    p = phc->data;
    end = p + phc->len;

    p = store_phc_skip(p, "$argon2id$v=19$m=");
    p = store_phc_number(p, STORE_ARGON2_MEMORY_MAX, &parts->params.memory);
    p = store_phc_skip(p, ",t=");
    p = store_phc_number(p, STORE_ARGON2_PASSES_MAX, &parts->params.passes);
    p = store_phc_skip(p, ",p=1$");

    if (p == NULL || !store_hash_params_valid(&parts->params)) {
        return STORE_CORRUPT;
    }

    if ((size_t) (end - p) != STORE_SALT_CHARS + 1 + STORE_TAG_CHARS
        || p[STORE_SALT_CHARS] != '$')
    {
        return STORE_CORRUPT;
    }

    if (store_base64_decode(p, STORE_SALT_CHARS, parts->salt, STORE_SALT_BYTES)
        != STORE_OK)
    {
        return STORE_CORRUPT;
    }

    p += STORE_SALT_CHARS + 1;

    if (store_base64_decode(p, STORE_TAG_CHARS, parts->tag, STORE_TAG_BYTES)
        != STORE_OK)
    {
        return STORE_CORRUPT;
    }

    return STORE_OK;
}


/* Both take and return NULL once something did not match. */
static const char *
store_phc_skip(const char *p, const char *text)
{
    if (p == NULL || strncmp(p, text, strlen(text)) != 0) {
        return NULL;
    }

    return p + strlen(text);
}


static const char *
store_phc_number(const char *p, uint32_t max, uint32_t *n)
{
    *n = 0;

    if (p == NULL || *p < '1' || *p > '9') {
        return NULL;
    }

    while (*p >= '0' && *p <= '9') {
        *n = *n * 10 + (uint32_t) (*p++ - '0');

        if (*n > max) {
            return NULL;
        }
    }

    return p;
}
