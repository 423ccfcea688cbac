#include <string.h>

#include "check.h"


/* A key in words: its public ref. */
#define STORE_REF(key)  (store_key_ref(key, ref), ref)

typedef struct {
    uint8_t   user[STORE_USER_BYTES];
    unsigned  n;
} store_check_limit_t;

typedef struct {
    uint64_t  last;
} store_check_seq_t;


static int store_check_session(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_session_index(store_checker_t *c,
    const store_live_t *live, const char *ref);
static int store_check_session_user(store_checker_t *c,
    const store_session_t *s, const char *ref);
static int store_check_by_user(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_by_expiry(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_user(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_by_login(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_change(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static const char *store_check_hex(const uint8_t id[STORE_USER_BYTES],
    char text[STORE_USER_BYTES * 2 + 1]);

#define store_check_texts(t)                                                 \
    store_check_text((t)->data, (t)->len, sizeof((t)->data) - 1)


int
store_check_sessions(store_checker_t *c)
{
    int                  rc;
    store_check_limit_t  limit = { 0 };

    rc = store_check_rows(c, c->db[STORE_SESSION], STORE_KEY_BYTES, "session",
                          store_check_session, NULL);

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_SESSION_BY_USER],
                              STORE_INDEX_BYTES, "session_by_user",
                              store_check_by_user, &limit);
    }

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_SESSION_BY_EXPIRY],
                              STORE_INDEX_BYTES, "session_by_expiry",
                              store_check_by_expiry, NULL);
    }

    return rc;
}


