/*
 * What is written down about attempts that failed.
 */

#include "ngx_http_session_attempt.h"


/* Of a login in the log; longer ones cannot exist in the store. */
#define NGX_HTTP_SESSION_ATTEMPT_LOGIN_MAX  128


/*
 * One line of a fixed form, for tools that read logs:
 *
 *   session: sign-in failed for "LOGIN" from ADDRESS, realm "REALM"
 *
 * LOGIN is what a stranger typed, and nginx writes its log as it comes.  So
 * all but printable ASCII, and the quote and the backslash, are \xHH: nobody
 * can end the quotes or the line, or play with the terminal of who reads it.
 */

void
ngx_http_session_attempt_log(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, const char *what)
{
    u_char      ch, *p, text[NGX_HTTP_SESSION_ATTEMPT_LOGIN_MAX
                             * (sizeof("\\x00") - 1)];
    size_t      n;
    ngx_str_t   login;
    ngx_uint_t  i;

    n = ngx_min(attempt->login.len, NGX_HTTP_SESSION_ATTEMPT_LOGIN_MAX);
    p = text;

    for (i = 0; i < n; i++) {
        ch = attempt->login.data[i];

        if (ch < 0x20 || ch > 0x7e || ch == '"' || ch == '\\') {
            p = ngx_sprintf(p, "\\x%02xi", (ngx_uint_t) ch);
            continue;
        }

        *p++ = ch;
    }

    login.data = text;
    login.len = p - text;

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "session: sign-in %s for \"%V\" from %V, realm \"%V\"",
                  what, &login, &r->connection->addr_text,
                  &attempt->conf->realm);
}


/* Nobody waits for it, and a full queue may drop it: the log has it too. */

void
ngx_http_session_attempt_audit(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t               agent;
    ngx_http_session_op_t  *op;

    agent = ngx_http_session_attempt_agent(r);

    op = ngx_http_session_op_failed_sign_in(attempt->conf->realm_index,
                                  &attempt->login,
                                  attempt->found ? attempt->user.user : NULL,
                                  &r->connection->addr_text, &agent,
                                  ngx_time());

    if (op) {
        (void) ngx_http_session_writer_submit(op, NULL, 1);
    }
}


ngx_str_t
ngx_http_session_attempt_agent(ngx_http_request_t *r)
{
    ngx_str_t  agent;

    ngx_str_null(&agent);

    if (r->headers_in.user_agent) {
        agent = r->headers_in.user_agent->value;
    }

    return agent;
}
