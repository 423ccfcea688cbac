#include <assert.h>
#include <string.h>

#include "hkdf.h"
#include "keyring.h"
#include "pages.h"
#include "secrets.h"


/* The version of the format stands here, so a new one has other keys. */
static const char *const  store_labels[STORE_LABELS] = {
    "cookie/1",
    "csrf/1",
    "flash/1",
    "link/1",
    "pre/1",
    "device/1"
};

#define STORE_INFO_MAX  (sizeof("cookie/1") + STORE_REALM_MAX)


static int store_keyring_fill(store_keyring_t *keyring,
    const store_secret_t *secret, unsigned line, const store_realm_t *realm);


int
store_keyring_derive(const store_secrets_t *secrets, const char *realm,
    store_keyring_t **keyring)
{
    int               rc;
    void             *p;
    unsigned          i;
    store_realm_t     name;
    store_keyring_t  *k;

    rc = store_realm_set(&name, realm, strlen(realm));

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_pages_get(&p, sizeof(store_keyring_t));

    if (rc != STORE_OK) {
        return rc;
    }

    k = p;
    k->count = secrets->count;

    for (i = 0; i < k->count; i++) {
        k->ids[i] = secrets->lines[i].id;

        rc = store_keyring_fill(k, &secrets->lines[i], i, &name);

        if (rc != STORE_OK) {
            store_keyring_free(k);
            return rc;
        }
    }

    *keyring = k;

    return STORE_OK;
}


/*
 * info is label, NUL, realm.  No label holds a NUL, so no pair of label and
 * realm reads like another one.
 */
static int
store_keyring_fill(store_keyring_t *keyring, const store_secret_t *secret,
    unsigned line, const store_realm_t *realm)
{
    int       rc;
    char      info[STORE_INFO_MAX];
    size_t    n;
    uint8_t   key[SHA256_DIGEST_LENGTH];
    unsigned  label;

    for (label = 0; label < STORE_LABELS; label++) {
        n = strlen(store_labels[label]) + 1;

        assert(n + realm->len <= sizeof(info));

        memcpy(info, store_labels[label], n);
        memcpy(info + n, realm->data, realm->len);

        rc = store_hkdf(secret->data, secret->len, info, n + realm->len,
                        key, sizeof(key));
        if (rc != STORE_OK) {
            return rc;
        }

        store_hmac_prepare(&keyring->hmac[label][line], key, sizeof(key));
        store_wipe(key, sizeof(key));
    }

    return STORE_OK;
}


void
store_keyring_free(store_keyring_t *keyring)
{
    store_pages_put(keyring, sizeof(store_keyring_t));
}


void
store_keyring_mac(const store_keyring_t *keyring, store_label_t label,
    unsigned line, const void *data, size_t n, uint8_t mac[STORE_MAC_BYTES])
{
    assert(label < STORE_LABELS && line < keyring->count);

    store_hmac(&keyring->hmac[label][line], data, n, mac);
}


int
store_keyring_line(const store_keyring_t *keyring, uint8_t id)
{
    unsigned  i;

    for (i = 0; i < keyring->count; i++) {
        if (keyring->ids[i] == id) {
            return (int) i;
        }
    }

    return -1;
}
