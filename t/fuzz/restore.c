/* restore.c: the lines of a dump.  What is taken is what jansson reads, with
 * the members that its kind of record has and within their ranges; it stands
 * in the store like that, and a check of the store finds nothing wrong. */

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include <jansson.h>

#include "check.h"
#include "fuzz.h"
#include "open.h"
#include "restore.h"


/* Members behind "record".  s: a string of at most so many bytes; x: that many
 * bytes in hex; n: a number up to that; i: an int32_t. */
static const char *const  users[] = {
    "x8 id", "s32 realm", "s128 login", "s128 name", "s256 roles", "s192 phc",
    "n9223372036854775807 generation", "n1 flags", "n281474976710656 created",
    "n281474976710656 changed", "n281474976710656 signed_in", NULL
};
static const char *const  sessions[] = {
    "x16 key", "x8 user", "s32 realm", "s128 login", "s128 name",
    "s256 roles", "n9223372036854775807 generation",
    "n281474976710656 created", "n281474976710656 seen",
    "n281474976710656 authenticated", "n34560000 idle", "n34560000 lifetime",
    "n281474976710656 ended", "n31 end", "s45 address", "s256 agent", NULL
};
static const char *const  events[] = {
    "n255 type", "n2 actor", "n255 end", "i reason", "n281474976710656 time",
    "n18446744073709551615 generation", "n4294967295 count", "x8 user",
    "x16 key", "s32 realm", "s128 login", "s45 address", "s256 agent", NULL
};
static const char *const  stores[] = {
    "n1 format", "x16 id", NULL
};
static const char *const  ends[] = {
    "n18446744073709551615 users", "n18446744073709551615 sessions",
    "n18446744073709551615 events", NULL
};

static store_t          *store;
static store_write_t     sessions_w, events_w;
static store_restore_t   restore;


/* A store in a folder that is gone again before the first input comes. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    DIR              *dir;
    char              path[] = "/tmp/fuzz-restore-XXXXXX", name[300];
    char              why[STORE_WHY_CHARS];
    struct dirent    *entry;
    store_options_t   options = { 0 };

    (void) argc;
    (void) argv;

    fuzz_check(mkdtemp(path) != NULL);
    options.path = path;
    options.map_size = (size_t) 64 << 20;
    fuzz_check(store_init(&options, (uid_t) -1, (gid_t) -1, why) == STORE_OK);
    fuzz_check(store_open(&options, &store, why) == STORE_OK);

    dir = opendir(path);
    fuzz_check(dir != NULL);

    while ((entry = readdir(dir)) != NULL) {
        (void) snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        (void) unlink(name);
    }

    (void) closedir(dir);
    fuzz_check(rmdir(path) == 0);

    sessions_w.store = store;
    sessions_w.env = store->sessions;
    sessions_w.db = store->sessions->db;
    fuzz_check(store_events_begin(store, &events_w) == STORE_OK);
    mdb_txn_abort(events_w.txn);

    return 0;
}


static int
fits(const json_t *value, const char *member)
{
    char         kind;
    size_t       max;
    json_int_t   n;

    kind = *member;
    max = strtoull(member + 1, NULL, 10);

    switch (kind) {

    case 's':
        return json_is_string(value) && json_string_length(value) <= max;

    case 'x':
        return json_is_string(value) && json_string_length(value) == 2 * max
               && strspn(json_string_value(value), "0123456789abcdef")
                  == 2 * max;

    default:
        n = json_integer_value(value);
        return json_is_integer(value)
               && (kind == 'i' ? n >= -INT32_MAX && n <= INT32_MAX
                               : n >= 0 && (uint64_t) n <= max);
    }
}


/* The members of this kind of record, or NULL if they are not these. */
static const char *const *
expect(const json_t *line)
{
    size_t              i;
    const char         *kind;
    const char *const  *members;

    kind = json_string_value(json_object_get(line, "record"));

    if (kind == NULL) {
        return NULL;
    }

    members = strcmp(kind, "user") == 0 ? users
              : strcmp(kind, "session") == 0 ? sessions
              : strcmp(kind, "event") == 0 ? events
              : strcmp(kind, "store") == 0 ? stores
              : strcmp(kind, "end") == 0 ? ends : NULL;

    for (i = 0; members != NULL && members[i] != NULL; i++) {
        if (!fits(json_object_get(line, strchr(members[i], ' ') + 1),
                  members[i]))
        {
            return NULL;
        }
    }

    return json_object_size(line) == i + 1 ? members : NULL;
}


