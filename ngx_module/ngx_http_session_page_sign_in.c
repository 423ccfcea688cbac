/*
 * session_page sign_in: the form, and how each result of an attempt looks.
 * The attempt itself is ngx_http_session_attempt.c.
 */

#include "ngx_http_session_attempt.h"


/* a wait of fewer seconds is given in seconds */
#define NGX_HTTP_SESSION_SIGN_IN_MINUTES_MIN  120


typedef struct {
    ngx_uint_t    status;
    ngx_uint_t    slot;         /* flag of sign_in.html; 0: error.html */
    const char   *code;
} ngx_http_session_sign_in_answer_t;


static ngx_int_t ngx_http_session_sign_in_query(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
static ngx_int_t ngx_http_session_sign_in_show(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
static ngx_int_t ngx_http_session_sign_in_cookies(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static void ngx_http_session_sign_in_reason(text_value_t *values,
    ngx_http_session_attempt_t *attempt);
static ngx_int_t ngx_http_session_sign_in_refuse(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt,
    const ngx_http_session_sign_in_answer_t *answer);
static text_value_t *ngx_http_session_sign_in_values(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_str_t *csrf);
static ngx_int_t ngx_http_session_sign_in_wait(ngx_http_request_t *r,
    text_value_t *values, ngx_uint_t seconds);
static ngx_int_t ngx_http_session_sign_in_retry_after(ngx_http_request_t *r,
    ngx_uint_t seconds);
static ngx_int_t ngx_http_session_sign_in_done(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
static ngx_str_t *ngx_http_session_sign_in_target(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
static void ngx_http_session_sign_in_show_json(text_json_t *json, void *data);
static void ngx_http_session_sign_in_done_json(text_json_t *json, void *data);


static const ngx_str_t  ngx_http_session_sign_in_fields[] = {
    ngx_string("_csrf"),
    ngx_string("login"),
    ngx_string("password"),
    ngx_string("return_to")
};


/*
 * In the order of ngx_http_session_attempt_e; the first three never get here.
 * 401 goes without WWW-Authenticate: browsers would ask for a password in a
 * window of their own.
 */

static const ngx_http_session_sign_in_answer_t
    ngx_http_session_sign_in_answers[NGX_HTTP_SESSION_ATTEMPTS] =
{
    { 0, 0, NULL },                             /* NEXT */
    { 0, 0, NULL },                             /* WAIT */
    { 0, 0, NULL },                             /* OK */

    { NGX_HTTP_UNAUTHORIZED,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_CREDENTIALS,
      "unauthorized" },

    { NGX_HTTP_BAD_REQUEST,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_MISSING,
      "bad_request" },

    { NGX_HTTP_REQUEST_ENTITY_TOO_LARGE,
      0,
      "payload_too_large" },

    { NGX_HTTP_FORBIDDEN,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_CSRF,
      "csrf" },

    { NGX_HTTP_FORBIDDEN,
      0,
      "cookie" },

    { NGX_HTTP_TOO_MANY_REQUESTS,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_THROTTLED,
      "too_many_requests" },

    { NGX_HTTP_SERVICE_UNAVAILABLE,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_BUSY,
      "busy" },

    { NGX_HTTP_SERVICE_UNAVAILABLE,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_UNKNOWN,
      "outcome_unknown" },

    { NGX_HTTP_SERVICE_UNAVAILABLE,
      NGX_HTTP_SESSION_SIGN_IN_ERROR_STORE,
      "store_unavailable" },

    { NGX_HTTP_INTERNAL_SERVER_ERROR,
      0,
      "internal" }
};


ngx_int_t
ngx_http_session_page_sign_in_handler(ngx_http_request_t *r)
{
    ngx_http_session_attempt_t  *attempt;

    attempt = ngx_pcalloc(r->pool, sizeof(ngx_http_session_attempt_t));
    if (attempt == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    attempt->conf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    attempt->session = ngx_http_session_identify(r);
    if (attempt->session == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->method == NGX_HTTP_POST) {
        return ngx_http_session_form_read(r, ngx_http_session_sign_in_fields,
                                         NGX_HTTP_SESSION_ATTEMPT_FORM_FIELDS,
                                         ngx_http_session_attempt_start,
                                         attempt);
    }

    if (ngx_http_session_sign_in_query(r, attempt) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_sign_in_show(r, attempt);
}


/*
 * return_to, and fresh, which session_require fresh= sends along.  Anything
 * else in the query is not looked at, a login or a password least of all.  A
 * parameter given twice, or a query that does not decode, counts as none.
 */

static ngx_int_t
ngx_http_session_sign_in_query(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    u_char             *args;
    ngx_str_t           value;
    text_form_field_t   fields[2];

    if (r->args.len == 0) {
        return NGX_OK;
    }

    args = ngx_pstrdup(r->pool, &r->args);
    if (args == NULL) {
        return NGX_ERROR;
    }

    ngx_memzero(fields, sizeof(fields));
    fields[0].name = text_span("return_to");
    fields[1].name = text_span("fresh");

    if (text_form_parse(args, r->args.len, fields, 2) != TEXT_FORM_OK) {
        return NGX_OK;
    }

    if (fields[0].present && fields[0].value.len) {
        value.data = (u_char *) fields[0].value.data;
        value.len = fields[0].value.len;

        if (ngx_http_session_return_to_check(r, &value) == NGX_OK) {
            attempt->return_to = value;
        }
    }

    if (fields[1].present
        && text_span_equal(fields[1].value, text_span("1")))
    {
        attempt->fresh = 1;
    }

    return NGX_OK;
}


/*
 * Somebody who is signed in has nothing to do here and is sent on, unless the
 * password is wanted once more.  Only to a path of this server, though: an
 * application on another origin that does not accept the session would send
 * the browser straight back, for ever.
 */

static ngx_int_t
ngx_http_session_sign_in_show(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t       csrf;
    ngx_uint_t      status, json;
    text_value_t   *values;

    json = ngx_http_session_wants_json(r);

    if (attempt->session->record && !attempt->fresh && !json) {

        if (attempt->return_to.len && attempt->return_to.data[0] != '/') {
            ngx_str_null(&attempt->return_to);
        }

        return ngx_http_session_page_redirect(r,
                              ngx_http_session_sign_in_target(r, attempt));
    }

    if (ngx_http_session_csrf_token(r, attempt->session, &csrf) != NGX_OK) {
        return ngx_http_session_page_error(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                           "internal");
    }

    if (ngx_http_session_sign_in_cookies(r, attempt->session) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (json) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                           ngx_http_session_sign_in_show_json,
                                           attempt);
    }

    if (attempt->session->record) {
        attempt->login = attempt->session->record->login;
    }

    values = ngx_http_session_sign_in_values(r, attempt, &csrf);
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    status = NGX_HTTP_OK;

    if (attempt->session->status == NGX_HTTP_SESSION_STORE_ERROR) {
        ngx_http_session_page_flag(values,
                                   NGX_HTTP_SESSION_SIGN_IN_ERROR_STORE);
        status = NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    ngx_http_session_sign_in_reason(values, attempt);

    return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_SIGN_IN, status,
                                      values);
}


/* The form's token needs its cookie, and a dead session's cookie goes. */

static ngx_int_t
ngx_http_session_sign_in_cookies(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx)
{
    if (ctx->pre.len
        && ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_PRE,
                                       &ctx->pre)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_session_expire_cookie(r, ctx);
}


/* Why the visitor, who had a session, is here. */

static void
ngx_http_session_sign_in_reason(text_value_t *values,
    ngx_http_session_attempt_t *attempt)
{
    ngx_uint_t  slot;

    switch (attempt->session->status) {

    case NGX_HTTP_SESSION_IDLE:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_IDLE;
        break;

    case NGX_HTTP_SESSION_EXPIRED:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_EXPIRED;
        break;

    case NGX_HTTP_SESSION_REVOKED:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_REVOKED;
        break;

    case NGX_HTTP_SESSION_DISABLED:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_DISABLED;
        break;

    case NGX_HTTP_SESSION_DUPLICATE:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_DUPLICATE;
        break;

    case NGX_HTTP_SESSION_VALID:
        slot = NGX_HTTP_SESSION_SIGN_IN_REASON_FRESH;
        break;

    default:
        return;
    }

    ngx_http_session_page_flag(values, slot);
}


ngx_int_t
ngx_http_session_attempt_answer(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_http_session_attempt_e result)
{
    const ngx_http_session_sign_in_answer_t  *answer;

    if (result == NGX_HTTP_SESSION_ATTEMPT_OK) {
        return ngx_http_session_sign_in_done(r, attempt);
    }

    answer = &ngx_http_session_sign_in_answers[result];

    if (result == NGX_HTTP_SESSION_ATTEMPT_ERROR) {
        return answer->status;
    }

    if (answer->status == NGX_HTTP_SERVICE_UNAVAILABLE && attempt->wait == 0) {
        attempt->wait = 2;      /* the store is tried again that often */
    }

    if (attempt->wait
        && ngx_http_session_sign_in_retry_after(r, attempt->wait) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_sign_in_refuse(r, attempt, answer);
}


/*
 * The form again, with what was typed in it, but never the password.  The
 * pre-session cookie is set by GET only, so where there is no token without a
 * new one, and where another site may have filled in the form, it is a page
 * that leads back to the form.
 */

static ngx_int_t
ngx_http_session_sign_in_refuse(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt,
    const ngx_http_session_sign_in_answer_t *answer)
{
    ngx_str_t      csrf;
    const char    *ignored;
    text_value_t  *values;

    if (answer->slot == 0 || ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_error(r, answer->status, answer->code);
    }

    if (answer->slot == NGX_HTTP_SESSION_SIGN_IN_ERROR_CSRF
        && ngx_http_session_origin_check(r, &ignored) != NGX_OK)
    {
        return ngx_http_session_page_error(r, answer->status, answer->code);
    }

    if (attempt->session->record == NULL
        && !ngx_http_session_attempt_pre(r, attempt))
    {
        return ngx_http_session_page_error(r, answer->status, answer->code);
    }

    if (ngx_http_session_csrf_token(r, attempt->session, &csrf) != NGX_OK) {
        return ngx_http_session_page_error(r, answer->status, answer->code);
    }

    values = ngx_http_session_sign_in_values(r, attempt, &csrf);
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_session_page_flag(values, answer->slot);

    if (attempt->wait
        && ngx_http_session_sign_in_wait(r, values, attempt->wait) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_SIGN_IN,
                                      answer->status, values);
}


static text_value_t *
ngx_http_session_sign_in_values(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_str_t *csrf)
{
    text_value_t  *values;

    values = ngx_http_session_page_values(r, NGX_HTTP_SESSION_TPL_SIGN_IN);
    if (values == NULL) {
        return NULL;
    }

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_IN_ACTION,
                              &r->uri);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_IN_CSRF, csrf);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_IN_LOGIN,
                              &attempt->login);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_IN_RETURN_TO,
                              &attempt->return_to);

    return values;
}


static ngx_int_t
ngx_http_session_sign_in_wait(ngx_http_request_t *r, text_value_t *values,
    ngx_uint_t seconds)
{
    if (seconds < NGX_HTTP_SESSION_SIGN_IN_MINUTES_MIN) {
        return ngx_http_session_page_number(r, values,
                                       NGX_HTTP_SESSION_SIGN_IN_WAIT_SECONDS,
                                       seconds);
    }

    return ngx_http_session_page_number(r, values,
                                       NGX_HTTP_SESSION_SIGN_IN_WAIT_MINUTES,
                                       (seconds + 59) / 60);
}


static ngx_int_t
ngx_http_session_sign_in_retry_after(ngx_http_request_t *r,
    ngx_uint_t seconds)
{
    ngx_str_t  value;

    value.data = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = ngx_sprintf(value.data, "%ui", seconds) - value.data;

    return ngx_http_session_header_out(r, "Retry-After", &value);
}


/*
 * From here on the session exists.  Should the answer fail now for want of
 * memory, nobody has its token, and the attempt has it ended.
 */

static ngx_int_t
ngx_http_session_sign_in_done(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    u_char     *p;
    ngx_str_t   token, device, none;

    p = ngx_pnalloc(r->pool, NGX_HTTP_SESSION_TOKEN_LEN
                             + NGX_HTTP_SESSION_DEVICE_LEN);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    token.data = p;
    token.len = NGX_HTTP_SESSION_TOKEN_LEN;
    device.data = p + NGX_HTTP_SESSION_TOKEN_LEN;
    device.len = NGX_HTTP_SESSION_DEVICE_LEN;
    ngx_str_null(&none);

    ngx_http_session_token_sign(attempt->conf->realm_index, attempt->id,
                                token.data);
    ngx_http_session_device_sign(attempt->conf->realm_index,
                                 attempt->user.user, device.data);

    if (ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_SESSION,
                                    &token) != NGX_OK
        || ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_DEVICE,
                                       &device) != NGX_OK
        || ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_PRE, &none)
           != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "session: signed in from %V, realm \"%V\"",
                  &r->connection->addr_text, &attempt->conf->realm);

    if (ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                              ngx_http_session_sign_in_done_json,
                              ngx_http_session_sign_in_target(r, attempt));
    }

    return ngx_http_session_page_redirect(r,
                              ngx_http_session_sign_in_target(r, attempt));
}


