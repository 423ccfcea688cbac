#include <string.h>

#include "write.h"


/*
 * Raises seen and nothing else.  A session that is over, even if no sweep has
 * noticed yet, stays over.
 */
int
store_touch(store_write_t *w, store_op_t *op)
{
    int               rc;
    store_live_t      live;
    store_session_t  *s;

    s = &live.session;

    rc = store_live_get(w, op->key, &live);
    if (rc != STORE_OK) {
        return rc;
    }

    if (s->end != STORE_END_NONE) {
        return STORE_REVOKED;
    }

    if (op->now >= s->created + s->lifetime) {
        return STORE_EXPIRED;
    }

    if (s->idle && op->now >= s->seen + s->idle) {
        return STORE_IDLE;
    }

    if (op->now <= s->seen) {
        return STORE_OK;
    }

    s->seen = op->now;

    return store_live_put(w, &live);
}


int
store_end(store_write_t *w, store_op_t *op)
{
    int           rc;
    store_live_t  live;

    rc = store_live_get(w, op->key, &live);
    if (rc != STORE_OK) {
        return rc;
    }

    if (live.session.end != STORE_END_NONE) {
        return STORE_NOT_FOUND;
    }

    rc = store_live_end(w, op, &live, op->end, op->actor);
    if (rc != STORE_OK) {
        return rc;
    }

    op->count = 1;

    return STORE_OK;
}


/* A ref is the end of a key; only this user's sessions are looked through, so
 * that nobody ends another's. */
int
store_end_ref(store_write_t *w, store_op_t *op)
{
    int            rc;
    size_t         i, n;
    uint8_t        ref[STORE_REF_BYTES];
    store_live_t  *live;

    rc = store_base64url_decode(op->ref, strnlen(op->ref, sizeof(op->ref)),
                                ref, STORE_REF_BYTES);
    if (rc != STORE_OK) {
        return STORE_NOT_FOUND;
    }

    rc = store_live_room(w, op->user, NULL, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < n; i++) {
        live = &w->store->room[i].live;

        if (w->store->room[i].rc != STORE_OK
            || memcmp(live->session.key + STORE_KEY_BYTES - STORE_REF_BYTES,
                      ref, STORE_REF_BYTES)
               != 0)
        {
            continue;
        }

        rc = store_live_end(w, op, live, op->end, op->actor);
        if (rc != STORE_OK) {
            return rc;
        }

        op->count = 1;

        return STORE_OK;
    }

    return STORE_NOT_FOUND;
}


int
store_end_user(store_write_t *w, store_op_t *op)
{
    const uint8_t  *except;

    except = op->kind == STORE_OP_END_OTHERS ? op->key : NULL;

    return store_live_end_all(w, op, except, op->end);
}
