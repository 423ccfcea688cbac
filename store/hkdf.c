/*
 * Made of our own HMAC: OpenSSL's KDF begins by fetching providers, for which
 * it allocates, and where it gets no memory it crashes.
 */

#include <errno.h>
#include <string.h>

#include "hkdf.h"
#include "sha256.h"
#include "store.h"


int
store_hkdf(const void *secret, size_t n, const void *info, size_t info_len,
    uint8_t *out, size_t out_len)
{
    size_t        have, take;
    uint8_t       i;
    uint8_t       mac[STORE_MAC_BYTES];
    uint8_t       block[STORE_MAC_BYTES + STORE_HKDF_INFO_MAX + 1];
    store_hmac_t  hmac;

    if (info_len > STORE_HKDF_INFO_MAX || out_len > 255 * STORE_MAC_BYTES) {
        return EINVAL;
    }

    /* extract: an empty key is a salt of zeros */

    store_hmac_prepare(&hmac, "", 0);
    store_hmac(&hmac, secret, n, mac);
    store_hmac_prepare(&hmac, mac, sizeof(mac));

    /* expand: each block of the one before, what it is for, and a count */

    have = 0;

    for (i = 1; out_len > 0; i++) {

        if (info_len) {
            memcpy(block + have, info, info_len);
        }

        block[have + info_len] = i;

        store_hmac(&hmac, block, have + info_len + 1, mac);

        take = out_len < sizeof(mac) ? out_len : sizeof(mac);

        memcpy(out, mac, take);
        memcpy(block, mac, sizeof(mac));

        have = sizeof(mac);
        out += take;
        out_len -= take;
    }

    store_wipe(&hmac, sizeof(hmac));
    store_wipe(mac, sizeof(mac));
    store_wipe(block, sizeof(block));

    return STORE_OK;
}
