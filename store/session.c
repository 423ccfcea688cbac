#include <string.h>

#include "walk.h"


typedef struct {
    store_session_visit_pt   visit;
    void                    *data;
} store_session_walk_t;

typedef struct {
    store_session_t         *session;
    int                      found;
    uint8_t                  ref[STORE_REF_BYTES];
} store_session_match_t;


static int store_session_ended(const store_session_t *session);
static int store_session_visit(const void *row, void *data);
static int store_session_match(const store_session_t *session, void *data);
static int store_session_read(store_t *store, MDB_txn *txn,
    const uint8_t key[STORE_KEY_BYTES], store_session_t *session);
static int store_session_keys_read(store_t *store, MDB_txn *txn,
    const uint8_t *user,
    uint8_t keys[STORE_USER_SESSIONS_MAX][STORE_KEY_BYTES], size_t *n);


int
store_session_judge(const store_session_t *s, const char *realm, size_t n,
    int64_t now)
{
    if (s->realm.len != n || memcmp(s->realm.data, realm, n) != 0) {
        return STORE_REALM;
    }

    if (s->end != STORE_END_NONE) {
        return store_session_ended(s);
    }

    if (s->created > now + STORE_FUTURE_SECONDS) {
        return STORE_FUTURE;
    }

    if (now >= s->created + s->lifetime) {
        return STORE_EXPIRED;
    }

    if (s->idle && now >= s->seen + s->idle) {
        return STORE_IDLE;
    }

    return STORE_OK;
}


static int
store_session_ended(const store_session_t *s)
{
    switch (s->end) {

    case STORE_END_IDLE:
        return STORE_IDLE;

    case STORE_END_EXPIRED:
        return STORE_EXPIRED;

    case STORE_END_DISABLED:
    case STORE_END_DELETED:
        return STORE_DISABLED;

    default:
        return STORE_REVOKED;
    }
}


int64_t
store_session_expires(const store_session_t *s)
{
    int64_t  absolute, idle;

    absolute = s->created + s->lifetime;
    idle = s->seen + s->idle;

    return s->idle && idle < absolute ? idle : absolute;
}


int
store_session_get(store_t *store, const uint8_t key[STORE_KEY_BYTES],
    store_session_t *session)
{
    int       rc;
    MDB_txn  *txn;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_session_read(store, txn, key, session);

    store_read_end(txn);

    return rc;
}


static int
store_session_read(store_t *store, MDB_txn *txn,
    const uint8_t key[STORE_KEY_BYTES], store_session_t *session)
{
    int      rc;
    MDB_val  value;

    rc = store_db_get(txn, store->sessions->db[STORE_SESSION], key,
                      STORE_KEY_BYTES, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_session_decode(key, value.mv_data, value.mv_size, session,
                                NULL);
}


/* Keys begin with the time, so newest first is backwards. */
static int
store_session_keys_read(store_t *store, MDB_txn *txn, const uint8_t *user,
    uint8_t keys[STORE_USER_SESSIONS_MAX][STORE_KEY_BYTES], size_t *n)
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    rc = store_read_list(store->sessions, txn,
                         store->sessions->db[STORE_SESSION_BY_USER], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_seek_last(cursor, user, STORE_USER_BYTES, STORE_INDEX_BYTES,
                            &k, &v);

    while (rc == STORE_OK && *n < STORE_USER_SESSIONS_MAX
           && store_db_has_prefix(&k, STORE_INDEX_BYTES, user,
                                  STORE_USER_BYTES))
    {
        memcpy(keys[*n], (const uint8_t *) k.mv_data + STORE_USER_BYTES,
               STORE_KEY_BYTES);
        (*n)++;

        rc = store_db_step(cursor, MDB_PREV, &k, &v);
    }

    return store_expected(rc) ? STORE_OK : rc;
}


int
store_session_list(store_t *store, const uint8_t user[STORE_USER_BYTES],
    store_session_t *sessions, size_t *n)
{
    int       rc;
    size_t    i, found, room;
    uint8_t   keys[STORE_USER_SESSIONS_MAX][STORE_KEY_BYTES];
    MDB_txn  *txn;

    room = *n;
    *n = 0;
    found = 0;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_session_keys_read(store, txn, user, keys, &found);

    for (i = 0; i < found && *n < room && store_expected(rc); i++) {
        rc = store_session_read(store, txn, keys[i], &sessions[*n]);

        /* an entry whose record is gone or does not decode is no session */

        if (rc == STORE_OK && sessions[*n].end == STORE_END_NONE) {
            (*n)++;
        }
    }

    store_read_end(txn);

    return store_expected(rc) ? STORE_OK : rc;
}


int
store_session_others(store_t *store, const uint8_t user[STORE_USER_BYTES],
    const uint8_t own[STORE_KEY_BYTES], store_session_visit_pt visit,
    void *data)
{
    int              rc, damaged;
    size_t           i, n;
    uint8_t          keys[STORE_USER_SESSIONS_MAX][STORE_KEY_BYTES];
    MDB_txn         *txn;
    store_session_t  session;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    n = 0;
    damaged = STORE_OK;
    rc = store_session_keys_read(store, txn, user, keys, &n);

    for (i = 0; i < n && rc == STORE_OK; i++) {

        if (memcmp(keys[i], own, STORE_KEY_BYTES) == 0) {
            rc = visit(NULL, data);
            continue;
        }

        rc = store_session_read(store, txn, keys[i], &session);

        if (rc == STORE_OK) {
            rc = visit(&session, data);

        } else if (rc == STORE_NOT_FOUND || rc == STORE_CORRUPT) {
            damaged = rc == STORE_CORRUPT ? rc : damaged;
            rc = STORE_OK;
        }
    }

    store_read_end(txn);

    return rc == STORE_OK ? damaged : rc;
}


int
store_session_each(store_t *store, store_session_visit_pt visit, void *data)
{
    store_walk_t          walk;
    store_session_walk_t  ctx;

    ctx.visit = visit;
    ctx.data = data;

    walk.env = store->sessions;
    walk.db = store->sessions->db[STORE_SESSION];
    walk.key_len = STORE_KEY_BYTES;
    walk.row_size = sizeof(store_session_t);
    walk.decode = store_session_row;
    walk.visit = store_session_visit;
    walk.data = &ctx;

    return store_walk(&walk, NULL);
}


static int
store_session_visit(const void *row, void *data)
{
    store_session_walk_t  *ctx = data;

    return ctx->visit(row, ctx->data);
}


/* A live session goes before an ended one, should two share a ref. */
int
store_session_find(store_t *store, const char *ref, size_t n,
    store_session_t *session)
{
    int                    rc;
    store_session_match_t  match;

    if (n != STORE_REF_CHARS
        || store_base64url_decode(ref, n, match.ref, STORE_REF_BYTES)
           != STORE_OK)
    {
        return STORE_MALFORMED;
    }

    match.session = session;
    match.found = 0;

    rc = store_session_each(store, store_session_match, &match);

    if (match.found) {
        return STORE_OK;
    }

    return rc == STORE_OK ? STORE_NOT_FOUND : rc;
}


static int
store_session_match(const store_session_t *s, void *data)
{
    store_session_match_t  *match = data;

    if (memcmp(s->key + STORE_KEY_BYTES - STORE_REF_BYTES, match->ref,
               STORE_REF_BYTES)
        != 0)
    {
        return 0;
    }

    *match->session = *s;
    match->found = 1;

    /* any value but 0 ends the walk */

    return s->end == STORE_END_NONE;
}
