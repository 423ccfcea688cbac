/*
 * session_page sign_out.
 *
 *   GET            asks, or says that nobody is signed in
 *   POST, DELETE   form -> csrf -> end -> ended -> answer
 *                                   |  writer |
 *
 * The session is over, on disk, before the client is told so.  Where that
 * cannot be had the answer is 503 and the cookie stays: a user who is told to
 * be signed out must be.
 */

#include "ngx_http_session_page.h"


typedef struct {
    ngx_http_session_ctx_t     *session;
    ngx_http_session_waiter_t  *waiter;
} ngx_http_session_sign_out_t;


static ngx_int_t ngx_http_session_sign_out_ask(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static void ngx_http_session_sign_out_form(ngx_http_request_t *r,
    ngx_http_session_form_t *form);
static ngx_int_t ngx_http_session_sign_out_end(ngx_http_request_t *r,
    ngx_http_session_sign_out_t *out);
static void ngx_http_session_sign_out_ended(ngx_http_request_t *r,
    void *data);
static ngx_int_t ngx_http_session_sign_out_nobody(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static ngx_int_t ngx_http_session_sign_out_done(ngx_http_request_t *r);
static ngx_int_t ngx_http_session_sign_out_answer(ngx_http_request_t *r);
static ngx_int_t ngx_http_session_sign_out_unavailable(ngx_http_request_t *r,
    const char *code);
static void ngx_http_session_sign_out_ask_json(text_json_t *json, void *data);
static void ngx_http_session_sign_out_done_json(text_json_t *json,
    void *data);


static const ngx_str_t  ngx_http_session_sign_out_fields[] = {
    ngx_string("_csrf")
};


ngx_int_t
ngx_http_session_page_sign_out_handler(ngx_http_request_t *r)
{
    ngx_http_session_ctx_t       *ctx;
    ngx_http_session_sign_out_t  *out;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD)) {
        return ngx_http_session_sign_out_ask(r, ctx);
    }

    out = ngx_pcalloc(r->pool, sizeof(ngx_http_session_sign_out_t));
    if (out == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    out->session = ctx;

    return ngx_http_session_form_read(r, ngx_http_session_sign_out_fields, 1,
                                      ngx_http_session_sign_out_form, out);
}


static ngx_int_t
ngx_http_session_sign_out_ask(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx)
{
    ngx_str_t      csrf;
    text_value_t  *values;

    if (ctx->status == NGX_HTTP_SESSION_STORE_ERROR) {
        return ngx_http_session_sign_out_unavailable(r, "store_unavailable");
    }

    if (ngx_http_session_expire_cookie(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->record
        && ngx_http_session_csrf_token(r, ctx, &csrf) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                          ngx_http_session_sign_out_ask_json,
                                          ctx);
    }

    if (ctx->record == NULL) {
        values = ngx_http_session_page_values(r,
                                             NGX_HTTP_SESSION_TPL_SIGNED_OUT);
        if (values == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_SIGNED_OUT,
                                          NGX_HTTP_OK, values);
    }

    values = ngx_http_session_page_values(r, NGX_HTTP_SESSION_TPL_SIGN_OUT);
    if (values == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_OUT_ACTION,
                              &r->uri);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SIGN_OUT_CSRF, &csrf);

    return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_SIGN_OUT,
                                      NGX_HTTP_OK, values);
}


static void
ngx_http_session_sign_out_form(ngx_http_request_t *r,
    ngx_http_session_form_t *form)
{
    ngx_int_t                     rc;
    ngx_str_t                     field;
    const char                   *why;
    ngx_http_session_sign_out_t  *out;

    out = form->data;
    field = ngx_http_session_form_value(form, 0);

    rc = ngx_http_session_csrf_check(r, out->session, &field, &why);

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "session: sign-out refused: %s", why);

        rc = (rc == NGX_DECLINED)
             ? ngx_http_session_page_error(r, NGX_HTTP_FORBIDDEN, "csrf")
             : ngx_http_session_sign_out_unavailable(r, "store_unavailable");

    } else if (out->session->record == NULL) {
        rc = ngx_http_session_sign_out_nobody(r, out->session);

    } else {
        rc = ngx_http_session_sign_out_end(r, out);

        if (rc == NGX_OK) {
            return;
        }
    }

    ngx_http_finalize_request(r, rc);
}


/* NGX_OK: ended() will be called; else what to finalize the request with. */

