#include <string.h>

#include "walk.h"


typedef struct {
    store_user_visit_pt   visit;
    void                 *data;
} store_user_walk_t;


static int store_user_visit(const void *row, void *data);


int
store_user_get(store_t *store, const uint8_t id[STORE_USER_BYTES],
    store_user_t *user)
{
    int       rc;
    MDB_txn  *txn;
    MDB_val   value;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_get(txn, store->sessions->db[STORE_USER], id,
                      STORE_USER_BYTES, &value);

    if (rc == STORE_OK) {
        rc = store_user_decode(id, value.mv_data, value.mv_size, user);
    }

    store_read_end(txn);

    return rc;
}


int
store_user_find(store_t *store, const char *realm, size_t realm_len,
    const char *login, size_t login_len, store_user_t *user)
{
    int             rc;
    size_t          n;
    uint8_t         id[STORE_USER_BYTES], key[STORE_LOGIN_KEY_MAX];
    MDB_txn        *txn;
    MDB_val         value;
    const MDB_dbi  *db;

    if (realm_len > STORE_REALM_MAX || login_len > STORE_LOGIN_MAX) {
        return STORE_NOT_FOUND;
    }

    n = store_login_key(key, realm, realm_len, login, login_len);
    db = store->sessions->db;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_get(txn, db[STORE_USER_BY_LOGIN], key, n, &value);
    if (rc != STORE_OK) {
        goto done;
    }

    if (value.mv_size != STORE_USER_BYTES) {
        rc = STORE_CORRUPT;
        goto done;
    }

    memcpy(id, value.mv_data, STORE_USER_BYTES);

    rc = store_db_get(txn, db[STORE_USER], id, STORE_USER_BYTES, &value);

    if (rc == STORE_NOT_FOUND) {
        rc = STORE_CORRUPT;
    }

    if (rc == STORE_OK) {
        rc = store_user_decode(id, value.mv_data, value.mv_size, user);
    }

done:

    store_read_end(txn);

    return rc;
}


int
store_user_each(store_t *store, store_user_visit_pt visit, void *data)
{
    store_walk_t       walk;
    store_user_walk_t  ctx;

    ctx.visit = visit;
    ctx.data = data;

    walk.env = store->sessions;
    walk.db = store->sessions->db[STORE_USER];
    walk.key_len = STORE_USER_BYTES;
    walk.row_size = sizeof(store_user_t);
    walk.decode = store_user_row;
    walk.visit = store_user_visit;
    walk.data = &ctx;

    return store_walk(&walk, NULL);
}


static int
store_user_visit(const void *row, void *data)
{
    store_user_walk_t  *ctx = data;

    return ctx->visit(row, ctx->data);
}
