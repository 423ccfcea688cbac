#include <string.h>

#include "access.h"
#include "duration.h"
#include "output.h"
#include "show.h"


/* "3d4h ago", "in 5m", "2026-01-02 03:04:05Z (3d4h ago)" */
#define CLI_WHEN_CHARS  (CLI_TIME_CHARS + CLI_DURATION_CHARS + 16)


static void cli_line_time(const char *name, int64_t time, int64_t now);
static void cli_line_duration(const char *name, int64_t seconds,
    const char *zero);
static const char *cli_ago(int64_t time, int64_t now,
    char text[CLI_DURATION_CHARS]);


int
cli_session_judge(const store_session_t *session, int64_t now)
{
    return store_session_judge(session, session->realm.data,
                               session->realm.len, now);
}


const char *
cli_session_status(int judged)
{
    switch (judged) {

    case STORE_OK:
        return "valid";

    case STORE_REVOKED:
        return "revoked";

    case STORE_IDLE:
        return "idle";

    case STORE_EXPIRED:
        return "expired";

    case STORE_DISABLED:
        return "disabled";

    case STORE_FUTURE:
        return "future";

    default:
        return "error";
    }
}


void
cli_session_json(cli_json_t *json, const char *key,
    const store_session_t *s, int64_t now)
{
    char         ref[STORE_REF_CHARS + 1], id[CLI_USER_ID_CHARS + 1];
    const char  *status, *end;

    store_key_ref(s->key, ref);
    status = cli_session_status(cli_session_judge(s, now));
    end = store_end_name(s->end);

    cli_json_object(json, key);

    cli_json_text(json, "ref", ref, STORE_REF_CHARS);
    cli_json_text(json, "status", status, strlen(status));
    cli_json_text(json, "realm", s->realm.data, s->realm.len);
    cli_json_text(json, "user_id", cli_user_id(s->user, id),
                  CLI_USER_ID_CHARS);
    cli_json_text(json, "login", s->login.data, s->login.len);
    cli_json_text(json, "name", s->name.data, s->name.len);
    cli_json_list(json, "roles", s->roles.data, s->roles.len);
    cli_json_time(json, "created", s->created);
    cli_json_time(json, "seen", s->seen);
    cli_json_time(json, "authenticated", s->authenticated);
    cli_json_time(json, "expires", store_session_expires(s));
    cli_json_number(json, "idle", s->idle);
    cli_json_number(json, "lifetime", s->lifetime);
    cli_json_time(json, "ended", s->ended);

    if (s->end == STORE_END_NONE) {
        cli_json_null(json, "end");

    } else {
        cli_json_text(json, "end", end, strlen(end));
    }

    cli_json_text(json, "address", s->address.data, s->address.len);
    cli_json_text(json, "agent", s->agent.data, s->agent.len);

    cli_json_end(json, '}');
}


void
cli_user_json(cli_json_t *json, const char *key, const store_user_t *u)
{
    char  id[CLI_USER_ID_CHARS + 1];

    cli_json_object(json, key);

    cli_json_text(json, "id", cli_user_id(u->id, id), CLI_USER_ID_CHARS);
    cli_json_text(json, "realm", u->realm.data, u->realm.len);
    cli_json_text(json, "login", u->login.data, u->login.len);
    cli_json_text(json, "name", u->name.data, u->name.len);
    cli_json_list(json, "roles", u->roles.data, u->roles.len);
    cli_json_bool(json, "disabled", (u->flags & STORE_USER_DISABLED) != 0);
    cli_json_bool(json, "password", u->phc.len != 0);
    cli_json_number(json, "generation", u->generation);
    cli_json_time(json, "created", u->created);
    cli_json_time(json, "changed", u->changed);
    cli_json_time(json, "signed_in", u->signed_in);

    cli_json_end(json, '}');
}


