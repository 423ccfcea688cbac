/*
 * mint.h: what the two halves of mint share.  Functions return 0, or 1 having
 * said what is wrong.
 */

#ifndef MINT_H_INCLUDED
#define MINT_H_INCLUDED


#include "store.h"


#define MINT_WAIT_MS  10000


typedef struct {
    int64_t      created;
    int64_t      seen;
    uint32_t     idle;
    uint32_t     lifetime;
    const char  *end;
    const char  *address;
    const char  *agent;
} mint_session_t;


/* commands: the arguments after the command's name */
int mint_world(int argc, char **argv);
int mint_bulk(int argc, char **argv);

int mint_options(int argc, char **argv, mint_session_t *options);
int mint_open(const char *path, store_t **store);
int mint_find(store_t *store, const char *realm, const char *login,
    store_user_t *user);
int mint_sign_in(store_t *store, const store_user_t *user,
    const mint_session_t *options, uint8_t id[STORE_ID_BYTES]);
int mint_apply(store_t *store, store_op_t *op, const char *what);
int mint_fail(const char *what, int rc);
int mint_say(const char *why);


#endif /* MINT_H_INCLUDED */
