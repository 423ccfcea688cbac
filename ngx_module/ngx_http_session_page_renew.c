/*
 * A rotation of the keys signs nobody out as long as cookies are signed anew
 * before their key is dropped.
 */

#include "ngx_http_session_page.h"


/*
 * Only on pages of ours that are fetched: no cache keeps them, and a browser
 * that runs many requests at once gets at most few new cookies.  The id stays
 * the same, so it does not matter which of them it keeps.
 */

ngx_int_t
ngx_http_session_page_renew(ngx_http_request_t *r)
{
    ngx_str_t                           token;
    ngx_http_session_ctx_t             *ctx;
    const ngx_http_session_srv_conf_t  *sscf;

    if (!(r->method & (NGX_HTTP_GET|NGX_HTTP_HEAD))) {
        return NGX_OK;
    }

    ctx = ngx_http_session_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (ctx->record == NULL || ctx->key_line == 0
        || ctx->realm != sscf->realm_index)
    {
        return NGX_OK;
    }

    token.data = ngx_pnalloc(r->pool, NGX_HTTP_SESSION_TOKEN_LEN);
    if (token.data == NULL) {
        return NGX_ERROR;
    }

    token.len = NGX_HTTP_SESSION_TOKEN_LEN;

    ngx_http_session_token_sign(sscf->realm_index, ctx->id, token.data);

    return ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_SESSION,
                                       &token);
}
