#include <errno.h>

#include "jsonline.h"
#include "write.h"


/* rows between two calls of progress */
#define STORE_DUMP_PROGRESS  1000

/* An event is over, for the walk, once those that were there are written. */
#define STORE_DUMP_ENOUGH    1


typedef struct {
    FILE               *out;
    store_progress_pt   progress;
    void               *data;
    uint64_t            done;
    uint64_t            users;
    uint64_t            sessions;
    uint64_t            events;
    uint64_t            last;           /* event to stop after */
} store_dump_t;


static void store_dump_start(store_dump_t *dump, const store_t *store);
static int store_dump_events(store_t *store, store_dump_t *dump);
static void store_dump_end(store_dump_t *dump);
static int store_dump_user(const store_user_t *user, void *data);
static int store_dump_session(const store_session_t *session, void *data);
static int store_dump_event(const store_event_t *event, void *data);
static int store_dump_change(const store_event_t *event, void *data);
static int store_dump_row(store_dump_t *dump);

#define store_dump_text(json, name, t)                                       \
    store_json_put_string(json, name, (t)->data, (t)->len)


/*
 *   {"record":"store","format":1,"id":"..."}
 *   {"record":"user",...}  {"record":"session",...}  {"record":"event",...}
 *   {"record":"end","users":N,"sessions":N,"events":N}
 *
 * The last line shows that nothing was cut off.  Password hashes are in it, so
 * a dump is as secret as the store.  Damaged rows are left out and make the
 * result STORE_CORRUPT; the rest is there.
 */
int
store_dump(store_t *store, FILE *out, store_progress_pt progress, void *data)
{
    int           rc, corrupt;
    store_dump_t  dump = { 0 };

    dump.out = out;
    dump.progress = progress;
    dump.data = data;

    store_dump_start(&dump, store);

    rc = store_user_each(store, store_dump_user, &dump);
    corrupt = rc == STORE_CORRUPT;

    if (rc == STORE_OK || corrupt) {
        rc = store_session_each(store, store_dump_session, &dump);
        corrupt |= rc == STORE_CORRUPT;
    }

    if (rc == STORE_OK || rc == STORE_CORRUPT) {
        rc = store_dump_events(store, &dump);
        corrupt |= rc == STORE_CORRUPT;
    }

    if (rc != STORE_OK && rc != STORE_CORRUPT) {
        return rc;
    }

    store_dump_end(&dump);

    if (fflush(out) != 0 || ferror(out)) {
        return errno ? errno : EIO;
    }

    return corrupt ? STORE_CORRUPT : STORE_OK;
}


static void
store_dump_start(store_dump_t *dump, const store_t *store)
{
    store_json_out_t  json;

    store_json_begin(&json, dump->out);
    store_json_put_string(&json, "record", "store", 5);
    store_json_put_number(&json, "format", STORE_FORMAT);
    store_json_put_hex(&json, "id", store->id, STORE_STORE_ID_BYTES);
    store_json_end(&json);
}


/*
 * The audit is what has been copied, and then the rows of the feed that have
 * not.  Both ends are read in one transaction, so a copy that runs meanwhile
 * neither hides a row nor shows it twice.
 */
