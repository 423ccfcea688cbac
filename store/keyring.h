/*
 * keyring.h: the inside of a keyring, for token.c.
 */

#ifndef STORE_KEYRING_H_INCLUDED
#define STORE_KEYRING_H_INCLUDED


#include "sha256.h"
#include "store.h"


/* Allocated with store_pages_get(); read-only once derived. */
struct store_keyring_s {
    unsigned      count;
    uint8_t       ids[STORE_SECRETS_MAX];
    store_hmac_t  hmac[STORE_LABELS][STORE_SECRETS_MAX];
};


/* Number of the secret with this key id, or -1. */
int store_keyring_line(const store_keyring_t *keyring, uint8_t id);


#endif /* STORE_KEYRING_H_INCLUDED */
