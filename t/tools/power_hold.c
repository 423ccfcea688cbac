#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "power_facts.h"


#define POWER_WAIT_MS   2000
#define POWER_SESSIONS  20000
#define POWER_AFTER     "afterwards"


typedef struct {
    const power_facts_t  *facts;
    size_t                cut;
    store_t              *store;
    int                   audited;      /* by the store itself, not restored */
    char                 *why;
    size_t                room;

    /* sessions that were met */
    struct {
        uint8_t   key[STORE_KEY_BYTES];
        unsigned  signed_in;    /* events of it */
        unsigned  ended;
        int       is_ended;
    }                    *sessions;
    size_t                n;

    size_t                unknown;      /* of the login that is counted */
    const char           *login;
} power_look_t;


static int power_ready(const power_facts_t *facts, size_t cut,
    const power_world_t *world, const char *path, power_look_t *look);
static int power_look_sessions(power_look_t *look);
static int power_look_session(const store_session_t *s, void *data);
static int power_look_open(const store_session_t *s, void *data);
static int power_look_tries(power_look_t *look);
static int power_look_users(power_look_t *look);
static int power_look_user(const store_user_t *u, void *data);
static int power_look_audit(power_look_t *look);
static int power_look_event(const store_event_t *e, void *data);
static int power_go_on(power_look_t *look);
static int power_sound(power_look_t *look, const char *when);
static int power_problem(const char *problem, void *data);
static int power_says(power_look_t *look, const char *format, ...)
    __attribute__((format(printf, 2, 3)));


int
power_hold(const power_facts_t *facts, size_t cut, const power_world_t *world,
    const char *folder, char *why, size_t room)
{
    int              rc, done, tried;
    char             path[PATH_MAX], from[PATH_MAX], text[STORE_WHY_CHARS];
    power_look_t     look;
    store_options_t  options;

    memset(&look, 0, sizeof(look));
    look.facts = facts;
    look.cut = cut;
    look.why = why;
    look.room = room;
    look.audited = world->dump == NULL;
    look.sessions = calloc(POWER_SESSIONS, sizeof(look.sessions[0]));

    if (look.sessions == NULL) {
        power_die("memory");
    }

    (void) snprintf(path, sizeof(path), "%s/%s", folder, world->store);

    if (world->backup) {
        done = power_facts_done(facts, "backup", cut, &tried);
        (void) snprintf(from, sizeof(from), "%s/%s", folder, world->backup);

        if (access(from, F_OK) == -1) {
            return done ? power_says(&look, "the backup is not there") : 1;
        }

        /* what the store is then made of */

        (void) snprintf(path, sizeof(path), "%s/from-backup", folder);
        (void) mkdir(path, 0700);
        (void) snprintf(path, sizeof(path), "%s/from-backup/%s", folder,
                        "sessions.v1.mdb");

        if (rename(from, path) == -1) {
            power_die(from);
        }

        *strrchr(path, '/') = '\0';
        memset(&options, 0, sizeof(options));
        options.path = path;

        rc = store_init(&options, (uid_t) -1, (gid_t) -1, text);

        if (rc != STORE_OK) {
            return power_says(&look, "init with the backup: %s", text);
        }
    }

    return power_ready(facts, cut, world, path, &look)
           && power_sound(&look, "") && power_look_sessions(&look)
           && power_look_tries(&look) && power_look_users(&look)
           && power_go_on(&look);
}


/* Init and restore that were cut off are run again, as their user would. */

static int
power_ready(const power_facts_t *facts, size_t cut, const power_world_t *world,
    const char *path, power_look_t *look)
{
    int              rc, tried;
    FILE            *in;
    char             text[STORE_WHY_CHARS];
    store_options_t  options;

    memset(&options, 0, sizeof(options));
    options.path = path;
    options.wait_ms = POWER_WAIT_MS;

    if (!power_facts_done(facts, "init", cut, &tried)
        && (tried || !facts->base))
    {
        rc = store_init(&options, (uid_t) -1, (gid_t) -1, text);

        if (rc != STORE_OK && rc != STORE_EXISTS) {
            return power_says(look, "init again: %s", text);
        }
    }

    if (world->dump && !power_facts_done(facts, "restore", cut, &tried)
        && tried)
    {
        in = fopen(world->dump, "r");

        if (in == NULL) {
            power_die(world->dump);
        }

        rc = store_restore(&options, in, STORE_RESTORE_SESSIONS, NULL, NULL,
                           text);
        (void) fclose(in);

        if (rc != STORE_OK && rc != STORE_EXISTS) {
            return power_says(look, "restore again: %s", text);
        }

        look->cut = POWER_NEVER - 1;    /* now all of it is there */
    }

    rc = store_open(&options, &look->store, text);

    return rc == STORE_OK ? 1 : power_says(look, "open: %s", text);
}