void
cli_session_head(void)
{
    cli_cell("REF", 14);
    cli_cell("STATUS", 10);
    cli_cell("LOGIN", 26);
    cli_cell("AGE", 8);
    cli_cell("SEEN", 8);
    cli_cell("EXPIRES", 9);
    cli_cell("ADDRESS", 17);
    (void) puts("USER AGENT");
}


void
cli_session_row(const store_session_t *s, int64_t now)
{
    char  ref[STORE_REF_CHARS + 1], age[CLI_DURATION_CHARS],
          seen[CLI_DURATION_CHARS], left[CLI_DURATION_CHARS];

    store_key_ref(s->key, ref);

    cli_cell(ref, 14);
    cli_cell(cli_session_status(cli_session_judge(s, now)), 10);
    cli_cell(s->login.data, 26);
    cli_cell(cli_duration_write(now - s->created, age), 8);
    cli_cell(cli_duration_write(now - s->seen, seen), 8);
    cli_cell(cli_duration_write(store_session_expires(s) - now, left), 9);
    cli_cell(s->address.len ? s->address.data : "-", 17);
    (void) printf("%s\n", s->agent.len ? s->agent.data : "-");
}


void
cli_session_lines(const store_session_t *s, int64_t now)
{
    char  ref[STORE_REF_CHARS + 1], id[CLI_USER_ID_CHARS + 1];

    store_key_ref(s->key, ref);

    cli_line("session", ref);
    cli_line("status", cli_session_status(cli_session_judge(s, now)));
    cli_line("realm", s->realm.data);
    cli_line("login", s->login.data);
    cli_line("name", s->name.data);
    cli_line("roles", s->roles.data);
    cli_line("user id", cli_user_id(s->user, id));
    cli_line_time("created", s->created, now);
    cli_line_time("seen", s->seen, now);
    cli_line_time("password given", s->authenticated, now);
    cli_line_time("expires", store_session_expires(s), now);
    cli_line_duration("idle limit", s->idle, "none");
    cli_line_duration("lifetime", s->lifetime, "0s");

    if (s->end != STORE_END_NONE) {
        cli_line_time("ended", s->ended, now);
        cli_line("reason", store_end_name(s->end));
    }

    cli_line("address", s->address.data);
    cli_line("user agent", s->agent.data);
}


void
cli_user_lines(const store_user_t *u)
{
    char  text[CLI_TIME_CHARS], id[CLI_USER_ID_CHARS + 1];

    cli_line("login", u->login.data);
    cli_line("name", u->name.data);
    cli_line("realm", u->realm.data);
    cli_line("roles", u->roles.data);
    cli_line("id", cli_user_id(u->id, id));
    cli_line("disabled", u->flags & STORE_USER_DISABLED ? "yes" : "no");
    cli_line("password", u->phc.len ? "set" : "none");
    cli_line("created", cli_time_write(u->created, text));
    cli_line("changed", cli_time_write(u->changed, text));
    cli_line("signed in", cli_time_write(u->signed_in, text));
}


void
cli_line(const char *name, const char *text)
{
    int  n;

    n = (int) strlen(name);

    (void) printf("%s:%*s%s\n", name, n < 15 ? 15 - n : 1, "",
                  *text ? text : "-");
}


static void
cli_line_time(const char *name, int64_t time, int64_t now)
{
    char  text[CLI_WHEN_CHARS], at[CLI_TIME_CHARS], ago[CLI_DURATION_CHARS];

    (void) snprintf(text, sizeof(text), "%s (%s%s%s)",
                    cli_time_write(time, at), time > now ? "in " : "",
                    cli_ago(time, now, ago), time > now ? "" : " ago");

    cli_line(name, time ? text : "never");
}


static void
cli_line_duration(const char *name, int64_t seconds, const char *zero)
{
    char  text[CLI_DURATION_CHARS];

    cli_line(name, seconds ? cli_duration_write(seconds, text) : zero);
}


static const char *
cli_ago(int64_t time, int64_t now, char text[CLI_DURATION_CHARS])
{
    return cli_duration_write(time > now ? time - now : now - time, text);
}
