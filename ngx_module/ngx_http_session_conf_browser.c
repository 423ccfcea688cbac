
/*
 * Directives about browsers: the cookie, the origins requests may come from,
 * and where people are sent.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"
#include "text/cookie.h"
#include "text/redirect.h"


#define NGX_HTTP_SESSION_COOKIE_NAME_MAX  64


static char *ngx_http_session_conf_cookie_check(
    const ngx_http_session_cookie_t *cookie);
static char *ngx_http_session_conf_cookie_option(ngx_conf_t *cf,
    ngx_http_session_cookie_t *cookie, ngx_str_t *arg);
static ngx_int_t ngx_http_session_conf_cookie_domain(ngx_str_t *domain);
static ngx_int_t ngx_http_session_conf_cookie_names(ngx_conf_t *cf,
    ngx_http_session_cookie_t *cookie);
static ngx_array_t *ngx_http_session_conf_origins(ngx_conf_t *cf);


static ngx_str_t  ngx_http_session_samesite[] = {
    ngx_string("Lax"), ngx_string("Strict"), ngx_string("None")
};


/* session_cookie name [domain=d] [samesite=lax|strict|none] [secure=on|off] */

char *
ngx_http_session_conf_cookie(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    char                       *rv;
    ngx_str_t                  *value;
    ngx_uint_t                  i;
    ngx_http_session_cookie_t  *cookie;

    if (sscf->cookie != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    cookie = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_cookie_t));
    if (cookie == NULL) {
        return NGX_CONF_ERROR;
    }

    value = cf->args->elts;

    cookie->name = value[1];
    cookie->samesite = NGX_CONF_UNSET_UINT;
    cookie->secure = NGX_CONF_UNSET;

    if (cookie->name.len > NGX_HTTP_SESSION_COOKIE_NAME_MAX - 8
        || !text_cookie_name_valid((text_span_t) { cookie->name.data,
                                                   cookie->name.len }))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_cookie: \"%V\" is no cookie name",
                           &cookie->name);
        return NGX_CONF_ERROR;
    }

    for (i = 2; i < cf->args->nelts; i++) {
        rv = ngx_http_session_conf_cookie_option(cf, cookie, &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    ngx_conf_init_uint_value(cookie->samesite, NGX_HTTP_SESSION_SAMESITE_LAX);
    ngx_conf_init_value(cookie->secure, 1);

    rv = ngx_http_session_conf_cookie_check(cookie);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    sscf->cookie = cookie;

    return ngx_http_session_conf_cookie_names(cf, cookie) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* What browsers would silently drop is refused while somebody is looking. */

static char *
ngx_http_session_conf_cookie_check(const ngx_http_session_cookie_t *cookie)
{
    if (cookie->name.len >= 7
        && ngx_strncasecmp(cookie->name.data, (u_char *) "__Host-", 7) == 0)
    {
        if (cookie->domain.len) {
            return "cannot have domain= with the prefix __Host-: browsers "
                   "would drop it; use __Secure-";
        }

        if (!cookie->secure) {
            return "cannot have secure=off with the prefix __Host-: browsers "
                   "would drop it";
        }
    }

    if (cookie->name.len >= 9
        && ngx_strncasecmp(cookie->name.data, (u_char *) "__Secure-", 9) == 0
        && !cookie->secure)
    {
        return "cannot have secure=off with the prefix __Secure-: browsers "
               "would drop it";
    }

    if (cookie->samesite == NGX_HTTP_SESSION_SAMESITE_NONE
        && !cookie->secure)
    {
        return "cannot have samesite=none with secure=off: browsers would "
               "drop it";
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_session_conf_cookie_option(ngx_conf_t *cf,
    ngx_http_session_cookie_t *cookie, ngx_str_t *arg)
{
    ngx_str_t   option;
    ngx_uint_t  i;

    if (ngx_http_session_conf_option(arg, "domain", &option)
        && cookie->domain.len == 0)
    {
        if (option.len && option.data[0] == '.') {
            option.data++;
            option.len--;
        }

        if (ngx_http_session_conf_cookie_domain(&option) == NGX_OK) {
            cookie->domain = option;
            return NGX_CONF_OK;
        }

    } else if (ngx_http_session_conf_option(arg, "samesite", &option)
               && cookie->samesite == NGX_CONF_UNSET_UINT)
    {
        for (i = 0; i < 3; i++) {
            if (option.len == ngx_http_session_samesite[i].len
                && ngx_strncasecmp(option.data,
                                   ngx_http_session_samesite[i].data,
                                   option.len) == 0)
            {
                cookie->samesite = i;
                return NGX_CONF_OK;
            }
        }

    } else if (ngx_http_session_conf_option(arg, "secure", &option)
               && cookie->secure == NGX_CONF_UNSET)
    {
        if (ngx_strcmp(option.data, "on") == 0) {
            cookie->secure = 1;
            return NGX_CONF_OK;
        }

        if (ngx_strcmp(option.data, "off") == 0) {
            cookie->secure = 0;
            return NGX_CONF_OK;
        }
    }

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "session_cookie: \"%V\" is not once one of domain=, "
                       "samesite=lax|strict|none, secure=on|off", arg);

    return NGX_CONF_ERROR;
}


static ngx_int_t
ngx_http_session_conf_cookie_domain(ngx_str_t *domain)
{
    u_char  c;
    size_t  i;

    if (domain->len == 0 || domain->len > 253) {
        return NGX_DECLINED;
    }

    for (i = 0; i < domain->len; i++) {
        c = domain->data[i];

        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
            && (c < '0' || c > '9') && c != '-' && c != '.')
        {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}


ngx_http_session_cookie_t *
ngx_http_session_conf_cookie_default(ngx_conf_t *cf)
{
    ngx_http_session_cookie_t  *cookie;

    cookie = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_cookie_t));
    if (cookie == NULL) {
        return NULL;
    }

    ngx_str_set(&cookie->name, "__Host-session");

    cookie->samesite = NGX_HTTP_SESSION_SAMESITE_LAX;
    cookie->secure = 1;

    return ngx_http_session_conf_cookie_names(cf, cookie) == NGX_OK
           ? cookie : NULL;
}


/*
 * The two cookies beside the session's, and what follows a value in each
 * Set-Cookie, are made here so that no response formats them again.
 */

static ngx_int_t
ngx_http_session_conf_cookie_names(ngx_conf_t *cf,
    ngx_http_session_cookie_t *cookie)
{
    u_char  *p;
    size_t   len;

    p = ngx_pnalloc(cf->pool, 2 * cookie->name.len + sizeof("-pre-device"));
    if (p == NULL) {
        return NGX_ERROR;
    }

    cookie->pre.data = p;
    p = ngx_sprintf(p, "%V-pre", &cookie->name);
    cookie->pre.len = p - cookie->pre.data;

    cookie->device.data = p;
    p = ngx_sprintf(p, "%V-device", &cookie->name);
    cookie->device.len = p - cookie->device.data;

    len = sizeof("; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict"
                 "; Domain=")
          + cookie->domain.len;

    p = ngx_pnalloc(cf->pool, len);
    if (p == NULL) {
        return NGX_ERROR;
    }

    cookie->ended.data = p;
    p = ngx_cpymem(p, "; Max-Age=0", sizeof("; Max-Age=0") - 1);

    cookie->attributes.data = p;
    p = ngx_sprintf(p, "; Path=/; HttpOnly%s; SameSite=%V",
                    cookie->secure ? "; Secure" : "",
                    &ngx_http_session_samesite[cookie->samesite]);

    if (cookie->domain.len) {
        p = ngx_sprintf(p, "; Domain=%V", &cookie->domain);
    }

    cookie->ended.len = p - cookie->ended.data;
    cookie->attributes.len = p - cookie->attributes.data;

    return NGX_OK;
}


/* Origins in normal form, or NULL after an error has been logged. */

static ngx_array_t *
ngx_http_session_conf_origins(ngx_conf_t *cf)
{
    ngx_str_t    *value, *origin;
    ngx_uint_t    i;
    ngx_array_t  *origins;

    value = cf->args->elts;

    origins = ngx_array_create(cf->pool, 2, sizeof(ngx_str_t));
    if (origins == NULL) {
        return NULL;
    }

    for (i = 1; i < cf->args->nelts; i++) {

        origin = ngx_array_push(origins);
        if (origin == NULL) {
            return NULL;
        }

        origin->data = ngx_pnalloc(cf->pool, value[i].len + 1);
        if (origin->data == NULL) {
            return NULL;
        }

        origin->len = text_origin_normal((text_span_t) { value[i].data,
                                                         value[i].len },
                                         origin->data, value[i].len);

        if (origin->len == 0) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "%V: \"%V\" is no origin; write it as "
                               "https://app.example.com[:port]",
                               &value[0], &value[i]);
            return NULL;
        }
    }

    return origins;
}


