
/*
 * Refusals that fit the client: a browser's navigation goes to sign-in and
 * comes back, a fetch() gets JSON it can act on, a program gets a status.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_page.h"
#include "text/accept.h"
#include "text/escape.h"
#include "text/redirect.h"


typedef struct {
    ngx_http_session_ctx_t  *ctx;
    ngx_str_t                sign_in;       /* len 0: none */
} ngx_http_session_refusal_t;


static ngx_int_t ngx_http_session_wants_redirect(ngx_http_request_t *r);
static void ngx_http_session_audit(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static ngx_int_t ngx_http_session_redirect(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static ngx_int_t ngx_http_session_unauthorized(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static void ngx_http_session_unauthorized_json(text_json_t *json, void *data);
static ngx_int_t ngx_http_session_has_error_page(ngx_http_request_t *r,
    ngx_int_t status);
static ngx_int_t ngx_http_session_accepts(ngx_http_request_t *r,
    text_accept_t kind, u_char letter);
static ngx_str_t *ngx_http_session_sign_in_base(ngx_http_request_t *r);
static ngx_int_t ngx_http_session_return_to(ngx_http_request_t *r,
    ngx_int_t absolute, ngx_str_t *target);


static ngx_str_t  ngx_http_session_no_store = ngx_string("no-store");
static ngx_str_t  ngx_http_session_retry_after = ngx_string("2");


ngx_int_t
ngx_http_session_refuse(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx,
    ngx_int_t status)
{
    ngx_int_t  rc, page;

    ctx->refused = 1;

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "session: refused with %i, session is %V%s", status,
                  &ngx_http_session_status_names[ctx->status],
                  ctx->stale ? " but not fresh" : "");

    ngx_http_session_audit(r, ctx);

    r->expect_tested = 1;               /* a body to be dropped is not wanted */
    rc = ngx_http_discard_request_body(r);
    if (rc != NGX_OK) {
        return rc;
    }

    page = ngx_http_session_has_error_page(r, status);

    if (status == NGX_HTTP_UNAUTHORIZED && !page
        && ngx_http_session_wants_redirect(r))
    {
        rc = ngx_http_session_redirect(r, ctx);

        if (rc != NGX_DECLINED) {
            return rc;
        }
    }

    /* a challenge of auth_basic belongs to a 401 only */

    if (status != NGX_HTTP_UNAUTHORIZED && r->headers_out.www_authenticate) {
        r->headers_out.www_authenticate->hash = 0;
        r->headers_out.www_authenticate = NULL;
    }

    if (status == NGX_HTTP_SERVICE_UNAVAILABLE
        && ngx_http_session_header_out(r, "Retry-After",
                                       &ngx_http_session_retry_after)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (status == NGX_HTTP_UNAUTHORIZED
        && ngx_http_session_expire_cookie(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (page) {
        return status;
    }

    switch (status) {

    case NGX_HTTP_UNAUTHORIZED:
        return ngx_http_session_unauthorized(r, ctx);

    case NGX_HTTP_FORBIDDEN:
        return ngx_http_session_page_error(r, status, "forbidden");

    default:
        return ngx_http_session_page_error(r, status, "store_unavailable");
    }
}


static ngx_int_t
ngx_http_session_wants_redirect(ngx_http_request_t *r)
{
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (slcf->refuse == NGX_HTTP_SESSION_REFUSE_AUTO) {
        return ngx_http_session_is_navigation(r);
    }

    return slcf->refuse == NGX_HTTP_SESSION_REFUSE_REDIRECT;
}


/* A refusal of a token that passed its MAC; once a minute, the adapter sees
 * to that.  Strangers write nothing. */

static void
ngx_http_session_audit(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    u_char                  key[NGX_HTTP_SESSION_KEY_LEN];
    ngx_http_session_op_t  *op;

    if (!ctx->has_id || ctx->record
        || ctx->status == NGX_HTTP_SESSION_STORE_ERROR)
    {
        return;
    }

    ngx_http_session_token_key(ctx->id, key);

    op = ngx_http_session_op_refused(ctx->realm, key, ctx->status,
                                     &r->connection->addr_text, ngx_time());
    if (op) {
        (void) ngx_http_session_writer_submit(op, NULL, 1);
    }
}


static ngx_int_t
ngx_http_session_redirect(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    ngx_int_t  rc;
    ngx_str_t  url;

    rc = ngx_http_session_sign_in_url(r, &url);
    if (rc != NGX_OK) {
        return rc;
    }

    if (r->headers_out.www_authenticate) {
        r->headers_out.www_authenticate->hash = 0;
        r->headers_out.www_authenticate = NULL;
    }

    if (ngx_http_session_header_out(r, "Location", &url) != NGX_OK
        || ngx_http_session_header_out(r, "Cache-Control",
                                       &ngx_http_session_no_store) != NGX_OK
        || ngx_http_session_expire_cookie(r, ctx) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_HTTP_MOVED_TEMPORARILY;
}


static ngx_int_t
ngx_http_session_unauthorized(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx)
{
    ngx_str_t                   *base;
    ngx_http_session_refusal_t   refusal;

    refusal.ctx = ctx;
    ngx_str_null(&refusal.sign_in);

    base = ngx_http_session_sign_in_base(r);

    if (base) {
        refusal.sign_in = *base;
    }

    return ngx_http_session_page_send_json(r, NGX_HTTP_UNAUTHORIZED,
                                           ngx_http_session_unauthorized_json,
                                           &refusal);
}


static void
ngx_http_session_unauthorized_json(text_json_t *json, void *data)
{
    ngx_http_session_refusal_t *refusal = data;

    ngx_str_t  *status;

    status = &ngx_http_session_status_names[refusal->ctx->status];

    text_json_object(json, NULL);
    text_json_string(json, "error", refusal->ctx->stale
                                    ? text_span("reauthentication_required")
                                    : text_span("unauthorized"));
    text_json_string(json, "session",
                     (text_span_t) { status->data, status->len });

    if (refusal->sign_in.len) {
        text_json_string(json, "sign_in",
                         (text_span_t) { refusal->sign_in.data,
                                         refusal->sign_in.len });
    }

    text_json_object_end(json);
}


/* An operator's error_page for the status goes before our own page. */

static ngx_int_t
ngx_http_session_has_error_page(ngx_http_request_t *r, ngx_int_t status)
{
    ngx_uint_t                 i;
    ngx_http_err_page_t       *page;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (clcf->error_pages == NULL || r->error_page) {
        return 0;
    }

    page = clcf->error_pages->elts;

    for (i = 0; i < clcf->error_pages->nelts; i++) {
        if (page[i].status == status) {
            return 1;
        }
    }

    return 0;
}


/*
 * Browsers say so themselves (Sec-Fetch-Mode).  Without that header: what
 * scripts set, then whether HTML is wanted at all.
 */

ngx_int_t
ngx_http_session_is_navigation(ngx_http_request_t *r)
{
    ngx_str_t  value;

    if (r->headers_in.upgrade) {
        return 0;
    }

    if (ngx_http_session_header_in(r, "sec-fetch-mode", &value, NULL)
        == NGX_OK)
    {
        return value.len == sizeof("navigate") - 1
               && ngx_strncmp(value.data, "navigate", value.len) == 0;
    }

    if (ngx_http_session_header_in(r, "x-requested-with", &value, NULL)
        == NGX_OK)
    {
        return 0;
    }

    return ngx_http_session_accepts(r, TEXT_ACCEPT_HTML, 'h');
}


ngx_int_t
ngx_http_session_wants_json(ngx_http_request_t *r)
{
    return ngx_http_session_accepts(r, TEXT_ACCEPT_JSON, 'j');
}


/*
 * Each type of the kind has this letter in its name.  A browser's long list
 * has no JSON in it, and that of a script no HTML, so it need not be parsed.
 */

static ngx_int_t
ngx_http_session_accepts(ngx_http_request_t *r, text_accept_t kind,
    u_char letter)
{
    ngx_str_t  value;

    if (ngx_http_session_header_in(r, "accept", &value, NULL) != NGX_OK) {
        return 0;
    }

    if (memchr(value.data, letter, value.len) == NULL
        && memchr(value.data, ngx_toupper(letter), value.len) == NULL)
    {
        return 0;
    }

    return text_accept((text_span_t) { value.data, value.len }) == kind;
}


static ngx_str_t *
ngx_http_session_sign_in_base(ngx_http_request_t *r)
{
    ngx_http_session_loc_conf_t  *slcf;
    ngx_http_session_srv_conf_t  *sscf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (slcf->sign_in.len) {
        return &slcf->sign_in;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    return sscf->uris[NGX_HTTP_SESSION_PAGE_SIGN_IN].len
           ? &sscf->uris[NGX_HTTP_SESSION_PAGE_SIGN_IN] : NULL;
}


ngx_int_t
ngx_http_session_sign_in_url(ngx_http_request_t *r, ngx_str_t *url)
{
    size_t                    len;
    u_char                   *p, separator;
    ngx_int_t                 rc;
    ngx_str_t                *base, target;
    text_span_t               span;
    ngx_http_session_ctx_t   *ctx;

    base = ngx_http_session_sign_in_base(r);
    if (base == NULL) {
        return NGX_DECLINED;
    }

    ctx = ngx_http_session_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    rc = ngx_http_session_return_to(r, base->data[0] != '/', &target);
    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    span.data = target.data;
    span.len = target.len;

    len = text_escape_query(span, NULL, 0);

    p = ngx_pnalloc(r->pool, base->len + sizeof("?fresh=1&return_to=") - 1
                             + len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    url->data = p;
    p = ngx_cpymem(p, base->data, base->len);

    separator = ngx_strlchr(base->data, base->data + base->len, '?')
                ? '&' : '?';

    if (ctx->stale) {
        *p++ = separator;
        p = ngx_cpymem(p, "fresh=1", sizeof("fresh=1") - 1);
        separator = '&';
    }

    if (target.len) {
        *p++ = separator;
        p = ngx_cpymem(p, "return_to=", sizeof("return_to=") - 1);
        p += text_escape_query(span, p, len);
    }

    url->len = p - url->data;

    return NGX_OK;
}


/*
 * The place to come back to: what the client asked for, as it was sent.  Only
 * a safe method can be repeated, and only a path that sign-in will accept is
 * worth sending.  A sign-in on another origin needs the whole URL.
 */

static ngx_int_t
ngx_http_session_return_to(ngx_http_request_t *r, ngx_int_t absolute,
    ngx_str_t *target)
{
    u_char     *p;
    ngx_str_t   origin, *uri;

    ngx_str_null(target);

    r = r->main;
    uri = &r->unparsed_uri;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))
        || !text_return_path((text_span_t) { uri->data, uri->len }))
    {
        return NGX_OK;
    }

    if (!absolute) {
        *target = *uri;
        return NGX_OK;
    }

    if (ngx_http_session_origin(r, &origin) != NGX_OK) {
        return NGX_OK;
    }

    p = ngx_pnalloc(r->pool, origin.len + uri->len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    target->data = p;
    p = ngx_cpymem(p, origin.data, origin.len);
    p = ngx_cpymem(p, uri->data, uri->len);
    target->len = p - target->data;

    return NGX_OK;
}


ngx_int_t
ngx_http_session_return_to_check(ngx_http_request_t *r, ngx_str_t *target)
{
    ngx_str_t                          *origin;
    ngx_uint_t                          i;
    text_span_t                         span, one;
    const ngx_http_session_srv_conf_t  *sscf;

    span.data = target->data;
    span.len = target->len;

    if (text_return_path(span)) {
        return NGX_OK;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (sscf->returns == NULL) {
        return NGX_DECLINED;
    }

    origin = sscf->returns->elts;

    for (i = 0; i < sscf->returns->nelts; i++) {
        one.data = origin[i].data;
        one.len = origin[i].len;

        if (text_return_origin(span, &one, 1)) {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}
