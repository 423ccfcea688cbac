/* phc.c: a stored hash is taken exactly when libsodium would verify it, in the
 * one shape that we write and within the caps. */

#include <sodium.h>

#include "fuzz.h"
#include "store.h"


/* "$argon2id$v=19$m=M,t=T,p=1$", 22 characters, '$' and 43: all of them ASCII,
 * because libsodium's base64 takes some bytes above for characters. */
static int
expect(const store_phc_t *phc, store_hash_params_t *params)
{
    int      n;
    char     head[64];
    uint8_t  i;

    for (i = 0; i < phc->len; i++) {
        if (phc->data[i] <= ' ' || phc->data[i] > '~') {
            return 0;
        }
    }

    if (sscanf(phc->data, "$argon2id$v=19$m=%u,t=%u,p=1$", &params->memory,
               &params->passes) != 2)
    {
        return 0;
    }

    if (params->memory < STORE_ARGON2_MEMORY_MIN
        || params->memory > STORE_ARGON2_MEMORY_MAX
        || params->passes < 1 || params->passes > STORE_ARGON2_PASSES_MAX)
    {
        return 0;
    }

    n = snprintf(head, sizeof(head), "$argon2id$v=19$m=%u,t=%u,p=1$",
                 params->memory, params->passes);

    return phc->len == n + 22 + 1 + 43 && phc->data[n + 22] == '$'
           && strlen(phc->data) == phc->len
           && memcmp(phc->data, head, (size_t) n) == 0
           && crypto_pwhash_str_needs_rehash(phc->data, params->passes,
                                             params->memory * 1024UL) == 0;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                  good;
    store_phc_t          phc;
    store_hash_params_t  params = { 0 };

    if (size > STORE_PHC_MAX) {
        return 0;
    }

    memset(&phc, 0, sizeof(phc));
    memcpy(phc.data, data, size);
    phc.len = (uint16_t) size;

    good = expect(&phc, &params);
    fuzz_check(store_password_outdated(&phc, &params) == !good);

    if (!good) {
        fuzz_check(store_password_verify(&phc, "x", 1) == STORE_CORRUPT);
        return 0;
    }

    params.passes++;
    fuzz_check(store_password_outdated(&phc, &params));

    return 0;
}