char *
ngx_http_session_conf_origin(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    ngx_str_t  *value;

    if (sscf->origins != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "auto") == 0) {
        sscf->origins = NULL;
        return NGX_CONF_OK;
    }

    sscf->origins = ngx_http_session_conf_origins(cf);

    return sscf->origins ? NGX_CONF_OK : NGX_CONF_ERROR;
}


char *
ngx_http_session_conf_return(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    ngx_str_t  *value;

    if (sscf->returns != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (cf->args->nelts == 2 && ngx_strcmp(value[1].data, "none") == 0) {
        sscf->returns = NULL;
        return NGX_CONF_OK;
    }

    sscf->returns = ngx_http_session_conf_origins(cf);

    return sscf->returns ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* A path of this site, or a whole URL of a sign-in elsewhere. */

char *
ngx_http_session_conf_sign_in(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_loc_conf_t *slcf = conf;

    size_t      i;
    ngx_str_t  *value, uri;

    if (slcf->sign_in.data) {
        return "is duplicate";
    }

    value = cf->args->elts;
    uri = value[1];

    for (i = 0; i < uri.len; i++) {
        if (uri.data[i] <= ' ' || uri.data[i] >= 0x7f || uri.data[i] == '#'
            || uri.data[i] == '\\')
        {
            break;
        }
    }

    if (uri.len == 0 || i < uri.len
        || !((uri.data[0] == '/' && (uri.len == 1 || uri.data[1] != '/'))
             || ngx_strncmp(uri.data, "http://", 7) == 0
             || ngx_strncmp(uri.data, "https://", 8) == 0))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_sign_in: \"%V\" is neither a path nor an "
                           "http(s) URL", &uri);
        return NGX_CONF_ERROR;
    }

    slcf->sign_in = uri;

    return NGX_CONF_OK;
}
