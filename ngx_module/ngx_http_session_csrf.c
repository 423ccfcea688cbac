
/*
 * Cross-site request forgery: what browsers say of where a request comes
 * from, then a token.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "text/redirect.h"


static ngx_int_t ngx_http_session_site_check(ngx_http_request_t *r,
    const char **why);
static ngx_int_t ngx_http_session_origin_known(ngx_http_request_t *r,
    ngx_str_t *origin, const char **why);
static ngx_int_t ngx_http_session_origin_auto(ngx_http_request_t *r,
    ngx_str_t *origin);
static ngx_int_t ngx_http_session_csrf_given(ngx_http_request_t *r,
    ngx_str_t *field, ngx_str_t *token, const char **why);
static ngx_int_t ngx_http_session_pre_find(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);


/*
 * The token is bound to the session where there is one.  Somebody not signed
 * in gets it bound to the random id in the pre-session cookie: the one sent,
 * or a new one, whose text is then in ctx->pre for the page to set.
 */

ngx_int_t
ngx_http_session_csrf_token(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx,
    ngx_str_t *token)
{
    u_char                             *text, *pre;
    ngx_int_t                           rc;
    const ngx_http_session_srv_conf_t  *sscf;

    if (ctx->csrf.len) {
        *token = ctx->csrf;
        return NGX_OK;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    text = ngx_pnalloc(r->pool, NGX_HTTP_SESSION_CSRF_LEN);
    if (text == NULL) {
        return NGX_ERROR;
    }

    if (ctx->record) {
        rc = ngx_http_session_csrf_sign(sscf->realm_index, ctx->id,
                                        NGX_HTTP_SESSION_ID_LEN, text);

    } else {
        if (ngx_http_session_pre_find(r, ctx) != NGX_OK) {

            pre = ngx_pnalloc(r->pool, NGX_HTTP_SESSION_PRE_LEN);
            if (pre == NULL) {
                return NGX_ERROR;
            }

            if (ngx_http_session_pre_new(sscf->realm_index, ctx->pre_id, pre)
                != NGX_OK)
            {
                return NGX_ERROR;
            }

            ctx->has_pre = 1;
            ctx->pre.data = pre;
            ctx->pre.len = NGX_HTTP_SESSION_PRE_LEN;
        }

        rc = ngx_http_session_csrf_sign(sscf->realm_index, ctx->pre_id,
                                        NGX_HTTP_SESSION_PRE_ID_LEN, text);
    }

    if (rc != NGX_OK) {
        return NGX_ERROR;
    }

    ctx->csrf.data = text;
    ctx->csrf.len = NGX_HTTP_SESSION_CSRF_LEN;

    *token = ctx->csrf;

    return NGX_OK;
}


/*
 * A browser that says where a request comes from has decided it: the token
 * is for those that say nothing.
 */

ngx_int_t
ngx_http_session_csrf_check(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx,
    ngx_str_t *field, const char **why)
{
    ngx_int_t                           rc;
    ngx_str_t                           token;
    const ngx_http_session_srv_conf_t  *sscf;

    rc = ngx_http_session_site_check(r, why);

    if (rc != NGX_DONE) {
        return rc;
    }

    if (ngx_http_session_csrf_given(r, field, &token, why) != NGX_OK) {
        return NGX_DECLINED;
    }

    if (ctx->status == NGX_HTTP_SESSION_STORE_ERROR) {
        *why = "whose token it is cannot be looked up";
        return NGX_ERROR;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (ctx->record) {
        rc = ngx_http_session_csrf_verify(sscf->realm_index, ctx->id,
                                          NGX_HTTP_SESSION_ID_LEN, &token);

    } else {
        /* a pre-session made for this very answer proves nothing */

        if (ctx->pre.len || ngx_http_session_pre_find(r, ctx) != NGX_OK) {
            *why = "no pre-session cookie";
            return NGX_DECLINED;
        }

        rc = ngx_http_session_csrf_verify(sscf->realm_index, ctx->pre_id,
                                          NGX_HTTP_SESSION_PRE_ID_LEN, &token);
    }

    if (rc != NGX_OK) {
        *why = "token does not match";
        return NGX_DECLINED;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_session_origin_check(ngx_http_request_t *r, const char **why)
{
    ngx_int_t  rc;

    rc = ngx_http_session_site_check(r, why);

    return (rc == NGX_DONE) ? NGX_OK : rc;
}


/* NGX_DONE: the request carries neither header. */

static ngx_int_t
ngx_http_session_site_check(ngx_http_request_t *r, const char **why)
{
    ngx_str_t   value;
    ngx_uint_t  count;

    if (ngx_http_session_header_in(r, "sec-fetch-site", &value, &count)
        == NGX_OK)
    {
        if (count > 1) {
            *why = "Sec-Fetch-Site is duplicate";
            return NGX_DECLINED;
        }

        if (value.len == sizeof("same-origin") - 1
            && ngx_memcmp(value.data, "same-origin",
                          sizeof("same-origin") - 1)
               == 0)
        {
            return NGX_OK;
        }

        *why = "Sec-Fetch-Site is not same-origin";
        return NGX_DECLINED;
    }

    if (ngx_http_session_header_in(r, "origin", &value, &count) != NGX_OK) {
        return NGX_DONE;
    }

    if (count > 1) {
        *why = "Origin is duplicate";
        return NGX_DECLINED;
    }

    return ngx_http_session_origin_known(r, &value, why);
}


static ngx_int_t
ngx_http_session_origin_known(ngx_http_request_t *r, ngx_str_t *origin,
    const char **why)
{
    u_char                             *normal;
    size_t                              len;
    ngx_int_t                           rc;
    ngx_str_t                           own, *known;
    ngx_uint_t                          i, n;
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    normal = ngx_pnalloc(r->pool, origin->len + 1);
    if (normal == NULL) {
        *why = "no memory";
        return NGX_ERROR;
    }

    len = text_origin_normal((text_span_t) { origin->data, origin->len },
                             normal, origin->len);

    if (len == 0 || len > origin->len) {
        *why = "Origin is not an origin";
        return NGX_DECLINED;
    }

    if (sscf->origins) {
        known = sscf->origins->elts;
        n = sscf->origins->nelts;

    } else {
        rc = ngx_http_session_origin_auto(r, &own);

        if (rc != NGX_OK) {
            *why = (rc == NGX_ERROR) ? "no memory" : "Host makes no origin";
            return rc;
        }

        known = &own;
        n = 1;
    }

    for (i = 0; i < n; i++) {
        if (known[i].len == len && ngx_memcmp(known[i].data, normal, len) == 0)
        {
            return NGX_OK;
        }
    }

    *why = "Origin is not ours";

    return NGX_DECLINED;
}


ngx_int_t
ngx_http_session_origin(ngx_http_request_t *r, ngx_str_t *origin)
{
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (sscf->origins && sscf->origins->nelts) {
        *origin = *(ngx_str_t *) sscf->origins->elts;
        return NGX_OK;
    }

    return ngx_http_session_origin_auto(r, origin);
}


/*
 * $scheme and the Host header as sent, with its port: what the browser has
 * in its address bar unless something in front ends TLS, and that is what
 * session_origin is for.  X-Forwarded-* are anybody's and never read.
 */

static ngx_int_t
ngx_http_session_origin_auto(ngx_http_request_t *r, ngx_str_t *origin)
{
    u_char     *p, *raw;
    size_t      len, capacity;
    ngx_str_t   host, scheme;

    /* HTTP/3 may come without a Host line */
    host = r->headers_in.host ? r->headers_in.host->value
                              : r->headers_in.server;

    ngx_str_set(&scheme, "http://");

#if (NGX_HTTP_SSL)
    if (r->connection->ssl) {
        ngx_str_set(&scheme, "https://");
    }
#endif

    capacity = scheme.len + host.len;

    raw = ngx_pnalloc(r->pool, 2 * capacity);
    if (raw == NULL) {
        return NGX_ERROR;
    }

    p = ngx_copy(raw, scheme.data, scheme.len);
    p = ngx_copy(p, host.data, host.len);

    len = text_origin_normal((text_span_t) { raw, capacity }, p, capacity);

    if (len == 0 || len > capacity) {
        return NGX_DECLINED;
    }

    origin->data = p;
    origin->len = len;

    return NGX_OK;
}


/* The form's field, else one of the two headers scripts are used to. */

static ngx_int_t
ngx_http_session_csrf_given(ngx_http_request_t *r, ngx_str_t *field,
    ngx_str_t *token, const char **why)
{
    ngx_uint_t  count;

    if (field->len) {
        *token = *field;
        return NGX_OK;
    }

    if (ngx_http_session_header_in(r, "x-csrf-token", token, &count) != NGX_OK
        && ngx_http_session_header_in(r, "x-xsrf-token", token, &count)
           != NGX_OK)
    {
        *why = "no token";
        return NGX_DECLINED;
    }

    if (count > 1) {
        *why = "token header is duplicate";
        return NGX_DECLINED;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_pre_find(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    ngx_str_t                           value;
    const ngx_http_session_srv_conf_t  *sscf;

    if (ctx->has_pre) {
        return NGX_OK;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (ngx_http_session_find_cookie(r, (ngx_str_t *) &sscf->cookie->pre,
                                     &value)
        != NGX_OK)
    {
        return NGX_DECLINED;
    }

    if (ngx_http_session_pre_read(sscf->realm_index, &value, ctx->pre_id)
        != NGX_OK)
    {
        return NGX_DECLINED;
    }

    ctx->has_pre = 1;

    return NGX_OK;
}
