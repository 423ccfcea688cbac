/*
 * load.h: what the commands of load share.  Functions return 0, or 1 having
 * said what is wrong.
 */

#ifndef LOAD_H_INCLUDED
#define LOAD_H_INCLUDED


#include <stdio.h>

#include "store.h"


/* logins of one length, so that pages about users have one length */
#define LOAD_LOGIN  "u%07zu"


typedef struct {
    uint64_t  ops;
    uint64_t  commits;
    double    started;
    double    cpu;
} load_score_t;


/* a command: its arguments, as many as it takes */
int load_fill(char **argv);

int load_open(const char *path, store_t **store);
int load_keyring(const char *keys, store_keyring_t **keyring);

/* The sign-in of a user, as an operation, and the id of its session. */
int load_sign_in_op(const store_user_t *user, store_op_t *op,
    uint8_t id[STORE_ID_BYTES]);

/* Writes the token of a session as a line. */
int load_token(const store_keyring_t *keyring,
    const uint8_t id[STORE_ID_BYTES], FILE *tokens);

/* One commit; every operation of it must succeed. */
int load_apply(store_t *store, store_op_t *ops, size_t n,
    load_score_t *score);

void load_score_start(load_score_t *score);
void load_score_print(const load_score_t *score);
int load_fail(const char *what, int rc);


#endif /* LOAD_H_INCLUDED */
