#include <string.h>

#include "write.h"


static int store_live_keys(store_write_t *w,
    const uint8_t user[STORE_USER_BYTES], const uint8_t *after, size_t *n);


int
store_live_get(store_write_t *w, const uint8_t key[STORE_KEY_BYTES],
    store_live_t *live)
{
    int      rc;
    MDB_val  value;

    rc = store_db_get(w->txn, w->db[STORE_SESSION], key, STORE_KEY_BYTES,
                      &value);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_session_decode(key, value.mv_data, value.mv_size,
                                &live->session, &live->indexed);
}


int
store_live_put(store_write_t *w, const store_live_t *live)
{
    int      rc;
    size_t   n;
    uint8_t  buf[STORE_RECORD_MAX];

    rc = store_session_encode(live, buf, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_put(w->txn, w->db[STORE_SESSION], live->session.key,
                        STORE_KEY_BYTES, buf, n, 0);
}


/* The expiry index is left as it is: the sweep finds the tombstone there and
 * moves it. */
int
store_live_end(store_write_t *w, const store_op_t *op, store_live_t *live,
    store_end_t end, store_actor_t actor)
{
    int               rc;
    store_event_t     event;
    store_session_t  *s;

    s = &live->session;
    s->end = end;
    s->ended = op->now;

    rc = store_live_put(w, live);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_live_drop(w, s->user, s->key);
    if (rc != STORE_OK) {
        return rc;
    }

    store_change_start(&event, op, STORE_EVENT_SESSION_END);
    event.actor = actor;
    event.end = end;
    event.generation = s->generation;
    event.realm = s->realm;
    event.login = s->login;
    memcpy(event.user, s->user, STORE_USER_BYTES);
    memcpy(event.key, s->key, STORE_KEY_BYTES);

    return store_change_put(w, &event);
}


int
store_live_drop(store_write_t *w, const uint8_t user[STORE_USER_BYTES],
    const uint8_t key[STORE_KEY_BYTES])
{
    int      rc;
    uint8_t  index[STORE_INDEX_BYTES];

    store_index_key(index, user, key);

    rc = store_db_del(w->txn, w->db[STORE_SESSION_BY_USER], index,
                      STORE_INDEX_BYTES);

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


/* Keys first, records second: a cursor is not kept over a get that may fail. */
int
store_live_room(store_write_t *w, const uint8_t user[STORE_USER_BYTES],
    const uint8_t *after, size_t *n)
{
    int            rc;
    size_t         i;
    uint8_t        key[STORE_KEY_BYTES];
    store_live_t  *live;

    rc = store_live_keys(w, user, after, n);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < *n; i++) {
        live = &w->store->room[i].live;
        memcpy(key, live->session.key, STORE_KEY_BYTES);

        rc = store_live_get(w, key, live);

        if (!store_expected(rc)) {
            return rc;
        }

        /* a record that did not decode has left the key undefined */

        memcpy(live->session.key, key, STORE_KEY_BYTES);

        if (rc == STORE_OK && live->session.end != STORE_END_NONE) {
            rc = STORE_REVOKED;
        }

        w->store->room[i].rc = rc;
    }

    return STORE_OK;
}


static int
store_live_keys(store_write_t *w, const uint8_t user[STORE_USER_BYTES],
    const uint8_t *after, size_t *n)
{
    int          rc;
    uint8_t      from[STORE_INDEX_BYTES] = { 0 };
    MDB_val      k, v;
    MDB_cursor  *cursor;

    *n = 0;
    memcpy(from, user, STORE_USER_BYTES);

    if (after) {
        memcpy(from + STORE_USER_BYTES, after, STORE_KEY_BYTES);
    }

    rc = mdb_cursor_open(w->txn, w->db[STORE_SESSION_BY_USER], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_seek(cursor, from, STORE_INDEX_BYTES, &k, &v);

    if (rc == STORE_OK && after
        && store_db_has_prefix(&k, STORE_INDEX_BYTES, from, STORE_INDEX_BYTES))
    {
        rc = store_db_step(cursor, MDB_NEXT, &k, &v);
    }

    while (rc == STORE_OK && *n < STORE_USER_SESSIONS_MAX
           && store_db_has_prefix(&k, STORE_INDEX_BYTES, user,
                                  STORE_USER_BYTES))
    {
        memcpy(w->store->room[*n].live.session.key,
               (uint8_t *) k.mv_data + STORE_USER_BYTES, STORE_KEY_BYTES);
        (*n)++;

        rc = store_db_step(cursor, MDB_NEXT, &k, &v);
    }

    mdb_cursor_close(cursor);

    return store_expected(rc) ? STORE_OK : rc;
}


/*
 * A record that does not decode lets nobody in, and must not keep the others
 * from being ended: it only loses its entry in the index.
 */
int
store_live_end_all(store_write_t *w, store_op_t *op, const uint8_t *except,
    store_end_t end)
{
    int            rc;
    size_t         i, n;
    uint8_t        after[STORE_KEY_BYTES], *from;
    store_live_t  *live;

    from = NULL;

    do {
        rc = store_live_room(w, op->user, from, &n);

        for (i = 0; rc == STORE_OK && i < n; i++) {
            live = &w->store->room[i].live;
            memcpy(after, live->session.key, STORE_KEY_BYTES);
            from = after;

            if (except && memcmp(except, after, STORE_KEY_BYTES) == 0) {
                continue;
            }

            if (w->store->room[i].rc != STORE_OK) {
                rc = store_live_drop(w, op->user, after);
                continue;
            }

            rc = store_live_end(w, op, live, end, op->actor);
            op->count++;
        }

    } while (rc == STORE_OK && n == STORE_USER_SESSIONS_MAX);

    return rc;
}
