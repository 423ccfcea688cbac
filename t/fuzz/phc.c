/* phc.c: a stored hash is taken in one spelling and within the caps. */

#include "fuzz.h"
#include "store.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                  n;
    char                 head[64];
    unsigned             memory, passes;
    store_phc_t          phc;
    store_hash_params_t  params;

    if (size > STORE_PHC_MAX) {
        return 0;
    }

    memset(&phc, 0, sizeof(phc));
    memcpy(phc.data, data, size);
    phc.len = (uint16_t) size;
    memory = passes = 0;
    (void) sscanf(phc.data, "$argon2id$v=19$m=%u,t=%u", &memory, &passes);
    params.memory = memory;
    params.passes = passes;

    if (store_password_outdated(&phc, &params)) {
        fuzz_check(size != 0 || store_password_verify(&phc, "", 0) != 0);
        return 0;
    }

    n = snprintf(head, sizeof(head), "$argon2id$v=19$m=%u,t=%u,p=1$", memory,
                 passes);
    fuzz_check(size == (size_t) n + 22 + 1 + 43);
    fuzz_check(memcmp(data, head, (size_t) n) == 0 && data[n + 22] == '$');
    fuzz_check(memory <= STORE_ARGON2_MEMORY_MAX && passes >= 1);
    fuzz_check(passes <= STORE_ARGON2_PASSES_MAX);
    return 0;
}