static void
bytes(const json_t *line, const char *name, const void *data, size_t n)
{
    char            hex[64];
    size_t          i;
    const uint8_t  *p = data;

    for (i = 0; i < n; i++) {
        (void) sprintf(hex + 2 * i, "%02x", p[i]);
    }

    fuzz_check(strcmp(json_string_value(json_object_get(line, name)), hex)
               == 0);
}


#define same_text(line, name, t)                                              \
    fuzz_check(fuzz_same(json_string_value(json_object_get(line, name)),      \
                         json_string_length(json_object_get(line, name)),     \
                         (t)->data, (t)->len))
#define same_number(line, name, value)                                        \
    fuzz_check(json_integer_value(json_object_get(line, name))                \
               == (json_int_t) (value))


static void
read_user(const json_t *line)
{
    uint8_t       id[STORE_USER_BYTES];
    unsigned      i;
    store_user_t  u;

    for (i = 0; i < sizeof(id); i++) {
        (void) sscanf(json_string_value(json_object_get(line, "id")) + 2 * i,
                      "%2hhx", &id[i]);
    }

    fuzz_check(store_user_read(&restore.sessions_w, id, &u) == STORE_OK);
    same_text(line, "realm", &u.realm);
    same_text(line, "login", &u.login);
    same_text(line, "name", &u.name);
    same_text(line, "roles", &u.roles);
    same_text(line, "phc", &u.phc);
    same_number(line, "generation", u.generation);
    same_number(line, "flags", u.flags);
    same_number(line, "created", u.created);
    same_number(line, "changed", u.changed);
    same_number(line, "signed_in", u.signed_in);
}


/* A live session is there if its user is, with what the user has now; else the
 * key may still be that of an earlier line. */
static void
read_session(const json_t *line)
{
    int           rc, live_user;
    uint8_t       key[STORE_KEY_BYTES], user[STORE_USER_BYTES];
    unsigned      i;
    store_live_t  live;
    store_user_t  u;

    for (i = 0; i < sizeof(key); i++) {
        (void) sscanf(json_string_value(json_object_get(line, "key")) + 2 * i,
                      "%2hhx", &key[i]);
    }

    for (i = 0; i < sizeof(user); i++) {
        (void) sscanf(json_string_value(json_object_get(line, "user")) + 2 * i,
                      "%2hhx", &user[i]);
    }

    fuzz_check(json_integer_value(json_object_get(line, "lifetime")) > 0);
    fuzz_check(!json_integer_value(json_object_get(line, "end"))
               == !json_integer_value(json_object_get(line, "ended")));

    memset(&u, 0, sizeof(u));
    live_user = store_user_read(&restore.sessions_w, user, &u) == STORE_OK
                && u.flags == 0
                && u.generation == (uint64_t) json_integer_value(
                                       json_object_get(line, "generation"));
    rc = store_live_get(&restore.sessions_w, key, &live);

    if (json_integer_value(json_object_get(line, "end")) == 0 && !live_user) {
        fuzz_check(rc == STORE_NOT_FOUND
                   || live.session.end != STORE_END_NONE
                   || memcmp(live.session.user, user, sizeof(user)) != 0
                   || (live.session.generation == u.generation
                       && u.flags == 0));
        return;
    }

    fuzz_check(rc == STORE_OK);
    bytes(line, "user", live.session.user, STORE_USER_BYTES);

    if (live.session.end != STORE_END_NONE) {
        same_text(line, "realm", &live.session.realm);
        same_text(line, "login", &live.session.login);
        same_text(line, "roles", &live.session.roles);

    } else {
        fuzz_check(fuzz_same(live.session.roles.data, live.session.roles.len,
                             u.roles.data, u.roles.len));
        fuzz_check(fuzz_same(live.session.login.data, live.session.login.len,
                             u.login.data, u.login.len));
    }

    same_text(line, "address", &live.session.address);
    same_text(line, "agent", &live.session.agent);
    same_number(line, "generation", live.session.generation);
    same_number(line, "created", live.session.created);
    same_number(line, "seen", live.session.seen);
    same_number(line, "authenticated", live.session.authenticated);
    same_number(line, "idle", live.session.idle);
    same_number(line, "lifetime", live.session.lifetime);
    same_number(line, "ended", live.session.ended);
    same_number(line, "end", live.session.end);
}


