#include <string.h>

#include "write.h"


/* draws of an id before giving up; the second would be one in 2^64 / users */
#define STORE_ID_DRAWS  16


static int store_user_draw(store_write_t *w, uint8_t id[STORE_USER_BYTES]);
static int store_user_password(store_write_t *w, store_op_t *op,
    store_user_t *user);
static int store_user_disable(store_write_t *w, store_op_t *op,
    store_user_t *user);
static int store_user_enable(store_write_t *w, store_op_t *op,
    store_user_t *user);
static int store_user_delete(store_write_t *w, store_op_t *op,
    store_user_t *user);
static int store_user_profile(store_write_t *w, store_op_t *op,
    store_user_t *user, store_event_type_t type);
static int store_user_rewrite(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_event_type_t type);
static int store_user_rewrite_one(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_live_t *live, store_event_type_t type);


int
store_user_read(store_write_t *w, const uint8_t id[STORE_USER_BYTES],
    store_user_t *user)
{
    int      rc;
    MDB_val  value;

    rc = store_db_get(w->txn, w->db[STORE_USER], id, STORE_USER_BYTES, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_user_decode(id, value.mv_data, value.mv_size, user);
}


int
store_user_put(store_write_t *w, const store_user_t *user)
{
    int      rc;
    size_t   n;
    uint8_t  buf[STORE_RECORD_MAX];

    rc = store_user_encode(user, buf, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_put(w->txn, w->db[STORE_USER], user->id, STORE_USER_BYTES,
                        buf, n, 0);
}


int
store_user_create(store_write_t *w, store_op_t *op)
{
    int           rc;
    size_t        n;
    uint8_t       key[STORE_LOGIN_KEY_MAX];
    MDB_val       value;
    store_user_t  user;

    n = store_login_key(key, op->realm.data, op->realm.len, op->login.data,
                        op->login.len);

    rc = store_db_get(w->txn, w->db[STORE_USER_BY_LOGIN], key, n, &value);
    if (rc != STORE_NOT_FOUND) {
        return rc == STORE_OK ? STORE_EXISTS : rc;
    }

    memset(&user, 0, sizeof(store_user_t));

    rc = store_user_draw(w, user.id);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_quota_check(w);
    if (rc != STORE_OK) {
        return rc;
    }

    user.generation = 1;
    user.created = op->now;
    user.changed = op->now;
    user.realm = op->realm;
    user.login = op->login;
    user.name = op->name;
    user.roles = op->roles;
    user.phc = op->phc;

    rc = store_user_put(w, &user);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_put(w->txn, w->db[STORE_USER_BY_LOGIN], key, n, user.id,
                      STORE_USER_BYTES, 0);
    if (rc != STORE_OK) {
        return rc;
    }

    memcpy(op->user, user.id, STORE_USER_BYTES);

    return store_change_user(w, op, &user, STORE_EVENT_USER_CREATED);
}


/* All zero stands for nobody. */
static int
store_user_draw(store_write_t *w, uint8_t id[STORE_USER_BYTES])
{
    int                   rc, i;
    MDB_val               value;
    static const uint8_t  none[STORE_USER_BYTES];

    for (i = 0; i < STORE_ID_DRAWS; i++) {
        rc = store_random(id, STORE_USER_BYTES);
        if (rc != STORE_OK) {
            return rc;
        }

        if (memcmp(id, none, STORE_USER_BYTES) == 0) {
            continue;
        }

        rc = store_db_get(w->txn, w->db[STORE_USER], id, STORE_USER_BYTES,
                          &value);
        if (rc != STORE_OK) {
            return rc == STORE_NOT_FOUND ? STORE_OK : rc;
        }
    }

    return STORE_EXISTS;
}


int
store_user_change(store_write_t *w, store_op_t *op)
{
    int           rc;
    store_user_t  user;

    rc = store_user_read(w, op->user, &user);
    if (rc != STORE_OK) {
        return rc;
    }

    switch (op->kind) {

    case STORE_OP_USER_PASSWORD:
        return store_user_password(w, op, &user);

    case STORE_OP_USER_ROLES:
        user.roles = op->roles;
        return store_user_profile(w, op, &user, STORE_EVENT_USER_ROLES);

    case STORE_OP_USER_NAME:
        user.name = op->name;
        return store_user_profile(w, op, &user, STORE_EVENT_USER_NAME);

    case STORE_OP_USER_DISABLE:
        return store_user_disable(w, op, &user);

    case STORE_OP_USER_ENABLE:
        return store_user_enable(w, op, &user);

    case STORE_OP_USER_DELETE:
        return store_user_delete(w, op, &user);

    default:
        return STORE_INVALID;
    }
}


/* The session in which it was changed lives on under the new generation. */
static int
store_user_password(store_write_t *w, store_op_t *op, store_user_t *user)
{
    int                   rc;
    const uint8_t        *kept;
    static const uint8_t  none[STORE_KEY_BYTES];

    if (op->generation && op->generation != user->generation) {
        return STORE_CONFLICT;
    }

    user->phc = op->phc;
    user->generation++;
    user->changed = op->now;

    kept = memcmp(op->key, none, STORE_KEY_BYTES) ? op->key : NULL;

    rc = store_user_put(w, user);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_change_user(w, op, user, STORE_EVENT_USER_PASSWORD);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_live_end_all(w, op, kept, STORE_END_PASSWORD);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_user_rewrite(w, op, user, STORE_EVENT_USER_PASSWORD);
}


static int
store_user_profile(store_write_t *w, store_op_t *op, store_user_t *user,
    store_event_type_t type)
{
    int  rc;

    user->changed = op->now;

    rc = store_user_put(w, user);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_change_user(w, op, user, type);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_user_rewrite(w, op, user, type);
}


static int
store_user_disable(store_write_t *w, store_op_t *op, store_user_t *user)
{
    int  rc;

    if (!(user->flags & STORE_USER_DISABLED)) {
        user->flags |= STORE_USER_DISABLED;
        user->generation++;
        user->changed = op->now;

        rc = store_user_put(w, user);
        if (rc != STORE_OK) {
            return rc;
        }

        rc = store_change_user(w, op, user, STORE_EVENT_USER_DISABLED);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    return store_live_end_all(w, op, NULL, STORE_END_DISABLED);
}


static int
store_user_enable(store_write_t *w, store_op_t *op, store_user_t *user)
{
    int  rc;

    if (!(user->flags & STORE_USER_DISABLED)) {
        return STORE_OK;
    }

    user->flags &= ~(uint32_t) STORE_USER_DISABLED;
    user->generation++;
    user->changed = op->now;

    rc = store_user_put(w, user);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_change_user(w, op, user, STORE_EVENT_USER_ENABLED);
}


static int
store_user_delete(store_write_t *w, store_op_t *op, store_user_t *user)
{
    int      rc;
    size_t   n;
    uint8_t  key[STORE_LOGIN_KEY_MAX];

    user->generation++;

    rc = store_db_del(w->txn, w->db[STORE_USER], user->id, STORE_USER_BYTES);
    if (rc != STORE_OK) {
        return rc;
    }

    n = store_login_key(key, user->realm.data, user->realm.len,
                        user->login.data, user->login.len);

    rc = store_db_del(w->txn, w->db[STORE_USER_BY_LOGIN], key, n);
    if (rc != STORE_OK && rc != STORE_NOT_FOUND) {
        return rc;
    }

    rc = store_change_user(w, op, user, STORE_EVENT_USER_DELETED);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_live_end_all(w, op, NULL, STORE_END_DELETED);
}


/* Copies what a decision needs of the user into all of its live sessions. */
static int
store_user_rewrite(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_event_type_t type)
{
    int            rc;
    size_t         i, n;
    uint8_t        after[STORE_KEY_BYTES], *from;
    store_live_t  *live;

    from = NULL;

    do {
        rc = store_live_room(w, user->id, from, &n);

        for (i = 0; rc == STORE_OK && i < n; i++) {
            live = &w->store->room[i].live;
            memcpy(after, live->session.key, STORE_KEY_BYTES);
            from = after;

            if (w->store->room[i].rc == STORE_OK) {
                rc = store_user_rewrite_one(w, op, user, live, type);
            }
        }

    } while (rc == STORE_OK && n == STORE_USER_SESSIONS_MAX);

    return rc;
}


static int
store_user_rewrite_one(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_live_t *live, store_event_type_t type)
{
    int  rc;

    live->session.generation = user->generation;
    live->session.name = user->name;
    live->session.roles = user->roles;

    rc = store_live_put(w, live);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_change_session(w, op, &live->session, type);
}
