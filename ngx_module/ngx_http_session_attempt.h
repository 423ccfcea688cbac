/*
 * ngx_http_session_attempt.h: one attempt to sign in, from the form to the
 * result.  The page decides how a result looks, the attempt what it is.
 */

#ifndef NGX_HTTP_SESSION_ATTEMPT_H_INCLUDED
#define NGX_HTTP_SESSION_ATTEMPT_H_INCLUDED


#include "ngx_http_session_page.h"


/*
 * NEXT and WAIT stay inside the attempt; the others are results.  BAD is one
 * result on purpose: no such user, a disabled one, one without a password and
 * a wrong password must not be told apart.
 */
typedef enum {
    NGX_HTTP_SESSION_ATTEMPT_NEXT = 0,      /* on to the next step */
    NGX_HTTP_SESSION_ATTEMPT_WAIT,          /* a job will resume it */
    NGX_HTTP_SESSION_ATTEMPT_OK,
    NGX_HTTP_SESSION_ATTEMPT_BAD,
    NGX_HTTP_SESSION_ATTEMPT_MISSING,       /* no login or no password */
    NGX_HTTP_SESSION_ATTEMPT_TOO_LONG,      /* more than is ever hashed */
    NGX_HTTP_SESSION_ATTEMPT_CSRF,
    NGX_HTTP_SESSION_ATTEMPT_COOKIE,        /* the browser kept none */
    NGX_HTTP_SESSION_ATTEMPT_THROTTLED,
    NGX_HTTP_SESSION_ATTEMPT_BUSY,
    NGX_HTTP_SESSION_ATTEMPT_UNKNOWN,       /* outcome unknown */
    NGX_HTTP_SESSION_ATTEMPT_STORE,         /* store unavailable */
    NGX_HTTP_SESSION_ATTEMPT_ERROR,         /* no memory */
    NGX_HTTP_SESSION_ATTEMPTS
} ngx_http_session_attempt_e;


/* In r->pool.  Nothing in it points into the form, which is wiped early. */
typedef struct {
    ngx_http_session_ctx_t             *session;    /* of the request */
    const ngx_http_session_srv_conf_t  *conf;
    ngx_http_session_form_t            *form;       /* NULL once wiped */
    ngx_http_session_waiter_t          *waiter;

    ngx_str_t                           login;      /* as typed */
    ngx_str_t                           return_to;  /* safe, or empty */

    ngx_http_session_user_t             user;
    ngx_str_t                           upgraded;   /* PHC string or empty */
    u_char                              id[NGX_HTTP_SESSION_ID_LEN];
    ngx_uint_t                          draws;
    ngx_http_session_charge_t           charge;     /* of the throttle */
    ngx_uint_t                          wait;       /* seconds, Retry-After */

    unsigned                            found:1;    /* there is such a user */
    unsigned                            known:1;    /* from a known device */
    unsigned                            fresh:1;    /* give it once more */
} ngx_http_session_attempt_t;


/* The fields of the form, in this order. */
enum {
    NGX_HTTP_SESSION_ATTEMPT_FORM_CSRF = 0,
    NGX_HTTP_SESSION_ATTEMPT_FORM_LOGIN,
    NGX_HTTP_SESSION_ATTEMPT_FORM_PASSWORD,
    NGX_HTTP_SESSION_ATTEMPT_FORM_RETURN_TO,
    NGX_HTTP_SESSION_ATTEMPT_FORM_FIELDS
};


/* The form handler; form->data is the attempt. */
void ngx_http_session_attempt_start(ngx_http_request_t *r,
    ngx_http_session_form_t *form);

/* 1 when a valid pre-session cookie came with the request; makes none. */
ngx_uint_t ngx_http_session_attempt_pre(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);

/*
 * Answers a result; the page's, called by the attempt.  Returns what goes to
 * ngx_http_finalize_request().
 */
ngx_int_t ngx_http_session_attempt_answer(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_http_session_attempt_e result);

/* One warn line; what: "failed" or "throttled". */
void ngx_http_session_attempt_log(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, const char *what);
/* The audit event of a failure. */
void ngx_http_session_attempt_audit(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
/* The User-Agent as sent; len 0: none. */
ngx_str_t ngx_http_session_attempt_agent(ngx_http_request_t *r);


#endif /* NGX_HTTP_SESSION_ATTEMPT_H_INCLUDED */
