#include <string.h>
#include <time.h>

#include "access.h"
#include "duration.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "reason.h"
#include "show.h"


const char  cli_why_help[] =
    "usage: sessionctl why REF | LOGIN [--realm NAME] [--store PATH] [--json]\n"
    "\n"
    "Tells whether a session, or each live session of a user, would be let in\n"
    "now, and the reason.  For a user it also shows what happened last.\n";


#define CLI_WHY_EVENTS  10


static int cli_why_session(const cli_t *cli, const store_session_t *session,
    int64_t now);
static int cli_why_user(const cli_t *cli, store_t *store,
    const store_user_t *user, int64_t now);
static void cli_why_user_text(const store_user_t *user,
    const store_session_t *sessions, size_t n, int64_t now);
static void cli_why_user_json(const store_user_t *user,
    const store_session_t *sessions, size_t n, const store_event_t *events,
    size_t n_events, int64_t now);
static void cli_why_event(const store_event_t *event);
static void cli_why_event_json(cli_json_t *json, const store_event_t *event);
static void cli_why_session_json(cli_json_t *json, const char *key,
    const store_session_t *session, const store_realm_t *realm, int64_t now);


/* A REF is 12 characters that could be a login too; a session goes first. */
int
cli_why(cli_t *cli, int argc, char **argv)
{
    int              rc;
    int64_t          now;
    store_t         *store;
    const char      *words[CLI_WORDS_MAX];
    store_user_t     user;
    store_session_t  session;

    rc = cli_options(cli, argc, argv, NULL, "REF|LOGIN", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    now = (int64_t) time(NULL);

    rc = store_session_find(store, words[0], strlen(words[0]), &session);

    if (rc == STORE_OK) {
        return cli_why_session(cli, &session, now);
    }

    rc = store_user_find(store, cli->realm.data, cli->realm.len, words[0],
                         strlen(words[0]), &user);

    if (rc == STORE_OK) {
        return cli_why_user(cli, store, &user, now);
    }

    if (rc != STORE_NOT_FOUND && rc != STORE_INVALID) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    cli_error("\"%s\" is no session of this store and no user of realm \"%s\"; "
              "a session is forgotten a day after it would have expired",
              words[0], cli->realm.data);

    return CLI_NOT_FOUND;
}


static int
cli_why_session(const cli_t *cli, const store_session_t *session, int64_t now)
{
    int         rc;
    char        reason[CLI_REASON_CHARS];
    cli_json_t  json;

    rc = cli_reason(session, &cli->realm, now, reason);

    if (cli->json) {
        cli_json_begin(&json);
        cli_why_session_json(&json, NULL, session, &cli->realm, now);
        return CLI_OK;
    }

    cli_line("decision", rc == STORE_OK ? "let in" : "refused");
    cli_line("reason", reason);
    cli_line("advice", cli_reason_advice(rc));
    (void) putchar('\n');
    cli_session_lines(session, now);

    return CLI_OK;
}


static int
cli_why_user(const cli_t *cli, store_t *store, const store_user_t *user,
    int64_t now)
{
    int              rc;
    size_t           i, n, n_events;
    store_event_t    events[CLI_WHY_EVENTS];
    store_session_t  sessions[STORE_USER_SESSIONS_MAX];

    n = STORE_USER_SESSIONS_MAX;
    n_events = CLI_WHY_EVENTS;

    rc = store_session_list(store, user->id, sessions, &n);

    if (rc == STORE_OK) {
        rc = store_event_list(store, user->id, 0, events, &n_events);
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    if (cli->json) {
        cli_why_user_json(user, sessions, n, events, n_events, now);
        return CLI_OK;
    }

    cli_why_user_text(user, sessions, n, now);

    if (n_events) {
        (void) fputs("\nwhat happened last:\n", stdout);
    }

    for (i = 0; i < n_events; i++) {
        cli_why_event(&events[i]);
    }

    return CLI_OK;
}


static void
cli_why_user_text(const store_user_t *user, const store_session_t *sessions,
    size_t n, int64_t now)
{
    int     rc;
    char    reason[CLI_REASON_CHARS], ref[STORE_REF_CHARS + 1];
    size_t  i;

    cli_line("user", user->login.data);
    cli_line("sign-in", cli_reason_user(user));
    cli_line("roles", user->roles.len ? user->roles.data
                                      : "none: session_require role= refuses");

    if (n == 0) {
        cli_line("sessions", "none: every request is sent to sign-in");
    }

    for (i = 0; i < n; i++) {
        rc = cli_reason(&sessions[i], &user->realm, now, reason);
        store_key_ref(sessions[i].key, ref);

        (void) printf("\nsession %s: %s\n", ref,
                      rc == STORE_OK ? "let in" : "refused");
        (void) printf("  %s\n", reason);
        (void) printf("  from %s, %s\n",
                      sessions[i].address.len ? sessions[i].address.data : "-",
                      sessions[i].agent.len ? sessions[i].agent.data : "-");
    }

    if (n) {
        (void) printf("\nadvice: %s\n", cli_reason_advice(STORE_OK));
    }
}


static void
cli_why_user_json(const store_user_t *user, const store_session_t *sessions,
    size_t n, const store_event_t *events, size_t n_events, int64_t now)
{
    size_t       i;
    cli_json_t   json;
    const char  *text;

    text = cli_reason_user(user);

    cli_json_begin(&json);
    cli_json_object(&json, NULL);
    cli_user_json(&json, "user", user);
    cli_json_bool(&json, "sign_in", user->phc.len
                                    && !(user->flags & STORE_USER_DISABLED));
    cli_json_text(&json, "reason", text, strlen(text));

    cli_json_array(&json, "sessions");

    for (i = 0; i < n; i++) {
        cli_why_session_json(&json, NULL, &sessions[i], &user->realm, now);
    }

    cli_json_end(&json, ']');
    cli_json_array(&json, "events");

    for (i = 0; i < n_events; i++) {
        cli_why_event_json(&json, &events[i]);
    }

    cli_json_end(&json, ']');
    cli_json_end(&json, '}');
}


static void
cli_why_session_json(cli_json_t *json, const char *key,
    const store_session_t *session, const store_realm_t *realm, int64_t now)
{
    int   rc;
    char  reason[CLI_REASON_CHARS];

    rc = cli_reason(session, realm, now, reason);

    cli_json_object(json, key);
    cli_json_bool(json, "let_in", rc == STORE_OK);
    cli_json_text(json, "reason", reason, strlen(reason));
    cli_session_json(json, "session", session, now);
    cli_json_end(json, '}');
}


static void
cli_why_event(const store_event_t *event)
{
    char  when[CLI_TIME_CHARS], text[CLI_REASON_CHARS];

    cli_reason_event(event, text);

    (void) printf("  %s  %s\n", cli_time_write(event->time, when), text);
}


static void
cli_why_event_json(cli_json_t *json, const store_event_t *event)
{
    char         text[CLI_REASON_CHARS];
    const char  *name, *end;

    name = store_event_name(event->type);
    end = store_end_name(event->end);
    cli_reason_event(event, text);

    cli_json_object(json, NULL);
    cli_json_time(json, "time", event->time);
    cli_json_text(json, "type", name, strlen(name));

    if (event->end == STORE_END_NONE) {
        cli_json_null(json, "end");

    } else {
        cli_json_text(json, "end", end, strlen(end));
    }

    cli_json_number(json, "count", event->count);
    cli_json_text(json, "address", event->address.data, event->address.len);
    cli_json_text(json, "text", text, strlen(text));
    cli_json_end(json, '}');
}