static void
read_event(const json_t *line)
{
    uint8_t         key[8];
    MDB_val         value;
    json_int_t      count;
    store_event_t   e;
    store_write_t  *w;

    w = &restore.events_w;
    store_be64_put(key, w->last);
    fuzz_check(store_db_get(w->txn, w->db[STORE_EVENT], key, 8, &value)
               == STORE_OK);
    fuzz_check(store_event_decode(w->last, value.mv_data, value.mv_size, &e)
               == STORE_OK);
    count = json_integer_value(json_object_get(line, "count"));
    fuzz_check(e.count == (count == 0 ? 1 : count));
    same_number(line, "type", e.type);
    same_number(line, "actor", e.actor);
    same_number(line, "end", e.end);
    same_number(line, "reason", e.reason);
    same_number(line, "time", e.time);
    same_number(line, "generation", e.generation);
    bytes(line, "user", e.user, STORE_USER_BYTES);
    bytes(line, "key", e.key, STORE_KEY_BYTES);
    same_text(line, "realm", &e.realm);
    same_text(line, "login", &e.login);
    same_text(line, "address", &e.address);
    same_text(line, "agent", &e.agent);
}


/* 1 to go on with the next line. */
static int
row(const char *line, size_t n)
{
    int                 rc;
    json_t             *read;
    json_error_t        error;
    const char *const  *members;

    restore.wrong = NULL;
    rc = store_restore_row(&restore, line, n);
    fuzz_check(rc == STORE_OK || restore.wrong != NULL);

    read = memchr(line, '\0', n) == NULL
           ? json_loadb(line, n, JSON_REJECT_DUPLICATES, &error) : NULL;

    if (rc == STORE_OK && read == NULL) {
        fuzz_check(json_error_code(&error) == json_error_numeric_overflow);
        return 0;
    }

    members = expect(read);
    fuzz_check(rc != STORE_OK || members != NULL);

    if (rc == STORE_OK) {
        if (members == users) {
            read_user(read);

        } else if (members == sessions) {
            read_session(read);

        } else if (members == events) {
            read_event(read);
        }
    }

    json_decref(read);

    return rc == STORE_OK;
}


static int
problem(const char *what, void *data)
{
    (void) data;

    fprintf(stderr, "check: %s\n", what);
    fuzz_check(what == NULL);

    return 0;
}


static void
check(void)
{
    store_checker_t  c = { 0 };

    c.store = store;
    c.problem = problem;
    c.txn = restore.sessions_w.txn;
    c.db = restore.sessions_w.db;
    fuzz_check(store_check_sessions(&c) == STORE_OK);
    fuzz_check(store_check_users(&c) == STORE_OK);

    /* as store_events_commit() does before it commits */
    c.txn = restore.events_w.txn;
    c.db = restore.events_w.db;
    fuzz_check(store_meta_put(c.txn, c.db[STORE_META], "last",
                              restore.events_w.last) == STORE_OK);
    fuzz_check(store_check_events(&c) == STORE_OK);
}


/* A first line that begins with a space is the dump's; else that line is taken
 * to have been there. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       n, rows;
    const char  *p, *end, *lf;

    memset(&restore, 0, offsetof(store_restore_t, json));
    restore.sessions_w = sessions_w;
    restore.events_w = events_w;
    restore.flags = STORE_RESTORE_SESSIONS;
    restore.started = size == 0 || *data != ' ';
    fuzz_check(mdb_txn_begin(store->sessions->env, NULL, 0,
                             &restore.sessions_w.txn) == 0);
    fuzz_check(mdb_txn_begin(store->events->env, NULL, 0,
                             &restore.events_w.txn) == 0);

    end = (const char *) data + size;
    rows = 0;

    for (p = (const char *) data; p < end; p += n + 1) {
        lf = memchr(p, '\n', (size_t) (end - p));
        n = (size_t) ((lf ? lf : end) - p);

        if (!row(p, n)) {
            break;
        }

        rows++;
    }

    if (rows) {
        check();
    }

    mdb_txn_abort(restore.events_w.txn);
    mdb_txn_abort(restore.sessions_w.txn);

    return 0;
}
