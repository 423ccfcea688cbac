#include <string.h>

#include "restore.h"


static int store_restore_store(store_restore_t *restore);
static int store_restore_end(store_restore_t *restore);
static int store_restore_user(store_restore_t *restore);
static int store_restore_user_put(store_restore_t *restore,
    const store_user_t *user);
static int store_restore_session(store_restore_t *restore);
static int store_restore_session_read(store_restore_t *restore,
    store_session_t *s);
static int store_restore_session_owner(store_restore_t *restore,
    store_session_t *s);
static int store_restore_session_put(store_restore_t *restore,
    const store_session_t *s);
static int store_restore_event(store_restore_t *restore);
static int store_restore_time(store_restore_t *restore, const char *name,
    int64_t *time);
static int store_restore_u32(store_restore_t *restore, const char *name,
    uint64_t max, uint32_t *value);
static int store_restore_string(store_restore_t *restore, const char *name,
    uint16_t *len, char *data, size_t max);
static int store_restore_refuse(store_restore_t *restore, int rc,
    const char *wrong);

#define store_restore_text(restore, name, t)                                 \
    store_restore_string(restore, name, &(t)->len, (t)->data,                \
                         sizeof((t)->data) - 1)


int
store_restore_row(store_restore_t *restore, const char *line, size_t n)
{
    int          rc;
    size_t       i, len;
    const char  *name;

    static const struct {
        const char  *name;
        int        (*handler)(store_restore_t *restore);
    } rows[] = {
        { "store", store_restore_store },
        { "user", store_restore_user },
        { "session", store_restore_session },
        { "event", store_restore_event },
        { "end", store_restore_end },
    };

    name = NULL;
    len = 0;

    rc = store_json_parse(&restore->json, line, n);

    if (rc == STORE_OK) {
        rc = store_json_get_string(&restore->json, "record", &name, &len);
    }

    if (rc != STORE_OK) {
        return store_restore_refuse(restore, rc, restore->json.wrong);
    }

    if (restore->ended) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "stands after the end line");
    }

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {

        if (strlen(rows[i].name) != len || memcmp(rows[i].name, name, len)) {
            continue;
        }

        /* the first line, and only that, names the format */

        if (restore->started != (i != 0)) {
            break;
        }

        rc = rows[i].handler(restore);

        if (rc == STORE_MALFORMED && restore->wrong == NULL) {
            restore->wrong = restore->json.wrong;
        }

        return rc;
    }

    return store_restore_refuse(restore, STORE_MALFORMED,
                                restore->started ? "unknown record"
                                                 : "not a dump of a store");
}


static int
store_restore_store(store_restore_t *restore)
{
    int       rc;
    uint8_t   id[STORE_STORE_ID_BYTES];
    uint64_t  format;

    rc = store_json_get_number(&restore->json, "format", UINT64_MAX, &format);
    if (rc != STORE_OK) {
        return rc;
    }

    if (format != STORE_FORMAT) {
        return store_restore_refuse(restore, STORE_VERSION,
                                    "made by another version");
    }

    rc = store_json_get_hex(&restore->json, "id", id, sizeof(id));
    if (rc != STORE_OK) {
        return rc;
    }

    restore->started = 1;

    return store_json_done(&restore->json);
}


static int
store_restore_end(store_restore_t *restore)
{
    int            rc;
    uint64_t       users, sessions, events;
    store_json_t  *json;

    json = &restore->json;
    sessions = 0;
    events = 0;

    rc = store_json_get_number(json, "users", UINT64_MAX, &users);

    if (rc == STORE_OK) {
        rc = store_json_get_number(json, "sessions", UINT64_MAX, &sessions);
    }

    if (rc == STORE_OK) {
        rc = store_json_get_number(json, "events", UINT64_MAX, &events);
    }

    if (rc == STORE_OK) {
        rc = store_json_done(json);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (users != restore->users || sessions != restore->sessions
        || events != restore->events)
    {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "lines are missing or stand twice");
    }

    restore->ended = 1;

    return STORE_OK;
}


static int
store_restore_user(store_restore_t *restore)
{
    int            rc;
    store_json_t  *json;
    store_user_t   u;

    json = &restore->json;
    memset(&u, 0, sizeof(store_user_t));

    if ((rc = store_json_get_hex(json, "id", u.id, STORE_USER_BYTES))
        || (rc = store_restore_text(restore, "realm", &u.realm))
        || (rc = store_restore_text(restore, "login", &u.login))
        || (rc = store_restore_text(restore, "name", &u.name))
        || (rc = store_restore_text(restore, "roles", &u.roles))
        || (rc = store_restore_text(restore, "phc", &u.phc))
        || (rc = store_json_get_number(json, "generation", INT64_MAX,
                                       &u.generation))
        || (rc = store_restore_u32(restore, "flags", STORE_USER_DISABLED,
                                   &u.flags))
        || (rc = store_restore_time(restore, "created", &u.created))
        || (rc = store_restore_time(restore, "changed", &u.changed))
        || (rc = store_restore_time(restore, "signed_in", &u.signed_in))
        || (rc = store_json_done(json)))
    {
        return rc;
    }

    restore->users++;

    rc = store_restore_user_put(restore, &u);

    store_wipe(&u.phc, sizeof(u.phc));

    return rc;
}


