
/*
 * The nonce: 16 random bytes in base64, one per main request, and the context
 * that keeps it over internal redirects, error pages and subrequests.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_csp.h"


#define NGX_HTTP_CSP_NONCE_BYTES  16


static void ngx_http_csp_cleanup(void *data);


ngx_int_t
ngx_http_csp_nonce(ngx_http_request_t *r, ngx_str_t *nonce)
{
    u_char               bytes[NGX_HTTP_CSP_NONCE_BYTES];
    ngx_str_t            src, dst;
    ngx_http_csp_ctx_t  *ctx;

    ctx = ngx_http_csp_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (!ctx->drawn) {

        if (ngx_http_session_random(bytes, NGX_HTTP_CSP_NONCE_BYTES)
            != NGX_OK)
        {
            ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0,
                          "no randomness for a nonce");
            return NGX_ERROR;
        }

        src.data = bytes;
        src.len = NGX_HTTP_CSP_NONCE_BYTES;
        dst.data = ctx->nonce;

        ngx_encode_base64(&dst, &src);

        ctx->drawn = 1;
    }

    nonce->data = ctx->nonce;
    nonce->len = TEXT_CSP_NONCE_CHARS;

    return NGX_OK;
}


ngx_int_t
ngx_http_csp_nonce_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t  nonce;

    if (ngx_http_csp_nonce(r, &nonce) != NGX_OK) {
        return NGX_ERROR;
    }

    v->len = nonce.len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
    v->data = nonce.data;

    return NGX_OK;
}


ngx_int_t
ngx_http_csp_own_page(ngx_http_request_t *r)
{
    ngx_http_csp_ctx_t  *ctx;

    ctx = ngx_http_csp_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    ctx->own = r->main->loc_conf;

    return NGX_OK;
}


/*
 * Internal redirects clear the contexts of modules, so this one belongs to
 * the request's pool, where it is found again.
 */

ngx_http_csp_ctx_t *
ngx_http_csp_find_ctx(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;
    ngx_http_csp_ctx_t  *ctx;

    r = r->main;

    ctx = ngx_http_get_module_ctx(r, ngx_http_csp_filter_module);

    if (ctx || !(r->internal || r->filter_finalize)) {
        return ctx;
    }

    for (cln = r->pool->cleanup; cln; cln = cln->next) {

        if (cln->handler == ngx_http_csp_cleanup) {
            ctx = cln->data;
            ngx_http_set_ctx(r, ctx, ngx_http_csp_filter_module);
            break;
        }
    }

    return ctx;
}


ngx_http_csp_ctx_t *
ngx_http_csp_get_ctx(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t  *cln;
    ngx_http_csp_ctx_t  *ctx;

    ctx = ngx_http_csp_find_ctx(r);
    if (ctx) {
        return ctx;
    }

    r = r->main;

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_csp_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_http_csp_ctx_t));

    cln->handler = ngx_http_csp_cleanup;
    ngx_http_set_ctx(r, ctx, ngx_http_csp_filter_module);

    return ctx;
}


/* The context has nothing to free: this is the name it is found by. */

static void
ngx_http_csp_cleanup(void *data)
{
    ngx_http_csp_ctx_t *ctx = data;

    ctx->drawn = 0;
}
