#include <assert.h>
#include <string.h>

#include "write.h"


static int store_sign_in_user(store_write_t *w, const store_op_t *op,
    store_user_t *user);
static int store_sign_in_old(store_write_t *w, const store_op_t *op,
    store_live_t *old, int *has_old);
static int store_sign_in_limit(store_write_t *w, store_op_t *op, size_t n);
static size_t store_sign_in_oldest(const store_write_t *w, size_t n);
static int store_sign_in_end(store_write_t *w, store_op_t *op, size_t i,
    store_end_t end);
static int store_sign_in_put(store_write_t *w, const store_op_t *op,
    store_user_t *user, store_session_t *session);


/*
 * Everything the sign-in rests on is read again here, since the password was
 * verified in another thread a while ago.
 */
int
store_sign_in(store_write_t *w, store_op_t *op)
{
    int              rc, has_old;
    size_t           n;
    MDB_val          value;
    store_live_t     old;
    store_user_t     user;
    store_session_t  session;

    rc = store_sign_in_user(w, op, &user);
    if (rc != STORE_OK) {
        return rc;
    }

    /* a tombstone takes the key as well as a live session */

    rc = store_db_get(w->txn, w->db[STORE_SESSION], op->key, STORE_KEY_BYTES,
                      &value);
    if (rc != STORE_NOT_FOUND) {
        return rc == STORE_OK ? STORE_EXISTS : rc;
    }

    rc = store_sign_in_old(w, op, &old, &has_old);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_quota_check(w);
    if (rc != STORE_OK) {
        return rc;
    }

    if (has_old) {
        rc = store_live_end(w, op, &old, STORE_END_REPLACED, op->actor);
        if (rc != STORE_OK) {
            return rc;
        }

        op->count++;
    }

    rc = store_live_room(w, op->user, NULL, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_sign_in_limit(w, op, n);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_sign_in_put(w, op, &user, &session);
    if (rc != STORE_OK) {
        return rc;
    }

    if (op->session) {
        *op->session = session;
    }

    return STORE_OK;
}


static int
store_sign_in_user(store_write_t *w, const store_op_t *op, store_user_t *user)
{
    int  rc;

    rc = store_user_read(w, op->user, user);
    if (rc != STORE_OK) {
        return rc;
    }

    if (user->flags & STORE_USER_DISABLED) {
        return STORE_DISABLED;
    }

    if (user->generation != op->generation) {
        return STORE_CONFLICT;
    }

    return STORE_OK;
}


/* The browser's last session, whoever's it was.  Gone, ended or damaged it
 * needs no end and is no reason to refuse. */
static int
store_sign_in_old(store_write_t *w, const store_op_t *op, store_live_t *old,
    int *has_old)
{
    int  rc;

    *has_old = 0;

    if (!op->has_old) {
        return STORE_OK;
    }

    rc = store_live_get(w, op->old, old);

    if (rc == STORE_OK && old->session.end == STORE_END_NONE) {
        *has_old = 1;
    }

    return store_expected(rc) ? STORE_OK : rc;
}


/* Leaves room for one more.  Those that have expired unnoticed go first, then
 * the oldest. */
static int
store_sign_in_limit(store_write_t *w, store_op_t *op, size_t n)
{
    int              rc;
    size_t           i, live, limit;
    store_session_t  *s;

    limit = op->limit && op->limit < STORE_USER_SESSIONS_MAX
            ? op->limit : STORE_USER_SESSIONS_MAX;
    live = n;

    for (i = 0; i < n; i++) {
        s = &w->store->room[i].live.session;

        if (w->store->room[i].rc != STORE_OK) {
            rc = store_live_drop(w, op->user, s->key);

        } else if (op->now >= s->created + s->lifetime) {
            rc = store_sign_in_end(w, op, i, STORE_END_EXPIRED);

        } else if (s->idle && op->now >= s->seen + s->idle) {
            rc = store_sign_in_end(w, op, i, STORE_END_IDLE);

        } else {
            continue;
        }

        if (rc != STORE_OK) {
            return rc;
        }

        w->store->room[i].rc = STORE_REVOKED;
        live--;
    }

    while (live >= limit) {
        i = store_sign_in_oldest(w, n);

        rc = store_sign_in_end(w, op, i, STORE_END_LIMIT);
        if (rc != STORE_OK) {
            return rc;
        }

        w->store->room[i].rc = STORE_REVOKED;
        live--;
    }

    return STORE_OK;
}


/*
 * There is one that is live.  The room is in the order of keys, which start
 * with the low 32 bits of the time: in 2106 they start anew.
 */
static size_t
store_sign_in_oldest(const store_write_t *w, size_t n)
{
    size_t  i, oldest;

    oldest = n;

    for (i = 0; i < n; i++) {
        if (w->store->room[i].rc == STORE_OK
            && (oldest == n || w->store->room[i].live.session.created
                               < w->store->room[oldest].live.session.created))
        {
            oldest = i;
        }
    }

    assert(oldest < n);

    return oldest;
}


static int
store_sign_in_end(store_write_t *w, store_op_t *op, size_t i, store_end_t end)
{
    op->count++;

    return store_live_end(w, op, &w->store->room[i].live, end,
                          STORE_BY_SERVER);
}


static int
store_sign_in_put(store_write_t *w, const store_op_t *op, store_user_t *user,
    store_session_t *session)
{
    int           rc;
    uint8_t       index[STORE_INDEX_BYTES];
    store_live_t  live;

    memset(&live, 0, sizeof(store_live_t));

    memcpy(live.session.key, op->key, STORE_KEY_BYTES);
    memcpy(live.session.user, user->id, STORE_USER_BYTES);
    live.session.generation = user->generation;
    live.session.created = op->now;
    live.session.seen = op->now;
    live.session.authenticated = op->now;
    live.session.idle = op->idle;
    live.session.lifetime = op->lifetime;
    live.session.realm = user->realm;
    live.session.login = user->login;
    live.session.name = user->name;
    live.session.roles = user->roles;
    live.session.address = op->address;
    live.session.agent = op->agent;
    live.indexed = store_session_expires(&live.session);

    rc = store_live_put(w, &live);
    if (rc != STORE_OK) {
        return rc;
    }

    store_index_key(index, user->id, op->key);

    rc = store_db_put(w->txn, w->db[STORE_SESSION_BY_USER], index,
                      STORE_INDEX_BYTES, NULL, 0, 0);
    if (rc != STORE_OK) {
        return rc;
    }

    store_expiry_key(index, live.indexed, op->key);

    rc = store_db_put(w->txn, w->db[STORE_SESSION_BY_EXPIRY], index,
                      STORE_INDEX_BYTES, NULL, 0, 0);
    if (rc != STORE_OK) {
        return rc;
    }

    user->signed_in = op->now;

    if (op->phc.len) {
        user->phc = op->phc;
    }

    rc = store_user_put(w, user);
    if (rc != STORE_OK) {
        return rc;
    }

    *session = live.session;

    return store_change_session(w, op, session, STORE_EVENT_SIGN_IN);
}
