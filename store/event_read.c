#include <string.h>

#include "walk.h"
#include "write.h"


/* rows of one user that a list looks at, whatever it is asked for */
#define STORE_EVENT_LIST_ROWS  1000


typedef struct {
    store_event_visit_pt   visit;
    void                  *data;
} store_event_walk_t;


static int store_event_list_read(store_t *store, MDB_txn *txn,
    const uint8_t *user, unsigned types, store_event_t *events, size_t *n);
static int store_event_visit(const void *row, void *data);
static int store_event_oldest(store_write_t *w, int64_t before,
    uint8_t index[STORE_EVENT_INDEX_BYTES]);
static int store_event_delete(store_write_t *w,
    const uint8_t index[STORE_EVENT_INDEX_BYTES]);
static int store_event_ungroup(store_write_t *w, const store_event_t *event);


int
store_event_list(store_t *store, const uint8_t user[STORE_USER_BYTES],
    unsigned types, store_event_t *events, size_t *n)
{
    int       rc;
    MDB_txn  *txn;

    rc = store_read_begin(store->events, &txn);
    if (rc != STORE_OK) {
        *n = 0;
        return rc;
    }

    rc = store_event_list_read(store, txn, user, types, events, n);

    store_read_end(txn);

    return rc;
}


static int
store_event_list_read(store_t *store, MDB_txn *txn, const uint8_t *user,
    unsigned types, store_event_t *events, size_t *n)
{
    int             rc;
    size_t          room, looked;
    MDB_val         k, v;
    MDB_cursor     *cursor;
    const MDB_dbi  *db;
    const uint8_t  *seq;

    db = store->events->db;
    room = *n;
    *n = 0;

    rc = store_read_list(store->events, txn, db[STORE_EVENT_BY_USER], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_seek_last(cursor, user, STORE_USER_BYTES,
                            STORE_EVENT_INDEX_BYTES, &k, &v);

    for (looked = 0; looked < STORE_EVENT_LIST_ROWS; looked++) {

        if (rc != STORE_OK || *n == room
            || !store_db_has_prefix(&k, STORE_EVENT_INDEX_BYTES, user,
                                    STORE_USER_BYTES))
        {
            break;
        }

        seq = (const uint8_t *) k.mv_data + STORE_USER_BYTES;

        rc = store_db_get(txn, db[STORE_EVENT], seq, 8, &v);

        if (rc == STORE_OK) {
            rc = store_event_decode(store_be64_get(seq), v.mv_data, v.mv_size,
                                    &events[*n]);
        }

        if (rc == STORE_OK
            && (types == 0 || (types & (1U << events[*n].type))))
        {
            (*n)++;

        } else if (!store_expected(rc)) {
            break;
        }

        rc = store_db_step(cursor, MDB_PREV, &k, &v);
    }

    return store_expected(rc) ? STORE_OK : rc;
}


int
store_event_each(store_t *store, uint64_t after, store_event_visit_pt visit,
    void *data)
{
    uint8_t             from[8];
    store_walk_t        walk;
    store_event_walk_t  ctx;

    ctx.visit = visit;
    ctx.data = data;

    walk.env = store->events;
    walk.db = store->events->db[STORE_EVENT];
    walk.key_len = sizeof(from);
    walk.row_size = sizeof(store_event_t);
    walk.decode = store_event_row;
    walk.visit = store_event_visit;
    walk.data = &ctx;

    store_be64_put(from, after);

    return store_walk(&walk, from);
}


static int
store_event_visit(const void *row, void *data)
{
    store_event_walk_t  *ctx = data;

    return ctx->visit(row, ctx->data);
}


int
store_events_trim(store_t *store, int64_t before, size_t max)
{
    int            rc;
    size_t         i;
    uint8_t        index[STORE_EVENT_INDEX_BYTES];
    store_write_t  w;

    rc = store_events_begin(store, &w);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < max; i++) {
        rc = store_event_oldest(&w, before, index);

        if (rc == STORE_NOT_FOUND) {
            break;
        }

        if (rc == STORE_OK) {
            rc = store_event_delete(&w, index);
        }

        if (rc != STORE_OK) {
            mdb_txn_abort(w.txn);
            return rc;
        }
    }

    return store_events_commit(&w);
}


static int
store_event_oldest(store_write_t *w, int64_t before,
    uint8_t index[STORE_EVENT_INDEX_BYTES])
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    rc = mdb_cursor_open(w->txn, w->db[STORE_EVENT_BY_TIME], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_step(cursor, MDB_FIRST, &k, &v);

    if (rc == STORE_OK) {

        if (k.mv_size != STORE_EVENT_INDEX_BYTES) {
            rc = STORE_CORRUPT;

        } else if (before <= 0
                   || store_be64_get(k.mv_data) >= (uint64_t) before)
        {
            rc = STORE_NOT_FOUND;

        } else {
            memcpy(index, k.mv_data, STORE_EVENT_INDEX_BYTES);
        }
    }

    mdb_cursor_close(cursor);

    return rc;
}


/* A row that does not decode cannot name its other entries; they stay, and
 * readers step over them. */
static int
store_event_delete(store_write_t *w,
    const uint8_t index[STORE_EVENT_INDEX_BYTES])
{
    int             rc;
    uint8_t         user[STORE_EVENT_INDEX_BYTES];
    MDB_val         value;
    const uint8_t  *seq;
    store_event_t   event;

    seq = index + 8;

    rc = store_db_get(w->txn, w->db[STORE_EVENT], seq, 8, &value);

    if (rc == STORE_OK) {
        rc = store_event_decode(store_be64_get(seq), value.mv_data,
                                value.mv_size, &event);
    }

    if (rc == STORE_OK) {
        store_event_key(user, event.user, event.seq);

        rc = store_db_del(w->txn, w->db[STORE_EVENT_BY_USER], user,
                          sizeof(user));

        if (store_expected(rc)) {
            rc = store_event_ungroup(w, &event);
        }
    }

    if (store_expected(rc)) {
        rc = store_db_del(w->txn, w->db[STORE_EVENT], seq, 8);
    }

    if (!store_expected(rc)) {
        return rc;
    }

    return store_db_del(w->txn, w->db[STORE_EVENT_BY_TIME], index,
                        STORE_EVENT_INDEX_BYTES);
}


static int
store_event_ungroup(store_write_t *w, const store_event_t *event)
{
    int      rc;
    uint8_t  group[STORE_GROUP_BYTES];
    MDB_val  value;

    store_event_group(event, group);

    rc = store_db_get(w->txn, w->db[STORE_EVENT_BY_GROUP], group,
                      sizeof(group), &value);
    if (rc != STORE_OK) {
        return rc;
    }

    if (value.mv_size != 8 || store_be64_get(value.mv_data) != event->seq) {
        return STORE_NOT_FOUND;
    }

    return store_db_del(w->txn, w->db[STORE_EVENT_BY_GROUP], group,
                        sizeof(group));
}
