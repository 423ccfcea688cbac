
/*
 * The way of a request: PREACCESS finds out who it is and cleans what the
 * upstream will see; ACCESS decides.  Subrequests, for which nginx skips
 * ACCESS, are decided in PREACCESS.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static ngx_int_t ngx_http_session_subrequest(ngx_http_request_t *r,
    const ngx_http_session_loc_conf_t *slcf, ngx_http_session_ctx_t *ctx);
static ngx_int_t ngx_http_session_roles_ok(
    const ngx_http_session_require_t *require, const ngx_str_t *roles);
static ngx_int_t ngx_http_session_has_role(const ngx_str_t *roles,
    const ngx_str_t *role);


ngx_int_t
ngx_http_session_preaccess_handler(ngx_http_request_t *r)
{
    ngx_http_session_ctx_t             *ctx;
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    /*
     * A page of ours has no upstream to protect, and asks who it is by itself
     * if it wants to know: a health check or a style sheet costs no look-up.
     */

    if (slcf->page != NGX_CONF_UNSET_UINT && r == r->main) {
        return NGX_DECLINED;
    }

    if (!slcf->enable) {

        /* what an earlier location forwarded must not leak out of this one */

        if (!r->internal) {
            return NGX_DECLINED;
        }

        ctx = ngx_http_session_get_ctx(r);
        if (ctx == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (!ctx->scrubbed) {
            return NGX_DECLINED;
        }

    } else {

        ctx = ngx_http_session_identify(r);
        if (ctx == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (ngx_http_session_forward(r, ctx) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (r != r->main) {
        return ngx_http_session_subrequest(r, slcf, ctx);
    }

    return NGX_DECLINED;
}


/*
 * SSI, addition, mirror, slice and auth_request reach locations by
 * subrequests.  The answer has no body of its own, so that a page around it
 * shows nothing and auth_request understands it.
 */

static ngx_int_t
ngx_http_session_subrequest(ngx_http_request_t *r,
    const ngx_http_session_loc_conf_t *slcf, ngx_http_session_ctx_t *ctx)
{
    ngx_int_t  rc;

    if (!slcf->enable
        || slcf->require->mode == NGX_HTTP_SESSION_REQUIRE_OFF)
    {
        return NGX_DECLINED;
    }

    rc = ngx_http_session_decide(r, ctx);

    if (rc == NGX_OK || rc == NGX_DECLINED) {
        return NGX_DECLINED;
    }

    ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                  "session: subrequest refused with %i, session is %V", rc,
                  &ngx_http_session_status_names[ctx->status]);

    r->headers_out.status = rc;
    ngx_http_clear_content_length(r);
    r->header_only = 1;

    /* not the status itself: core would answer that with a body */

    rc = ngx_http_send_header(r);
    ngx_http_finalize_request(r, rc == NGX_ERROR ? NGX_ERROR : NGX_OK);

    return NGX_DONE;
}


ngx_int_t
ngx_http_session_access_handler(ngx_http_request_t *r)
{
    ngx_int_t                           rc;
    const char                         *why;
    ngx_http_session_ctx_t             *ctx;
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    /* nothing to say: never NGX_OK, that would open "satisfy any" */

    if (!slcf->enable
        || slcf->require->mode == NGX_HTTP_SESSION_REQUIRE_OFF)
    {
        return NGX_DECLINED;
    }

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    rc = ngx_http_session_decide(r, ctx);

    if (rc == NGX_OK && r->headers_in.upgrade) {
        rc = ngx_http_session_origin_check(r, &why);

        if (rc != NGX_OK) {
            ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                          "session: handshake refused: %s", why);

            rc = (rc == NGX_DECLINED) ? NGX_HTTP_FORBIDDEN
                                      : NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
    }

    if (rc == NGX_OK || rc == NGX_DECLINED) {
        return rc;
    }

    rc = ngx_http_session_refuse(r, ctx, rc);

    if (rc == NGX_ERROR || rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    /* the answer has been sent */

    ngx_http_finalize_request(r, rc);

    return NGX_DONE;
}


ngx_int_t
ngx_http_session_decide(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    const ngx_http_session_require_t   *require;
    const ngx_http_session_loc_conf_t  *slcf;
    const ngx_http_session_srv_conf_t  *sscf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);
    require = slcf->require;

    if (require->mode == NGX_HTTP_SESSION_REQUIRE_OFF) {
        return NGX_DECLINED;
    }

    if (ctx->status == NGX_HTTP_SESSION_STORE_ERROR) {
        return NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    if (ctx->record == NULL) {

        /* sending people to sign in would send them in a circle */

        return ngx_http_session_store_up() ? NGX_HTTP_UNAUTHORIZED
                                           : NGX_HTTP_SERVICE_UNAVAILABLE;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (ctx->realm != sscf->realm_index) {
        return NGX_HTTP_UNAUTHORIZED;
    }

    if (!ngx_http_session_roles_ok(require, &ctx->record->roles)) {
        return NGX_HTTP_FORBIDDEN;
    }

    ctx->stale = (require->fresh
                  && ngx_time() - ctx->record->authenticated
                     >= require->fresh);

    return ctx->stale ? NGX_HTTP_UNAUTHORIZED : NGX_OK;
}


/* Of each role= one role is needed. */

static ngx_int_t
ngx_http_session_roles_ok(const ngx_http_session_require_t *require,
    const ngx_str_t *roles)
{
    ngx_str_t    *role;
    ngx_uint_t    i, j;
    ngx_array_t  *any;

    any = require->all.elts;

    for (i = 0; i < require->all.nelts; i++) {
        role = any[i].elts;

        for (j = 0; j < any[i].nelts; j++) {
            if (ngx_http_session_has_role(roles, &role[j])) {
                break;
            }
        }

        if (j == any[i].nelts) {
            return 0;
        }
    }

    return 1;
}


static ngx_int_t
ngx_http_session_has_role(const ngx_str_t *roles, const ngx_str_t *role)
{
    u_char  *p, *comma, *last;
    size_t   len;

    p = roles->data;
    last = p + roles->len;

    while (p < last) {
        comma = ngx_strlchr(p, last, ',');
        len = (comma ? comma : last) - p;

        if (len == role->len && ngx_memcmp(p, role->data, len) == 0) {
            return 1;
        }

        p += len + 1;
    }

    return 0;
}