static int
store_dump_events(store_t *store, store_dump_t *dump)
{
    int             rc, corrupt;
    MDB_txn        *txn;
    uint64_t        copied;
    const MDB_dbi  *db;

    db = store->events->db;

    rc = store_read_begin(store->events, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_meta_get(txn, db[STORE_META], "copied", &copied);

    if (rc == STORE_OK) {
        rc = store_meta_get(txn, db[STORE_META], "last", &dump->last);
    }

    store_read_end(txn);

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_event_each(store, 0, store_dump_event, dump);

    if (rc == STORE_DUMP_ENOUGH) {
        rc = STORE_OK;
    }

    corrupt = rc == STORE_CORRUPT;

    if (rc == STORE_OK || corrupt) {
        rc = store_change_each(store, copied, NULL, store_dump_change, dump);
    }

    return rc == STORE_OK && corrupt ? STORE_CORRUPT : rc;
}


static void
store_dump_end(store_dump_t *dump)
{
    store_json_out_t  json;

    store_json_begin(&json, dump->out);
    store_json_put_string(&json, "record", "end", 3);
    store_json_put_number(&json, "users", dump->users);
    store_json_put_number(&json, "sessions", dump->sessions);
    store_json_put_number(&json, "events", dump->events);
    store_json_end(&json);

    if (dump->progress) {
        dump->progress(dump->done, dump->data);
    }
}


static int
store_dump_user(const store_user_t *user, void *data)
{
    store_dump_t      *dump = data;
    store_json_out_t   json;

    store_json_begin(&json, dump->out);
    store_json_put_string(&json, "record", "user", 4);
    store_json_put_hex(&json, "id", user->id, STORE_USER_BYTES);
    store_dump_text(&json, "realm", &user->realm);
    store_dump_text(&json, "login", &user->login);
    store_dump_text(&json, "name", &user->name);
    store_dump_text(&json, "roles", &user->roles);
    store_dump_text(&json, "phc", &user->phc);
    store_json_put_number(&json, "generation", user->generation);
    store_json_put_number(&json, "flags", user->flags);
    store_json_put_number(&json, "created", (uint64_t) user->created);
    store_json_put_number(&json, "changed", (uint64_t) user->changed);
    store_json_put_number(&json, "signed_in", (uint64_t) user->signed_in);
    store_json_end(&json);

    dump->users++;

    return store_dump_row(dump);
}


static int
store_dump_session(const store_session_t *s, void *data)
{
    store_dump_t      *dump = data;
    store_json_out_t   json;

    store_json_begin(&json, dump->out);
    store_json_put_string(&json, "record", "session", 7);
    store_json_put_hex(&json, "key", s->key, STORE_KEY_BYTES);
    store_json_put_hex(&json, "user", s->user, STORE_USER_BYTES);
    store_dump_text(&json, "realm", &s->realm);
    store_dump_text(&json, "login", &s->login);
    store_dump_text(&json, "name", &s->name);
    store_dump_text(&json, "roles", &s->roles);
    store_json_put_number(&json, "generation", s->generation);
    store_json_put_number(&json, "created", (uint64_t) s->created);
    store_json_put_number(&json, "seen", (uint64_t) s->seen);
    store_json_put_number(&json, "authenticated",
                          (uint64_t) s->authenticated);
    store_json_put_number(&json, "idle", s->idle);
    store_json_put_number(&json, "lifetime", s->lifetime);
    store_json_put_number(&json, "ended", (uint64_t) s->ended);
    store_json_put_number(&json, "end", s->end);
    store_dump_text(&json, "address", &s->address);
    store_dump_text(&json, "agent", &s->agent);
    store_json_end(&json);

    dump->sessions++;

    return store_dump_row(dump);
}


static int
store_dump_event(const store_event_t *e, void *data)
{
    store_dump_t      *dump = data;
    store_json_out_t   json;

    if (e->seq > dump->last) {
        return STORE_DUMP_ENOUGH;
    }

    store_json_begin(&json, dump->out);
    store_json_put_string(&json, "record", "event", 5);
    store_json_put_number(&json, "type", e->type);
    store_json_put_number(&json, "actor", e->actor);
    store_json_put_number(&json, "end", e->end);
    store_json_put_integer(&json, "reason", e->reason);
    store_json_put_number(&json, "time", (uint64_t) e->time);
    store_json_put_number(&json, "generation", e->generation);
    store_json_put_number(&json, "count", e->count);
    store_json_put_hex(&json, "user", e->user, STORE_USER_BYTES);
    store_json_put_hex(&json, "key", e->key, STORE_KEY_BYTES);
    store_dump_text(&json, "realm", &e->realm);
    store_dump_text(&json, "login", &e->login);
    store_dump_text(&json, "address", &e->address);
    store_dump_text(&json, "agent", &e->agent);
    store_json_end(&json);

    dump->events++;

    return store_dump_row(dump);
}


static int
store_dump_change(const store_event_t *e, void *data)
{
    store_dump_t  *dump = data;

    if (store_change_rewritten(e)) {
        return STORE_OK;
    }

    /* sequences of the feed are not those of the events */

    dump->last = UINT64_MAX;

    return store_dump_event(e, dump);
}


static int
store_dump_row(store_dump_t *dump)
{
    dump->done++;

    if (dump->progress && dump->done % STORE_DUMP_PROGRESS == 0) {
        dump->progress(dump->done, dump->data);
    }

    if (ferror(dump->out)) {
        return errno ? errno : EIO;
    }

    return STORE_OK;
}
