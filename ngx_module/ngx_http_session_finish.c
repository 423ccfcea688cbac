
/*
 * The end of configuration: what needs all servers at once.  What is missing,
 * what exists once for all of them, and traps that only show when servers are
 * looked at together.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static ngx_int_t ngx_http_session_conf_given(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf);
static ngx_int_t ngx_http_session_conf_zones(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf);
static ngx_int_t ngx_http_session_conf_check_server(ngx_conf_t *cf,
    ngx_http_core_srv_conf_t **cscfp, ngx_uint_t n, ngx_uint_t i);
static ngx_int_t ngx_http_session_conf_same_name(
    ngx_http_core_srv_conf_t *one, ngx_http_core_srv_conf_t *two);
static ngx_flag_t ngx_http_session_conf_has_ssl(ngx_conf_t *cf,
    ngx_http_core_srv_conf_t *cscf);


ngx_int_t
ngx_http_session_conf_finish(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf)
{
    ngx_uint_t                     i;
    ngx_http_core_srv_conf_t     **cscfp;
    ngx_http_core_main_conf_t     *cmcf;
    ngx_http_session_srv_conf_t   *sscf;

    if (ngx_http_session_conf_given(cf, smcf) != NGX_OK
        || ngx_http_session_conf_zones(cf, smcf) != NGX_OK)
    {
        return NGX_ERROR;
    }

    ngx_http_session_store_look(cf, &smcf->store);

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);
    cscfp = cmcf->servers.elts;

    for (i = 0; i < cmcf->servers.nelts; i++) {

        sscf = cscfp[i]->ctx->srv_conf[ngx_http_session_module.ctx_index];

        if (!sscf->used) {
            continue;
        }

        if (ngx_http_session_page_compile(cf, sscf) != NGX_CONF_OK) {
            return NGX_ERROR;
        }

        if (ngx_http_session_conf_check_server(cf, cscfp,
                                               cmcf->servers.nelts, i)
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_conf_given(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf)
{
    const char  *missing;

    if (smcf->store.len && smcf->keys.len) {
        return NGX_OK;
    }

    missing = smcf->store.len ? "session_keys is"
              : smcf->keys.len ? "session_store is"
                               : "session_store and session_keys are";

    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "sessions are used, but %s missing in the http block; make "
                  "them with \"sessionctl init\" and \"sessionctl key new\"",
                  missing);

    return NGX_ERROR;
}


/* Thread pools and the shared zone: what exists once for all servers. */

static ngx_int_t
ngx_http_session_conf_zones(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf)
{
    smcf->writer_pool = ngx_thread_pool_add(cf, NULL);
    if (smcf->writer_pool == NULL) {
        return NGX_ERROR;
    }

    smcf->hash_pool = smcf->writer_pool;

    if (smcf->hash_pool_name.len) {
        smcf->hash_pool = ngx_thread_pool_add(cf, &smcf->hash_pool_name);
        if (smcf->hash_pool == NULL) {
            return NGX_ERROR;
        }
    }

    if (smcf->throttle_size == 0) {
        smcf->throttle_size = NGX_HTTP_SESSION_THROTTLE_SIZE;
    }

    smcf->throttle_zone = ngx_http_session_throttle_zone(cf,
                                                    smcf->throttle_size,
                                                    &ngx_http_session_module);
    if (smcf->throttle_zone == NULL) {
        return NGX_ERROR;
    }

    return NGX_OK;
}


/* Traps that only show when servers are looked at together: warnings. */

static ngx_int_t
ngx_http_session_conf_check_server(ngx_conf_t *cf,
    ngx_http_core_srv_conf_t **cscfp, ngx_uint_t n, ngx_uint_t i)
{
    ngx_uint_t                    j;
    ngx_http_session_srv_conf_t  *sscf, *other;

    sscf = cscfp[i]->ctx->srv_conf[ngx_http_session_module.ctx_index];

    if (sscf->cookie->secure && sscf->origins == NULL
        && !ngx_http_session_conf_has_ssl(cf, cscfp[i]))
    {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "server \"%V\" has a Secure session cookie but no "
                      "\"listen ... ssl\": behind something that ends TLS "
                      "write \"session_origin https://name\", for plain "
                      "http \"session_cookie session secure=off\"",
                      &cscfp[i]->server_name);
    }

    for (j = i + 1; j < n; j++) {
        other = cscfp[j]->ctx->srv_conf[ngx_http_session_module.ctx_index];

        if (other->used && other->realm_index != sscf->realm_index
            && other->cookie->name.len == sscf->cookie->name.len
            && ngx_strncmp(other->cookie->name.data, sscf->cookie->name.data,
                           sscf->cookie->name.len) == 0
            && ngx_http_session_conf_same_name(cscfp[i], cscfp[j]))
        {
            ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                          "servers with the name \"%V\" share the cookie "
                          "\"%V\" but not the realm: signing in to one signs "
                          "out of the other",
                          &cscfp[i]->server_name, &sscf->cookie->name);
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_conf_same_name(ngx_http_core_srv_conf_t *one,
    ngx_http_core_srv_conf_t *two)
{
    ngx_uint_t               i, j;
    ngx_http_server_name_t  *a, *b;

    a = one->server_names.elts;
    b = two->server_names.elts;

    for (i = 0; i < one->server_names.nelts; i++) {
        for (j = 0; j < two->server_names.nelts; j++) {
            if (a[i].name.len == b[j].name.len
                && ngx_strncasecmp(a[i].name.data, b[j].name.data,
                                   a[i].name.len) == 0)
            {
                return 1;
            }
        }
    }

    return 0;
}


static ngx_flag_t
ngx_http_session_conf_has_ssl(ngx_conf_t *cf, ngx_http_core_srv_conf_t *cscf)
{
#if (NGX_HTTP_SSL)
    ngx_uint_t                   p, a, s;
    ngx_http_conf_port_t        *port;
    ngx_http_conf_addr_t        *addr;
    ngx_http_core_srv_conf_t   **server;
    ngx_http_core_main_conf_t   *cmcf;

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    if (cmcf->ports == NULL) {
        return 0;
    }

    port = cmcf->ports->elts;

    for (p = 0; p < cmcf->ports->nelts; p++) {
        addr = port[p].addrs.elts;

        for (a = 0; a < port[p].addrs.nelts; a++) {

            if (!addr[a].opt.ssl) {
                continue;
            }

            server = addr[a].servers.elts;

            for (s = 0; s < addr[a].servers.nelts; s++) {
                if (server[s] == cscf) {
                    return 1;
                }
            }
        }
    }
#endif

    return 0;
}