static int
power_look_sessions(power_look_t *look)
{
    int     rc;
    size_t  i, open;

    rc = store_session_each(look->store, power_look_session, look);

    if (rc != STORE_OK) {
        return look->why[0] ? 0 : power_says(look, "sessions: %s",
                                             store_strerror(rc));
    }

    /* those that were never answered, and so have no key in the notes */

    for (i = 0; i < look->facts->n; i++) {
        look->login = look->facts->tries[i].login;
        look->unknown = 0;

        if (strcmp(look->facts->tries[i].verb, "in") != 0
            || look->facts->tries[i].keyed)
        {
            continue;
        }

        rc = store_session_each(look->store, power_look_open, look);
        open = power_facts_open(look->facts, look->login, look->cut);

        if (rc != STORE_OK || look->unknown > open) {
            return power_says(look, "%zu sessions of %s that nobody made",
                              look->unknown - open, look->login);
        }
    }

    return 1;
}


static int
power_look_session(const store_session_t *s, void *data)
{
    int                 may, must, rc;
    power_look_t       *look = data;
    const power_try_t  *in;

    if (look->n == POWER_SESSIONS) {
        power_die("sessions");
    }

    memcpy(look->sessions[look->n].key, s->key, STORE_KEY_BYTES);
    look->sessions[look->n++].is_ended = s->ended != 0;

    in = power_facts_key(look->facts, s->key);

    if (in == NULL) {

        if (look->facts->base
            || power_facts_open(look->facts, s->login.data, look->cut))
        {
            return 0;
        }

        power_says(look, "a session of %s that nobody made", s->login.data);
        return 1;
    }

    if (in->began >= look->cut || strcmp(in->login, s->login.data) != 0) {
        power_says(look, "a session of %s that was not made yet",
                   s->login.data);
        return 1;
    }

    power_facts_ended(look->facts, in, look->cut, &may, &must);
    rc = store_session_judge(s, "default", 7, (int64_t) time(NULL));

    if (must && rc == STORE_OK) {
        power_says(look, "%s of %s was ended, and lives", in->id, in->login);
        return 1;
    }

    if (!may && rc != STORE_OK) {
        power_says(look, "%s of %s is %s, which nobody did", in->id, in->login,
                   store_strerror(rc));
        return 1;
    }

    return 0;
}


static int
power_look_open(const store_session_t *s, void *data)
{
    power_look_t  *look = data;

    look->unknown += strcmp(s->login.data, look->login) == 0
                     && power_facts_key(look->facts, s->key) == NULL;

    return 0;
}


static int
power_look_tries(power_look_t *look)
{
    int                 rc;
    size_t              i;
    store_session_t     s;
    const power_try_t  *t;

    for (i = 0; i < look->facts->n; i++) {
        t = &look->facts->tries[i];

        if (strcmp(t->verb, "in") != 0 || t->ok >= look->cut) {
            continue;
        }

        rc = store_session_get(look->store, t->key, &s);

        if (rc != STORE_OK) {
            return power_says(look, "%s of %s was answered: %s", t->id,
                              t->login, store_strerror(rc));
        }
    }

    return 1;
}


static int
power_look_users(power_look_t *look)
{
    int                 rc, state, states[2];
    size_t              i;
    store_user_t        u;
    const power_try_t  *t;

    rc = store_user_each(look->store, power_look_user, look);

    if (rc != STORE_OK) {
        return look->why[0] ? 0 : power_says(look, "users: %s",
                                             store_strerror(rc));
    }

    for (i = 0; i < look->facts->n; i++) {
        t = &look->facts->tries[i];

        if (t->login[0] == '\0') {
            continue;
        }

        power_facts_user(look->facts, t->login, look->cut, states);

        if (states[0] == POWER_USER_ANY) {
            continue;
        }

        rc = store_user_find(look->store, "default", 7, t->login,
                             strlen(t->login), &u);

        if (rc != STORE_OK && rc != STORE_NOT_FOUND) {
            return power_says(look, "%s: %s", t->login, store_strerror(rc));
        }

        state = rc == STORE_NOT_FOUND ? POWER_USER_NONE
                : u.flags & STORE_USER_DISABLED ? POWER_USER_DISABLED
                : POWER_USER_ENABLED;

        if (state != states[0] && state != states[1]) {
            return power_says(look, "%s is in state %d, not %d or %d",
                              t->login, state, states[0], states[1]);
        }
    }

    return 1;
}


