/* token.c: a token verifies exactly when no bit of it was changed. */
#include <unistd.h>
#include "fuzz.h"
#include "store.h"

static store_keyring_t  *ring;

static void
ring_open(void)
{
    char              file[64], why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;

    snprintf(file, sizeof(file), "/tmp/fuzz-token-%d", (int) getpid());
    fuzz_check(store_secrets_random_create(file, why) == STORE_OK);
    fuzz_check(store_secrets_read(file, &secrets, why) == STORE_OK);
    unlink(file);
    fuzz_check(store_keyring_derive(secrets, "default", &ring) == STORE_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char     good[STORE_TOKEN_CHARS], text[STORE_TOKEN_CHARS];
    size_t   i = 0;
    uint8_t  id[STORE_ID_BYTES] = "0123456789abcdefghij";

    if (ring == NULL) {
        ring_open();
    }
    fuzz_check(store_token_verify(ring, (const char *) data, size, id, NULL));
    store_token_sign(ring, id, good);
    memcpy(text, good, sizeof(text));
    for ( ; i + 1 < size; i += 2) {
        text[data[i] % sizeof(text)] ^= (char) data[i + 1];
    }
    fuzz_check(!store_token_verify(ring, text, sizeof(text), id, NULL)
               == !memcmp(text, good, sizeof(text)));
    return 0;
}
