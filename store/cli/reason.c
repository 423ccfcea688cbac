#include "duration.h"
#include "reason.h"


static void cli_reason_live(const store_session_t *s, int judged, int64_t now,
    char text[CLI_REASON_CHARS]);
static const char *cli_reason_end(store_end_t end);
static const char *cli_reason_code(int code);
static const char *cli_reason_type(store_event_type_t type);
static const char *cli_reason_actor(store_actor_t actor);


int
cli_reason(const store_session_t *s, const store_realm_t *realm, int64_t now,
    char text[CLI_REASON_CHARS])
{
    int   rc;
    char  at[CLI_TIME_CHARS], span[CLI_DURATION_CHARS];

    rc = store_session_judge(s, realm->data, realm->len, now);

    if (rc == STORE_REALM) {
        (void) snprintf(text, CLI_REASON_CHARS, "it belongs to realm \"%s\", "
                        "and nothing of one realm counts in another",
                        s->realm.data);

    } else if (s->end == STORE_END_NONE) {
        cli_reason_live(s, rc, now, text);

    } else {
        (void) snprintf(text, CLI_REASON_CHARS, "%s %s ago (%s)",
                        cli_reason_end(s->end),
                        cli_duration_write(now - s->ended, span),
                        cli_time_write(s->ended, at));
    }

    return rc;
}


static void
cli_reason_live(const store_session_t *s, int judged, int64_t now,
    char text[CLI_REASON_CHARS])
{
    char     at[CLI_TIME_CHARS], ago[CLI_DURATION_CHARS],
             span[CLI_DURATION_CHARS];
    int64_t  expires, last;

    expires = store_session_expires(s);
    last = s->created + s->lifetime;

    switch (judged) {

    case STORE_OK:
        (void) snprintf(text, CLI_REASON_CHARS, "it is valid for %s more, %s",
                        cli_duration_write(expires - now, span),
                        expires == last ? "until its lifetime ends"
                                        : "and longer when it is used");
        break;

    case STORE_FUTURE:
        (void) snprintf(text, CLI_REASON_CHARS, "it was created %s ahead of "
                        "this machine's clock; a clock is wrong",
                        cli_duration_write(s->created - now, span));
        break;

    case STORE_IDLE:
        (void) snprintf(text, CLI_REASON_CHARS, "it was last used %s ago (%s), "
                        "and the idle limit is %s",
                        cli_duration_write(now - s->seen, ago),
                        cli_time_write(s->seen, at),
                        cli_duration_write(s->idle, span));
        break;

    default: /* STORE_EXPIRED */
        (void) snprintf(text, CLI_REASON_CHARS, "its lifetime of %s ended %s "
                        "ago (%s)", cli_duration_write(s->lifetime, span),
                        cli_duration_write(now - last, ago),
                        cli_time_write(last, at));
        break;
    }
}


const char *
cli_reason_advice(int judged)
{
    switch (judged) {

    case STORE_OK:
        return "if the browser is sent to sign-in nevertheless, log "
               "$session_status: none means that no cookie arrives, "
               "unknown_key or bad_signature that the keys file changed, "
               "and a 403 that a role is missing";

    case STORE_REALM:
        return "sign in at a server of that realm";

    case STORE_FUTURE:
        return "set the clocks right";

    case STORE_IDLE:
        return "signing in again helps; session_lifetime idle= sets the limit";

    case STORE_EXPIRED:
        return "signing in again helps; session_lifetime sets the lifetime";

    case STORE_DISABLED:
        return "sessionctl user enable, if the user still exists, then "
               "signing in again";

    default:
        return "signing in again helps";
    }
}


static const char *
cli_reason_end(store_end_t end)
{
    switch (end) {

    case STORE_END_SIGN_OUT:
        return "the user signed out";

    case STORE_END_REVOKED:
        return "it was revoked, by an operator or from another session of the "
               "user,";

    case STORE_END_REPLACED:
        return "somebody signed in anew in the same browser";

    case STORE_END_LIMIT:
        return "the user signed in elsewhere and had reached session_limit, "
               "so the oldest session ended";

    case STORE_END_IDLE:
        return "it was unused for longer than its idle limit and ended";

    case STORE_END_EXPIRED:
        return "its lifetime was over and it ended";

    case STORE_END_DISABLED:
        return "the user was disabled";

    case STORE_END_DELETED:
        return "the user was deleted";

    case STORE_END_PASSWORD:
        return "the user's password was changed";

    case STORE_END_UNCERTAIN:
        return "its sign-in was answered \"outcome unknown\" and undone";

    default:
        return "it ended";
    }
}


const char *
cli_reason_user(const store_user_t *user)
{
    if (user->flags & STORE_USER_DISABLED) {
        return "refused: the user is disabled; sessionctl user enable";
    }

    if (user->phc.len == 0) {
        return "refused: no password is set; sessionctl user passwd";
    }

    return "possible with the right password";
}


void
cli_reason_event(const store_event_t *event, char text[CLI_REASON_CHARS])
{
    char         count[24];
    const char  *what, *reason;

    count[0] = '\0';
    reason = "";
    what = cli_reason_type(event->type);

    if (event->type == STORE_EVENT_SESSION_END) {
        reason = cli_reason_end(event->end);

    } else if (event->type == STORE_EVENT_SIGN_IN_FAILED
               || event->type == STORE_EVENT_REFUSED)
    {
        reason = cli_reason_code(event->reason);
    }

    if (event->count > 1) {
        (void) snprintf(count, sizeof(count), " %lu times",
                        (unsigned long) event->count);
    }

    (void) snprintf(text, CLI_REASON_CHARS, "%s%s%s%s (by %s%s%s)", what,
                    count, *reason ? ": " : "", reason,
                    cli_reason_actor(event->actor),
                    event->address.len ? ", from " : "", event->address.data);
}


static const char *
cli_reason_code(int code)
{
    switch (code) {

    case STORE_OK:
        return "";

    case STORE_NOT_FOUND:
        return "there is no such user";

    case STORE_BAD_PASSWORD:
        return "wrong password";

    default:
        return store_strerror(code);
    }
}


static const char *
cli_reason_type(store_event_type_t type)
{
    switch (type) {

    case STORE_EVENT_SIGN_IN:
        return "signed in";

    case STORE_EVENT_SIGN_IN_FAILED:
        return "sign-in failed";

    case STORE_EVENT_SESSION_END:
        return "session ended";

    case STORE_EVENT_REFUSED:
        return "request refused";

    case STORE_EVENT_USER_CREATED:
        return "user added";

    case STORE_EVENT_USER_PASSWORD:
        return "password changed";

    case STORE_EVENT_USER_ROLES:
        return "roles changed";

    case STORE_EVENT_USER_DISABLED:
        return "user disabled";

    case STORE_EVENT_USER_ENABLED:
        return "user enabled";

    case STORE_EVENT_USER_DELETED:
        return "user deleted";

    case STORE_EVENT_USER_NAME:
        return "name changed";

    default:
        return store_event_name(type);
    }
}


static const char *
cli_reason_actor(store_actor_t actor)
{
    switch (actor) {

    case STORE_BY_SERVER:
        return "nginx";

    case STORE_BY_USER:
        return "the user";

    default: /* STORE_BY_CLI */
        return "sessionctl";
    }
}
