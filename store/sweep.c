#include <string.h>

#include "write.h"


static int store_sweep_first(store_write_t *w, int64_t now,
    uint8_t index[STORE_INDEX_BYTES]);
static int store_sweep_one(store_write_t *w, store_op_t *op,
    const uint8_t index[STORE_INDEX_BYTES]);
static int store_sweep_live(store_write_t *w, store_op_t *op,
    const uint8_t index[STORE_INDEX_BYTES], store_live_t *live);
static int store_sweep_move(store_write_t *w,
    const uint8_t index[STORE_INDEX_BYTES], int64_t time,
    const uint8_t key[STORE_KEY_BYTES]);


/*
 * Looks at op->max entries of the expiry index that are due, lowest first.
 *
 *   live, and still good       -> moved to its expiry of today
 *   live, idle or too old      -> ended, moved to expiry and 24 hours
 *   tombstone, not that old    -> moved there
 *   tombstone past that        -> deleted
 *
 * Each either leaves the index or moves up in it, so a sweep ends.  op->count
 * is how many entries were handled; as many as op->max: there may be more.
 */
int
store_sweep(store_write_t *w, store_op_t *op)
{
    int      rc;
    uint8_t  index[STORE_INDEX_BYTES];

    while (op->count < op->max) {

        rc = store_sweep_first(w, op->now, index);

        if (rc == STORE_NOT_FOUND) {
            return STORE_OK;
        }

        if (rc == STORE_OK) {
            rc = store_sweep_one(w, op, index);
        }

        if (rc != STORE_OK) {
            return rc;
        }

        op->count++;
    }

    return STORE_OK;
}


static int
store_sweep_first(store_write_t *w, int64_t now,
    uint8_t index[STORE_INDEX_BYTES])
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    rc = mdb_cursor_open(w->txn, w->db[STORE_SESSION_BY_EXPIRY], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_step(cursor, MDB_FIRST, &k, &v);

    if (rc == STORE_OK) {

        if (k.mv_size != STORE_INDEX_BYTES) {
            rc = STORE_CORRUPT;

        } else if (store_be64_get(k.mv_data) > (uint64_t) now) {
            rc = STORE_NOT_FOUND;

        } else {
            memcpy(index, k.mv_data, STORE_INDEX_BYTES);
        }
    }

    mdb_cursor_close(cursor);

    return rc;
}


/* An entry without a record goes.  One whose record does not decode is put
 * off for a day, so that damage does not stop the sweep; store_check() tells
 * of it. */
static int
store_sweep_one(store_write_t *w, store_op_t *op,
    const uint8_t index[STORE_INDEX_BYTES])
{
    int             rc;
    int64_t         last;
    store_live_t    live;
    const uint8_t  *key;

    key = index + 8;

    rc = store_live_get(w, key, &live);

    if (rc == STORE_NOT_FOUND) {
        return store_db_del(w->txn, w->db[STORE_SESSION_BY_EXPIRY], index,
                            STORE_INDEX_BYTES);
    }

    if (rc == STORE_CORRUPT || rc == STORE_VERSION) {
        return store_sweep_move(w, index, op->now + STORE_TOMBSTONE_SECONDS,
                                key);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (live.session.end == STORE_END_NONE) {
        return store_sweep_live(w, op, index, &live);
    }

    last = store_session_expires(&live.session) + STORE_TOMBSTONE_SECONDS;

    if (last > op->now) {
        live.indexed = last;

        rc = store_live_put(w, &live);
        if (rc != STORE_OK) {
            return rc;
        }

        return store_sweep_move(w, index, last, key);
    }

    rc = store_db_del(w->txn, w->db[STORE_SESSION], key, STORE_KEY_BYTES);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_del(w->txn, w->db[STORE_SESSION_BY_EXPIRY], index,
                        STORE_INDEX_BYTES);
}


static int
store_sweep_live(store_write_t *w, store_op_t *op,
    const uint8_t index[STORE_INDEX_BYTES], store_live_t *live)
{
    int               rc;
    int64_t           expires;
    store_end_t       end;
    store_session_t  *s;

    s = &live->session;
    expires = store_session_expires(s);

    if (expires > op->now) {
        live->indexed = expires;

        rc = store_live_put(w, live);
        if (rc != STORE_OK) {
            return rc;
        }

        return store_sweep_move(w, index, expires, s->key);
    }

    end = op->now >= s->created + s->lifetime ? STORE_END_EXPIRED
                                              : STORE_END_IDLE;

    live->indexed = expires + STORE_TOMBSTONE_SECONDS;

    rc = store_live_end(w, op, live, end, op->actor);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_sweep_move(w, index, live->indexed, s->key);
}


static int
store_sweep_move(store_write_t *w, const uint8_t index[STORE_INDEX_BYTES],
    int64_t time, const uint8_t key[STORE_KEY_BYTES])
{
    int      rc;
    uint8_t  moved[STORE_INDEX_BYTES];

    rc = store_db_del(w->txn, w->db[STORE_SESSION_BY_EXPIRY], index,
                      STORE_INDEX_BYTES);
    if (rc != STORE_OK) {
        return rc;
    }

    store_expiry_key(moved, time, key);

    return store_db_put(w->txn, w->db[STORE_SESSION_BY_EXPIRY], moved,
                        STORE_INDEX_BYTES, NULL, 0, 0);
}
