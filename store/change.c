#include <string.h>

#include "walk.h"
#include "write.h"


typedef struct {
    store_event_visit_pt   visit;
    void                  *data;
} store_change_walk_t;


static int store_change_visit(const void *row, void *data);


void
store_change_start(store_event_t *event, const store_op_t *op,
    store_event_type_t type)
{
    memset(event, 0, sizeof(store_event_t));

    event->type = type;
    event->actor = op->actor;
    event->time = op->now;
    event->count = 1;
    event->address = op->address;
    event->agent = op->agent;
}


int
store_change_put(store_write_t *w, store_event_t *event)
{
    int      rc;
    size_t   n;
    uint8_t  key[8], buf[STORE_RECORD_MAX];

    event->seq = w->last + 1;

    rc = store_event_encode(event, buf, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    store_be64_put(key, event->seq);

    rc = store_db_put(w->txn, w->db[STORE_CHANGE], key, sizeof(key), buf, n,
                      MDB_APPEND);
    if (rc != STORE_OK) {
        return rc;
    }

    w->last = event->seq;

    return STORE_OK;
}


int
store_change_user(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_event_type_t type)
{
    store_event_t  event;

    store_change_start(&event, op, type);
    event.generation = user->generation;
    event.realm = user->realm;
    event.login = user->login;
    memcpy(event.user, user->id, STORE_USER_BYTES);

    return store_change_put(w, &event);
}


int
store_change_session(store_write_t *w, const store_op_t *op,
    const store_session_t *session, store_event_type_t type)
{
    store_event_t  event;

    store_change_start(&event, op, type);
    event.generation = session->generation;
    event.realm = session->realm;
    event.login = session->login;
    memcpy(event.user, session->user, STORE_USER_BYTES);
    memcpy(event.key, session->key, STORE_KEY_BYTES);

    return store_change_put(w, &event);
}


/* The user's own row stands before it and says the same without a key. */
int
store_change_rewritten(const store_event_t *event)
{
    static const uint8_t  none[STORE_KEY_BYTES];

    if (memcmp(event->key, none, STORE_KEY_BYTES) == 0) {
        return 0;
    }

    return event->type == STORE_EVENT_USER_ROLES
           || event->type == STORE_EVENT_USER_NAME
           || event->type == STORE_EVENT_USER_PASSWORD;
}


int
store_change_each(store_t *store, uint64_t after, uint64_t *first,
    store_event_visit_pt visit, void *data)
{
    int                  rc;
    uint8_t              from[8];
    MDB_txn             *txn;
    store_walk_t         walk;
    store_change_walk_t  ctx;

    if (first) {
        rc = store_read_begin(store->sessions, &txn);
        if (rc != STORE_OK) {
            return rc;
        }

        rc = store_db_first(txn, store->sessions->db[STORE_CHANGE], first);

        store_read_end(txn);

        if (rc != STORE_OK) {
            return rc;
        }

        /* an empty feed has lost nothing */

        if (*first == 0) {
            *first = 1;
        }
    }

    ctx.visit = visit;
    ctx.data = data;

    walk.env = store->sessions;
    walk.db = store->sessions->db[STORE_CHANGE];
    walk.key_len = sizeof(from);
    walk.row_size = sizeof(store_event_t);
    walk.decode = store_event_row;
    walk.visit = store_change_visit;
    walk.data = &ctx;

    store_be64_put(from, after);

    return store_walk(&walk, from);
}


static int
store_change_visit(const void *row, void *data)
{
    store_change_walk_t  *ctx = data;

    return ctx->visit(row, ctx->data);
}