static int
power_look_user(const store_user_t *u, void *data)
{
    size_t              i;
    power_look_t       *look = data;
    const power_try_t  *t;

    if (look->facts->base) {
        return 0;
    }

    for (i = 0; i < look->facts->n; i++) {
        t = &look->facts->tries[i];

        if (t->began < look->cut && strcmp(t->verb, "user") == 0
            && strcmp(t->login, u->login.data) == 0)
        {
            return 0;
        }
    }

    power_says(look, "user %s, whom nobody made", u->login.data);

    return 1;
}


/* The store is used as before: users, sessions and the audit. */

static int
power_go_on(power_look_t *look)
{
    int          i, more;
    store_op_t   op, *ops[1] = { &op };
    uint8_t      id[STORE_USER_BYTES] = { 0 };
    uint8_t      key[STORE_KEY_BYTES];

    memset(key, 0xfe, sizeof(key));

    for (i = 0; i < 3; i++) {
        memset(&op, 0, sizeof(op));
        op.kind = i == 0 ? STORE_OP_USER_CREATE
                  : i == 1 ? STORE_OP_SIGN_IN : STORE_OP_END;
        op.now = (int64_t) time(NULL);
        op.generation = 1;
        op.idle = 3600;
        op.lifetime = 86400;
        op.end = STORE_END_SIGN_OUT;
        memcpy(op.user, id, sizeof(id));
        memcpy(op.key, key, sizeof(key));

        if (store_realm_set(&op.realm, "default", 7) != STORE_OK
            || store_text_set(&op.login, POWER_AFTER, strlen(POWER_AFTER))
               != STORE_OK
            || store_batch_apply(look->store, ops, 1) != STORE_OK
            || op.result != STORE_OK)
        {
            return power_says(look, "%s %d: %s", POWER_AFTER, i,
                              store_strerror(op.result));
        }

        memcpy(id, op.user, sizeof(id));
    }

    memcpy(look->sessions[look->n].key, key, sizeof(key));
    look->sessions[look->n++].is_ended = 1;

    do {
        i = store_events_copy(look->store, 1000, &more);

        if (i != STORE_OK) {
            return power_says(look, "copy: %s", store_strerror(i));
        }
    } while (more);

    return power_sound(look, POWER_AFTER) && power_look_audit(look);
}


/* Each session has its event, each end has, and there is none of another. */

static int
power_look_audit(power_look_t *look)
{
    int     rc;
    size_t  i;

    if (!look->audited) {
        return 1;
    }

    rc = store_event_each(look->store, 0, power_look_event, look);

    if (rc != STORE_OK) {
        return look->why[0] ? 0 : power_says(look, "events: %s",
                                             store_strerror(rc));
    }

    for (i = 0; i < look->n; i++) {
        if (look->sessions[i].signed_in != 1
            || look->sessions[i].ended
               != (unsigned) look->sessions[i].is_ended)
        {
            return power_says(look, "session %zu of %zu has %u and %u events",
                              i + 1, look->n, look->sessions[i].signed_in,
                              look->sessions[i].ended);
        }
    }

    return 1;
}


static int
power_look_event(const store_event_t *e, void *data)
{
    size_t         i;
    power_look_t  *look = data;

    if (e->type != STORE_EVENT_SIGN_IN && e->type != STORE_EVENT_SESSION_END) {
        return 0;
    }

    for (i = 0; i < look->n; i++) {
        if (memcmp(look->sessions[i].key, e->key, STORE_KEY_BYTES) == 0) {
            look->sessions[i].signed_in += e->type == STORE_EVENT_SIGN_IN;
            look->sessions[i].ended += e->type == STORE_EVENT_SESSION_END;
            return 0;
        }
    }

    power_says(look, "event %llu of a session that never was",
               (unsigned long long) e->seq);

    return 1;
}


static int
power_sound(power_look_t *look, const char *when)
{
    int       rc;
    uint64_t  problems;

    rc = store_check(look->store, power_problem, look, &problems);

    if (rc != STORE_OK) {
        return power_says(look, "check: %s", store_strerror(rc));
    }

    return problems == 0 ? 1 : power_says(look, "%s %llu problems: %s", when,
                                          (unsigned long long) problems,
                                          look->why);
}


static int
power_problem(const char *problem, void *data)
{
    power_look_t  *look = data;

    (void) snprintf(look->why, look->room, "%s", problem);

    return 0;
}


static int
power_says(power_look_t *look, const char *format, ...)
{
    char     text[1024];
    va_list  args;

    va_start(args, format);
    (void) vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    (void) snprintf(look->why, look->room, "%s", text);

    return 0;
}