/* The checks that USER_CREATE makes. */
static int
store_restore_user_put(store_restore_t *restore, const store_user_t *u)
{
    int             rc;
    size_t          n;
    uint8_t         key[STORE_LOGIN_KEY_MAX];
    MDB_val         value;
    store_op_t     *op;
    store_write_t  *w;

    op = &restore->op;
    op->kind = STORE_OP_USER_CREATE;
    op->now = 1;
    op->realm = u->realm;
    op->login = u->login;
    op->name = u->name;
    op->roles = u->roles;
    op->phc = u->phc;

    if (u->generation == 0 || store_op_check(op) != STORE_OK) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "not a valid user");
    }

    w = &restore->sessions_w;
    n = store_login_key(key, u->realm.data, u->realm.len, u->login.data,
                        u->login.len);

    rc = store_db_get(w->txn, w->db[STORE_USER_BY_LOGIN], key, n, &value);

    if (rc == STORE_NOT_FOUND) {
        rc = store_db_get(w->txn, w->db[STORE_USER], u->id, STORE_USER_BYTES,
                          &value);
    }

    if (rc == STORE_OK) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "the user stands there twice");
    }

    if (rc != STORE_NOT_FOUND) {
        return rc;
    }

    rc = store_user_put(w, u);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_put(w->txn, w->db[STORE_USER_BY_LOGIN], key, n, u->id,
                        STORE_USER_BYTES, 0);
}


static int
store_restore_session(store_restore_t *restore)
{
    int              rc;
    store_session_t  s;

    memset(&s, 0, sizeof(store_session_t));

    rc = store_restore_session_read(restore, &s);
    if (rc != STORE_OK) {
        return rc;
    }

    restore->sessions++;

    if (!(restore->flags & STORE_RESTORE_SESSIONS)) {
        return STORE_OK;
    }

    if (s.end == STORE_END_NONE) {
        rc = store_restore_session_owner(restore, &s);

        if (rc == STORE_NOT_FOUND) {
            return STORE_OK;
        }

        if (rc != STORE_OK) {
            return rc;
        }
    }

    return store_restore_session_put(restore, &s);
}


static int
store_restore_session_read(store_restore_t *restore, store_session_t *s)
{
    int            rc;
    uint32_t       end;
    store_json_t  *json;

    json = &restore->json;

    if ((rc = store_json_get_hex(json, "key", s->key, STORE_KEY_BYTES))
        || (rc = store_json_get_hex(json, "user", s->user, STORE_USER_BYTES))
        || (rc = store_restore_text(restore, "realm", &s->realm))
        || (rc = store_restore_text(restore, "login", &s->login))
        || (rc = store_restore_text(restore, "name", &s->name))
        || (rc = store_restore_text(restore, "roles", &s->roles))
        || (rc = store_json_get_number(json, "generation", INT64_MAX,
                                       &s->generation))
        || (rc = store_restore_time(restore, "created", &s->created))
        || (rc = store_restore_time(restore, "seen", &s->seen))
        || (rc = store_restore_time(restore, "authenticated",
                                    &s->authenticated))
        || (rc = store_restore_u32(restore, "idle", STORE_LIFETIME_MAX,
                                   &s->idle))
        || (rc = store_restore_u32(restore, "lifetime", STORE_LIFETIME_MAX,
                                   &s->lifetime))
        || (rc = store_restore_time(restore, "ended", &s->ended))
        || (rc = store_restore_u32(restore, "end", STORE_END_UNCERTAIN, &end))
        || (rc = store_restore_text(restore, "address", &s->address))
        || (rc = store_restore_text(restore, "agent", &s->agent))
        || (rc = store_json_done(json)))
    {
        return rc;
    }

    s->end = (store_end_t) end;

    if (s->lifetime == 0 || (s->end == STORE_END_NONE) != (s->ended == 0)) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "not a valid session");
    }

    return STORE_OK;
}


/*
 * A dump is not one moment: its sessions were read after its users.  A session
 * whose user is not there, or was changed in between, is left out
 * (STORE_NOT_FOUND); what it copies of the user is taken from the user.
 */