static ngx_str_t *
ngx_http_session_sign_in_target(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t         *uri;
    static ngx_str_t   root = ngx_string("/");

    if (attempt->return_to.len) {
        return &attempt->return_to;
    }

    uri = ngx_http_session_page_uri(r, NGX_HTTP_SESSION_PAGE_DASHBOARD);

    return uri ? uri : &root;
}


static void
ngx_http_session_sign_in_show_json(text_json_t *json, void *data)
{
    ngx_http_session_attempt_t *attempt = data;

    ngx_str_t                        *text;
    ngx_http_session_ctx_t           *ctx;
    const ngx_http_session_record_t  *record;

    ctx = attempt->session;
    record = ctx->record;
    text = &ngx_http_session_status_names[ctx->status];

    text_json_object(json, NULL);
    text_json_bool(json, "signed_in", record != NULL);

    if (record) {
        text_json_string(json, "user", (text_span_t) { record->login.data,
                                                       record->login.len });
    }

    text_json_string(json, "session", (text_span_t) { text->data, text->len });
    text_json_string(json, "csrf_token", (text_span_t) { ctx->csrf.data,
                                                         ctx->csrf.len });

    if (attempt->return_to.len) {
        text_json_string(json, "return_to",
                         (text_span_t) { attempt->return_to.data,
                                         attempt->return_to.len });
    }

    text_json_object_end(json);
}


static void
ngx_http_session_sign_in_done_json(text_json_t *json, void *data)
{
    ngx_str_t *target = data;

    text_json_object(json, NULL);
    text_json_bool(json, "ok", 1);
    text_json_string(json, "return_to",
                     (text_span_t) { target->data, target->len });
    text_json_object_end(json);
}