static int
store_check_session(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int               rc;
    char              ref[STORE_REF_CHARS + 1];
    store_live_t      live;
    store_session_t  *s;

    (void) state;

    s = &live.session;
    store_key_ref(key->mv_data, ref);

    rc = store_session_decode(key->mv_data, value->mv_data, value->mv_size, s,
                              &live.indexed);
    if (rc != STORE_OK) {
        return store_check_report(c, "session %s: %s", ref,
                                  store_strerror(rc));
    }

    if (!store_check_texts(&s->realm) || !store_check_texts(&s->login)
        || !store_check_texts(&s->name) || !store_check_texts(&s->roles)
        || !store_check_texts(&s->address) || !store_check_texts(&s->agent))
    {
        rc = store_check_report(c, "session %s: a text is not header-safe",
                                ref);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    if (s->lifetime == 0 || s->lifetime > STORE_LIFETIME_MAX) {
        rc = store_check_report(c, "session %s: a lifetime of %u seconds", ref,
                                s->lifetime);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    rc = store_check_session_index(c, &live, ref);

    if (rc != STORE_OK || s->end != STORE_END_NONE) {
        return rc;
    }

    return store_check_session_user(c, s, ref);
}


static int
store_check_session_index(store_checker_t *c, const store_live_t *live,
    const char *ref)
{
    int      rc;
    uint8_t  index[STORE_INDEX_BYTES];
    MDB_val  value;

    store_expiry_key(index, live->indexed, live->session.key);

    rc = store_check_has(c, c->db[STORE_SESSION_BY_EXPIRY], index,
                         sizeof(index), "session %s: not in"
                         " session_by_expiry", ref);
    if (rc != STORE_OK) {
        return rc;
    }

    store_index_key(index, live->session.user, live->session.key);

    if (live->session.end == STORE_END_NONE) {
        return store_check_has(c, c->db[STORE_SESSION_BY_USER], index,
                               sizeof(index), "session %s: live and not in"
                               " session_by_user", ref);
    }

    rc = store_db_get(c->txn, c->db[STORE_SESSION_BY_USER], index,
                      sizeof(index), &value);

    if (rc == STORE_OK) {
        return store_check_report(c, "session %s: ended and still in"
                                  " session_by_user", ref);
    }

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


/* The decision is made of the session alone, so its copies must be right. */
static int
store_check_session_user(store_checker_t *c, const store_session_t *s,
    const char *ref)
{
    int           rc;
    MDB_val       value;
    store_user_t  u;

    rc = store_db_get(c->txn, c->db[STORE_USER], s->user, STORE_USER_BYTES,
                      &value);

    if (rc == STORE_NOT_FOUND) {
        return store_check_report(c, "session %s: live without a user", ref);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (store_user_decode(s->user, value.mv_data, value.mv_size, &u)
        != STORE_OK)
    {
        /* reported where users are walked */
        return STORE_OK;
    }

    if (u.flags & STORE_USER_DISABLED) {
        return store_check_report(c, "session %s: live and its user is"
                                  " disabled", ref);
    }

    if (u.generation != s->generation) {
        return store_check_report(c, "session %s: live with generation %llu of"
                                  " its user, who has %llu", ref,
                                  (unsigned long long) s->generation,
                                  (unsigned long long) u.generation);
    }

    if (strcmp(u.realm.data, s->realm.data) != 0
        || strcmp(u.login.data, s->login.data) != 0
        || strcmp(u.name.data, s->name.data) != 0
        || strcmp(u.roles.data, s->roles.data) != 0)
    {
        return store_check_report(c, "session %s: realm, login, name or roles"
                                  " are not those of its user", ref);
    }

    return STORE_OK;
}


static int
store_check_by_user(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int                   rc;
    char                  ref[STORE_REF_CHARS + 1];
    char                  id[STORE_USER_BYTES * 2 + 1];
    MDB_val               found;
    const uint8_t        *user, *session;
    store_session_t       s;
    store_check_limit_t  *limit = state;

    (void) value;

    user = key->mv_data;
    session = user + STORE_USER_BYTES;

    if (memcmp(limit->user, user, STORE_USER_BYTES) != 0) {
        memcpy(limit->user, user, STORE_USER_BYTES);
        limit->n = 0;
    }

    if (++limit->n == STORE_USER_SESSIONS_MAX + 1) {
        rc = store_check_report(c, "user %s: more than %d live sessions",
                                store_check_hex(user, id),
                                STORE_USER_SESSIONS_MAX);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    rc = store_db_get(c->txn, c->db[STORE_SESSION], session, STORE_KEY_BYTES,
                      &found);

    if (rc == STORE_NOT_FOUND) {
        return store_check_report(c, "session_by_user: no session %s",
                                  STORE_REF(session));
    }

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_session_decode(session, found.mv_data, found.mv_size, &s, NULL);

    if (rc == STORE_OK && memcmp(s.user, user, STORE_USER_BYTES) != 0) {
        return store_check_report(c, "session_by_user: session %s belongs to"
                                  " another user", STORE_REF(session));
    }

    return STORE_OK;
}


static int
store_check_by_expiry(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int             rc;
    char            ref[STORE_REF_CHARS + 1];
    int64_t         indexed;
    MDB_val         found;
    const uint8_t  *session;
    store_session_t  s;

    (void) value;
    (void) state;

    session = (const uint8_t *) key->mv_data + 8;

    rc = store_db_get(c->txn, c->db[STORE_SESSION], session, STORE_KEY_BYTES,
                      &found);

    if (rc == STORE_NOT_FOUND) {
        return store_check_report(c, "session_by_expiry: no session %s",
                                  STORE_REF(session));
    }

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_session_decode(session, found.mv_data, found.mv_size, &s,
                              &indexed);

    if (rc == STORE_OK
        && (uint64_t) indexed != store_be64_get(key->mv_data))
    {
        return store_check_report(c, "session_by_expiry: session %s stands"
                                  " there under a wrong time",
                                  STORE_REF(session));
    }

    return STORE_OK;
}


int
store_check_users(store_checker_t *c)
{
    int  rc;

    rc = store_check_rows(c, c->db[STORE_USER], STORE_USER_BYTES, "user",
                          store_check_user, NULL);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_check_rows(c, c->db[STORE_USER_BY_LOGIN], 0, "user_by_login",
                            store_check_by_login, NULL);
}


static int
store_check_user(store_checker_t *c, const MDB_val *key, const MDB_val *value,
    void *state)
{
    int           rc;
    char          id[STORE_USER_BYTES * 2 + 1];
    size_t        n;
    uint8_t       login[STORE_LOGIN_KEY_MAX];
    MDB_val       found;
    store_user_t  u;

    (void) state;

    (void) store_check_hex(key->mv_data, id);

    rc = store_user_decode(key->mv_data, value->mv_data, value->mv_size, &u);
    if (rc != STORE_OK) {
        return store_check_report(c, "user %s: %s", id, store_strerror(rc));
    }

    if (!store_check_texts(&u.realm) || !store_check_texts(&u.login)
        || !store_check_texts(&u.name) || !store_check_texts(&u.roles)
        || !store_check_texts(&u.phc) || u.login.len == 0
        || u.realm.len == 0)
    {
        rc = store_check_report(c, "user %s: a text is missing or not"
                                " header-safe", id);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    n = store_login_key(login, u.realm.data, u.realm.len, u.login.data,
                        u.login.len);

    rc = store_db_get(c->txn, c->db[STORE_USER_BY_LOGIN], login, n, &found);

    if (rc == STORE_NOT_FOUND
        || (rc == STORE_OK
            && (found.mv_size != STORE_USER_BYTES
                || memcmp(found.mv_data, u.id, STORE_USER_BYTES) != 0)))
    {
        return store_check_report(c, "user %s: not in user_by_login", id);
    }

    return rc;
}


static int
store_check_by_login(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int           rc;
    char          id[STORE_USER_BYTES * 2 + 1];
    size_t        n;
    uint8_t       login[STORE_LOGIN_KEY_MAX];
    MDB_val       found;
    store_user_t  u;

    (void) state;

    if (value->mv_size != STORE_USER_BYTES) {
        return store_check_report(c, "user_by_login: an entry of %zu bytes",
                                  value->mv_size);
    }

    (void) store_check_hex(value->mv_data, id);

    rc = store_db_get(c->txn, c->db[STORE_USER], value->mv_data,
                      STORE_USER_BYTES, &found);

    if (rc == STORE_NOT_FOUND) {
        return store_check_report(c, "user_by_login: no user %s", id);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (store_user_decode(value->mv_data, found.mv_data, found.mv_size, &u)
        != STORE_OK)
    {
        return STORE_OK;
    }

    n = store_login_key(login, u.realm.data, u.realm.len, u.login.data,
                        u.login.len);

    if (key->mv_size != n || memcmp(key->mv_data, login, n) != 0) {
        return store_check_report(c, "user_by_login: user %s has another"
                                  " login", id);
    }

    return STORE_OK;
}


int
store_check_changes(store_checker_t *c)
{
    store_check_seq_t  seq = { 0 };

    return store_check_rows(c, c->db[STORE_CHANGE], 8, "change",
                            store_check_change, &seq);
}


static int
store_check_change(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int                 rc;
    uint64_t            at;
    store_event_t       e;
    store_check_seq_t  *seq = state;

    at = store_be64_get(key->mv_data);

    if (seq->last && at != seq->last + 1) {
        rc = store_check_report(c, "change: rows %llu to %llu are missing",
                                (unsigned long long) seq->last + 1,
                                (unsigned long long) at - 1);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    seq->last = at;

    rc = store_event_decode(at, value->mv_data, value->mv_size, &e);
    if (rc != STORE_OK) {
        return store_check_report(c, "change %llu: %s",
                                  (unsigned long long) at, store_strerror(rc));
    }

    return STORE_OK;
}


static const char *
store_check_hex(const uint8_t id[STORE_USER_BYTES],
    char text[STORE_USER_BYTES * 2 + 1])
{
    size_t  i;

    for (i = 0; i < STORE_USER_BYTES; i++) {
        (void) snprintf(text + i * 2, 3, "%02x", id[i]);
    }

    return text;
}
