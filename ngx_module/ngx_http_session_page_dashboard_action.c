/*
 * What the dashboard's buttons do: end one session, or all others.
 */

#include "ngx_http_session_page.h"


typedef struct {
    ngx_http_session_end_e      what;
    ngx_http_session_waiter_t  *waiter;
    ngx_http_session_ctx_t     *ctx;
} ngx_http_session_dashboard_action_t;


static void ngx_http_session_dashboard_form(ngx_http_request_t *r,
    ngx_http_session_form_t *form);
static ngx_int_t ngx_http_session_dashboard_submit(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx, ngx_http_session_form_t *form);
static ngx_int_t ngx_http_session_dashboard_choose(
    const ngx_http_session_record_t *record, ngx_http_session_form_t *form,
    ngx_http_session_end_e *what, ngx_str_t *ref);
static void ngx_http_session_dashboard_resume(ngx_http_request_t *r,
    void *data);
static ngx_int_t ngx_http_session_dashboard_done(ngx_http_request_t *r,
    ngx_http_session_dashboard_action_t *action);
static ngx_int_t ngx_http_session_dashboard_back(ngx_http_request_t *r,
    const char *notice);
static ngx_int_t ngx_http_session_dashboard_gone(ngx_http_request_t *r);
static ngx_int_t ngx_http_session_dashboard_busy(ngx_http_request_t *r,
    const char *code);
static void ngx_http_session_dashboard_ended(text_json_t *json, void *data);


enum {
    NGX_HTTP_SESSION_FIELD_CSRF = 0,
    NGX_HTTP_SESSION_FIELD_ACTION,
    NGX_HTTP_SESSION_FIELD_REF,
    NGX_HTTP_SESSION_FIELDS
};

static const ngx_str_t  ngx_http_session_dashboard_fields[] = {
    ngx_string("_csrf"),
    ngx_string("action"),
    ngx_string("ref")
};

static ngx_str_t  ngx_http_session_dashboard_retry = ngx_string("2");


ngx_int_t
ngx_http_session_page_dashboard_post(ngx_http_request_t *r)
{
    return ngx_http_session_form_read(r, ngx_http_session_dashboard_fields,
                                      NGX_HTTP_SESSION_FIELDS,
                                      ngx_http_session_dashboard_form, NULL);
}


static void
ngx_http_session_dashboard_form(ngx_http_request_t *r,
    ngx_http_session_form_t *form)
{
    ngx_int_t                rc;
    ngx_str_t                csrf;
    const char              *why;
    ngx_http_session_ctx_t  *ctx;

    ctx = ngx_http_session_identify(r);

    if (ctx == NULL) {
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
        goto done;
    }

    if (ctx->record == NULL) {
        rc = ngx_http_session_refuse(r, ctx,
                             ctx->status == NGX_HTTP_SESSION_STORE_ERROR
                             ? NGX_HTTP_SERVICE_UNAVAILABLE
                             : NGX_HTTP_UNAUTHORIZED);
        goto done;
    }

    csrf = ngx_http_session_form_value(form, NGX_HTTP_SESSION_FIELD_CSRF);

    rc = ngx_http_session_csrf_check(r, ctx, &csrf, &why);

    if (rc == NGX_ERROR) {
        rc = NGX_HTTP_INTERNAL_SERVER_ERROR;
        goto done;
    }

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                      "session: dashboard form refused: %s", why);

        rc = ngx_http_session_page_error(r, NGX_HTTP_FORBIDDEN, "csrf");
        goto done;
    }

    rc = ngx_http_session_dashboard_submit(r, ctx, form);

    if (rc == NGX_AGAIN) {

        /* the count that reading the body took is the waiter's now */

        return;
    }

done:

    ngx_http_finalize_request(r, rc);
}