static int
store_restore_session_owner(store_restore_t *restore, store_session_t *s)
{
    int             rc;
    size_t          n;
    store_user_t    user;
    store_write_t  *w;

    w = &restore->sessions_w;

    rc = store_user_read(w, s->user, &user);
    if (rc != STORE_OK) {
        return rc;
    }

    if ((user.flags & STORE_USER_DISABLED)
        || user.generation != s->generation)
    {
        return STORE_NOT_FOUND;
    }

    s->realm = user.realm;
    s->login = user.login;
    s->name = user.name;
    s->roles = user.roles;

    rc = store_live_room(w, s->user, NULL, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    if (n == STORE_USER_SESSIONS_MAX) {
        return store_restore_refuse(restore, STORE_LIMIT,
                                    "too many sessions of one user");
    }

    return STORE_OK;
}


static int
store_restore_session_put(store_restore_t *restore, const store_session_t *s)
{
    int             rc;
    uint8_t         index[STORE_INDEX_BYTES];
    MDB_val         value;
    store_live_t    live;
    store_write_t  *w;

    w = &restore->sessions_w;

    rc = store_db_get(w->txn, w->db[STORE_SESSION], s->key, STORE_KEY_BYTES,
                      &value);

    if (rc == STORE_OK) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "the session stands there twice");
    }

    if (rc != STORE_NOT_FOUND) {
        return rc;
    }

    live.session = *s;
    live.indexed = store_session_expires(s);

    if (s->end != STORE_END_NONE) {
        live.indexed += STORE_TOMBSTONE_SECONDS;
    }

    rc = store_live_put(w, &live);
    if (rc != STORE_OK) {
        return rc;
    }

    store_expiry_key(index, live.indexed, s->key);

    rc = store_db_put(w->txn, w->db[STORE_SESSION_BY_EXPIRY], index,
                      STORE_INDEX_BYTES, NULL, 0, 0);

    if (rc != STORE_OK || s->end != STORE_END_NONE) {
        return rc;
    }

    store_index_key(index, s->user, s->key);

    return store_db_put(w->txn, w->db[STORE_SESSION_BY_USER], index,
                        STORE_INDEX_BYTES, NULL, 0, 0);
}


static int
store_restore_event(store_restore_t *restore)
{
    int            rc;
    uint32_t       type, actor, end;
    store_json_t  *json;
    store_event_t  e;

    json = &restore->json;
    memset(&e, 0, sizeof(store_event_t));

    if ((rc = store_restore_u32(restore, "type", UINT8_MAX, &type))
        || (rc = store_restore_u32(restore, "actor", STORE_BY_CLI, &actor))
        || (rc = store_restore_u32(restore, "end", UINT8_MAX, &end))
        || (rc = store_json_get_integer(json, "reason", &e.reason))
        || (rc = store_restore_time(restore, "time", &e.time))
        || (rc = store_json_get_number(json, "generation", UINT64_MAX,
                                       &e.generation))
        || (rc = store_restore_u32(restore, "count", UINT32_MAX, &e.count))
        || (rc = store_json_get_hex(json, "user", e.user, STORE_USER_BYTES))
        || (rc = store_json_get_hex(json, "key", e.key, STORE_KEY_BYTES))
        || (rc = store_restore_text(restore, "realm", &e.realm))
        || (rc = store_restore_text(restore, "login", &e.login))
        || (rc = store_restore_text(restore, "address", &e.address))
        || (rc = store_restore_text(restore, "agent", &e.agent))
        || (rc = store_json_done(json)))
    {
        return rc;
    }

    e.type = (store_event_type_t) type;
    e.actor = (store_actor_t) actor;
    e.end = (store_end_t) end;

    restore->events++;

    rc = store_event_put(&restore->events_w, &e, 0);

    if (rc == STORE_INVALID) {
        return store_restore_refuse(restore, STORE_MALFORMED,
                                    "not a valid event");
    }

    return rc;
}


static int
store_restore_time(store_restore_t *restore, const char *name, int64_t *time)
{
    int       rc;
    uint64_t  value;

    rc = store_json_get_number(&restore->json, name,
                               (uint64_t) STORE_TIME_MAX, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    *time = (int64_t) value;

    if (*time > restore->newest) {
        restore->newest = *time;
    }

    return STORE_OK;
}


static int
store_restore_u32(store_restore_t *restore, const char *name, uint64_t max,
    uint32_t *value)
{
    int       rc;
    uint64_t  number;

    rc = store_json_get_number(&restore->json, name, max, &number);
    if (rc != STORE_OK) {
        return rc;
    }

    *value = (uint32_t) number;

    return STORE_OK;
}


static int
store_restore_string(store_restore_t *restore, const char *name,
    uint16_t *len, char *data, size_t max)
{
    int          rc;
    size_t       n;
    const char  *bytes;

    rc = store_json_get_string(&restore->json, name, &bytes, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_text_put(len, data, max, bytes, n);

    return rc == STORE_INVALID ? STORE_MALFORMED : rc;
}


static int
store_restore_refuse(store_restore_t *restore, int rc, const char *wrong)
{
    restore->wrong = wrong;

    return rc;
}
