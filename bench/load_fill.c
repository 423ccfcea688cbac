/*
 * load_fill.c: makes a store with very many sessions.
 *
 * Sessions that are measured have users of their own, so that a page about a
 * user is as long whichever is drawn, and lie evenly among all others, so that
 * drawing from them meets as many pages of the map as drawing from all.
 */

#include <stdlib.h>
#include <string.h>

#include "load.h"


#define LOAD_FILL_SHARED     10        /* sessions of a user of the rest */
#define LOAD_FILL_COPY       100000    /* sessions between copies of the feed,
                                        * of which the store keeps only so
                                        * many */
#define LOAD_FILL_COPY_ROWS  1000


typedef struct {
    store_t          *store;
    store_keyring_t  *keyring;
    FILE             *tokens;
    size_t            count;
    size_t            sample;
    size_t            shared;          /* users of the rest */
    size_t            done;
    size_t            sampled;
    load_score_t      score;
} load_fill_t;


static int load_fill_batch(load_fill_t *fill, store_op_t *ops);
static int load_fill_one(load_fill_t *fill, store_op_t *op);
static int load_fill_copy(store_t *store);


int
load_fill(char **argv)
{
    size_t       copied;
    store_op_t  *ops;
    load_fill_t  fill;

    memset(&fill, 0, sizeof(load_fill_t));
    fill.sample = strtoul(argv[2], NULL, 10);
    fill.count = strtoul(argv[3], NULL, 10);

    if (fill.sample == 0 || fill.sample > fill.count) {
        return load_fail("sample", STORE_INVALID);
    }

    fill.shared = (fill.count - fill.sample + LOAD_FILL_SHARED - 1)
                  / LOAD_FILL_SHARED;
    fill.tokens = fopen(argv[4], "w");
    ops = calloc(STORE_BATCH_MAX, sizeof(store_op_t));

    if (fill.tokens == NULL || ops == NULL) {
        return load_fail(argv[4], STORE_INVALID);
    }

    if (load_keyring(argv[1], &fill.keyring) != 0
        || load_open(argv[0], &fill.store) != 0)
    {
        return 1;
    }

    load_score_start(&fill.score);
    copied = 0;

    while (fill.done < fill.count) {

        if (load_fill_batch(&fill, ops) != 0) {
            return 1;
        }

        if (fill.done < fill.count && fill.done - copied < LOAD_FILL_COPY) {
            continue;
        }

        if (load_fill_copy(fill.store) != 0) {
            return 1;
        }

        copied = fill.done;

        if (fill.count > LOAD_FILL_COPY) {
            fprintf(stderr, "\r%zu of %zu sessions%s", fill.done, fill.count,
                    fill.done < fill.count ? "" : "\n");
        }
    }

    load_score_print(&fill.score);

    return fclose(fill.tokens) == 0 ? 0 : 1;
}


static int
load_fill_batch(load_fill_t *fill, store_op_t *ops)
{
    size_t  n;

    for (n = 0; n < STORE_BATCH_MAX && fill->done < fill->count; n++) {

        if (load_fill_one(fill, &ops[n]) != 0) {
            return 1;
        }

        fill->done++;
    }

    return load_apply(fill->store, ops, n, &fill->score);
}


/* A session is one of the sample where the share of it that is due by now
 * grows by one. */

static int
load_fill_one(load_fill_t *fill, store_op_t *op)
{
    int           n, rc, measured;
    char          login[32];
    size_t        u;
    uint8_t       id[STORE_ID_BYTES];
    store_user_t  user;

    measured = (fill->done + 1) * fill->sample / fill->count > fill->sampled;

    u = measured ? fill->sampled
                 : fill->sample + (fill->done - fill->sampled) % fill->shared;

    n = snprintf(login, sizeof(login), LOAD_LOGIN, u);
    rc = store_user_find(fill->store, "default", 7, login, (size_t) n, &user);

    if (rc != STORE_OK) {
        return load_fail(login, rc);
    }

    if (load_sign_in_op(&user, op, id) != 0) {
        return 1;
    }

    if (!measured) {
        return 0;
    }

    fill->sampled++;

    return load_token(fill->keyring, id, fill->tokens);
}


static int
load_fill_copy(store_t *store)
{
    int  rc, more;

    do {
        rc = store_events_copy(store, LOAD_FILL_COPY_ROWS, &more);

        if (rc != STORE_OK) {
            return load_fail("copy", rc);
        }

    } while (more);

    return 0;
}