/* NGX_AGAIN: resume will be called. */
static ngx_int_t
ngx_http_session_dashboard_submit(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx, ngx_http_session_form_t *form)
{
    ngx_str_t                             ref, agent;
    ngx_http_session_op_t                *op;
    ngx_http_session_dashboard_action_t  *action;

    action = ngx_palloc(r->pool, sizeof(ngx_http_session_dashboard_action_t));
    if (action == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    action->ctx = ctx;

    if (ngx_http_session_dashboard_choose(ctx->record, form, &action->what,
                                          &ref)
        != NGX_OK)
    {
        return ngx_http_session_page_error(r, NGX_HTTP_BAD_REQUEST,
                                           "bad_request");
    }

    ngx_str_null(&agent);

    if (r->headers_in.user_agent) {
        agent = r->headers_in.user_agent->value;
    }

    action->waiter = ngx_http_session_wait(r,
                                           ngx_http_session_dashboard_resume,
                                           action);
    if (action->waiter == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    op = ngx_http_session_op_end(action->what, ctx->record, &ref,
                                 &r->connection->addr_text, &agent,
                                 ngx_time());
    if (op == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_writer_submit(op, action->waiter, 0) != NGX_OK) {
        return ngx_http_session_dashboard_busy(r, "busy");
    }

    return NGX_AGAIN;
}


/* A ref of another user's session is nothing the operation would find. */
static ngx_int_t
ngx_http_session_dashboard_choose(const ngx_http_session_record_t *record,
    ngx_http_session_form_t *form, ngx_http_session_end_e *what,
    ngx_str_t *ref)
{
    ngx_str_t  action;

    action = ngx_http_session_form_value(form, NGX_HTTP_SESSION_FIELD_ACTION);
    *ref = ngx_http_session_form_value(form, NGX_HTTP_SESSION_FIELD_REF);

    if (action.len == 10 && ngx_strncmp(action.data, "end_others", 10) == 0) {
        *what = NGX_HTTP_SESSION_END_OTHERS;
        return NGX_OK;
    }

    if (action.len != 3 || ngx_strncmp(action.data, "end", 3) != 0) {
        return NGX_DECLINED;
    }

    if (ref->len != record->ref.len) {
        return NGX_DECLINED;
    }

    *what = ngx_strncmp(ref->data, record->ref.data, ref->len) == 0
            ? NGX_HTTP_SESSION_END_SIGN_OUT
            : NGX_HTTP_SESSION_END_ONE;

    return NGX_OK;
}


static void
ngx_http_session_dashboard_resume(ngx_http_request_t *r, void *data)
{
    ngx_http_session_dashboard_action_t  *action = data;

    ngx_http_finalize_request(r, ngx_http_session_dashboard_done(r, action));
}


static ngx_int_t
ngx_http_session_dashboard_done(ngx_http_request_t *r,
    ngx_http_session_dashboard_action_t *action)
{
    switch (action->waiter->outcome) {

    case NGX_HTTP_SESSION_OP_OK:
        break;

    case NGX_HTTP_SESSION_OP_GONE:
        if (action->what == NGX_HTTP_SESSION_END_SIGN_OUT) {
            break;
        }

        if (ngx_http_session_wants_json(r)) {
            return ngx_http_session_page_error(r, NGX_HTTP_NOT_FOUND,
                                               "not_found");
        }

        return ngx_http_session_dashboard_back(r, "gone");

    case NGX_HTTP_SESSION_OP_BUSY:
        return ngx_http_session_dashboard_busy(r, "busy");

    case NGX_HTTP_SESSION_OP_UNKNOWN:
        return ngx_http_session_dashboard_busy(r, "outcome_unknown");

    default:
        return ngx_http_session_dashboard_busy(r, "store_unavailable");
    }

    if (action->what == NGX_HTTP_SESSION_END_SIGN_OUT) {
        return ngx_http_session_dashboard_gone(r);
    }

    if (ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                             ngx_http_session_dashboard_ended,
                                             &action->waiter->count);
    }

    return ngx_http_session_dashboard_back(r,
                              action->what == NGX_HTTP_SESSION_END_OTHERS
                              ? "others" : "ended");
}


/* Back to where the form came from, which is this location. */
static ngx_int_t
ngx_http_session_dashboard_back(ngx_http_request_t *r, const char *notice)
{
    u_char     *p;
    ngx_str_t   location;

    location.len = r->uri.len + sizeof("?notice=") - 1 + ngx_strlen(notice);

    location.data = ngx_pnalloc(r->pool, location.len);
    if (location.data == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    p = ngx_cpymem(location.data, r->uri.data, r->uri.len);
    p = ngx_cpymem(p, "?notice=", sizeof("?notice=") - 1);
    ngx_memcpy(p, notice, ngx_strlen(notice));

    return ngx_http_session_page_redirect(r, &location);
}


/* The session that asked is over: as page sign_out answers. */
static ngx_int_t
ngx_http_session_dashboard_gone(ngx_http_request_t *r)
{
    ngx_uint_t          i, one;
    ngx_str_t          *uri, empty;

    static ngx_str_t    root = ngx_string("/");
    static ngx_str_t    cache = ngx_string("\"cache\"");

    static const ngx_http_session_page_e  pages[] = {
        NGX_HTTP_SESSION_PAGE_SIGN_OUT,
        NGX_HTTP_SESSION_PAGE_SIGN_IN
    };

    ngx_str_set(&empty, "");

    if (ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_SESSION,
                                    &empty)
        != NGX_OK
        || ngx_http_session_header_out(r, "Clear-Site-Data", &cache) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_wants_json(r)) {
        one = 1;

        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                             ngx_http_session_dashboard_ended,
                                             &one);
    }

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        uri = ngx_http_session_page_uri(r, pages[i]);

        if (uri) {
            return ngx_http_session_page_redirect(r, uri);
        }
    }

    return ngx_http_session_page_redirect(r, &root);
}


static ngx_int_t
ngx_http_session_dashboard_busy(ngx_http_request_t *r, const char *code)
{
    if (ngx_http_session_header_out(r, "Retry-After",
                                    &ngx_http_session_dashboard_retry)
        != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_page_error(r, NGX_HTTP_SERVICE_UNAVAILABLE, code);
}


static void
ngx_http_session_dashboard_ended(text_json_t *json, void *data)
{
    ngx_uint_t  *count = data;

    text_json_object(json, NULL);
    text_json_int(json, "ended", *count);
    text_json_object_end(json);
}