static ngx_int_t
ngx_http_session_sign_out_end(ngx_http_request_t *r,
    ngx_http_session_sign_out_t *out)
{
    ngx_str_t               agent;
    ngx_http_session_op_t  *op;

    out->waiter = ngx_http_session_wait(r, ngx_http_session_sign_out_ended,
                                        out);
    if (out->waiter == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_str_null(&agent);

    if (r->headers_in.user_agent) {
        agent = r->headers_in.user_agent->value;
    }

    op = ngx_http_session_op_end(NGX_HTTP_SESSION_END_SIGN_OUT,
                                 out->session->record, NULL,
                                 &r->connection->addr_text, &agent,
                                 ngx_time());
    if (op == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_writer_submit(op, out->waiter, 0) != NGX_OK) {
        return ngx_http_session_sign_out_unavailable(r, "busy");
    }

    return NGX_OK;
}


static void
ngx_http_session_sign_out_ended(ngx_http_request_t *r, void *data)
{
    ngx_http_session_sign_out_t *out = data;

    ngx_int_t  rc;

    switch (out->waiter->outcome) {

    case NGX_HTTP_SESSION_OP_OK:
    case NGX_HTTP_SESSION_OP_GONE:      /* over already */
        rc = ngx_http_session_sign_out_done(r);
        break;

    case NGX_HTTP_SESSION_OP_BUSY:
        rc = ngx_http_session_sign_out_unavailable(r, "busy");
        break;

    case NGX_HTTP_SESSION_OP_UNKNOWN:
        rc = ngx_http_session_sign_out_unavailable(r, "outcome_unknown");
        break;

    default:
        rc = ngx_http_session_sign_out_unavailable(r, "store_unavailable");
        break;
    }

    ngx_http_finalize_request(r, rc);
}


/*
 * Nothing to end, but that must be certain: a token that is good and could
 * not be looked up, or that comes from the future, may be a live session.  A
 * token of a key that is not loaded is no use to anybody here, and the user
 * wants to be rid of it.
 */

static ngx_int_t
ngx_http_session_sign_out_nobody(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx)
{
    switch (ctx->status) {

    case NGX_HTTP_SESSION_STORE_ERROR:
    case NGX_HTTP_SESSION_FUTURE:
        return ngx_http_session_sign_out_unavailable(r, "store_unavailable");

    case NGX_HTTP_SESSION_NONE:
        return ngx_http_session_sign_out_answer(r);

    default:
        return ngx_http_session_sign_out_done(r);
    }
}


/* Expires the cookie and answers. */

static ngx_int_t
ngx_http_session_sign_out_done(ngx_http_request_t *r)
{
    ngx_str_t         none;
    static ngx_str_t  cache = ngx_string("\"cache\"");

    ngx_str_null(&none);

    /*
     * Pages that the user saw may lie in the browser's cache.  Not "cookies"
     * and "storage": those belong to the application, and to others who share
     * the domain.
     */

    if (ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_SESSION, &none)
        != NGX_OK
        || ngx_http_session_header_out(r, "Clear-Site-Data", &cache) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_sign_out_answer(r);
}


/* GET of this page shows a person that nobody is signed in any more. */

static ngx_int_t
ngx_http_session_sign_out_answer(ngx_http_request_t *r)
{
    if (ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                         ngx_http_session_sign_out_done_json,
                                         NULL);
    }

    return ngx_http_session_page_redirect(r, &r->uri);
}


static ngx_int_t
ngx_http_session_sign_out_unavailable(ngx_http_request_t *r, const char *code)
{
    static ngx_str_t  retry_after = ngx_string("2");

    if (ngx_http_session_header_out(r, "Retry-After", &retry_after) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_page_error(r, NGX_HTTP_SERVICE_UNAVAILABLE, code);
}


static void
ngx_http_session_sign_out_ask_json(text_json_t *json, void *data)
{
    ngx_http_session_ctx_t *ctx = data;

    text_json_object(json, NULL);
    text_json_bool(json, "signed_in", ctx->record != NULL);

    if (ctx->record) {
        text_json_string(json, "csrf_token", (text_span_t) { ctx->csrf.data,
                                                             ctx->csrf.len });
    }

    text_json_object_end(json);
}


static void
ngx_http_session_sign_out_done_json(text_json_t *json, void *data)
{
    text_json_object(json, NULL);
    text_json_bool(json, "ok", 1);
    text_json_object_end(json);
}
