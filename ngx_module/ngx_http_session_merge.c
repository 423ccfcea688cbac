
/*
 * Creating and merging configuration.  Defaults live here and nowhere else.
 * A lower level replaces the whole value of the upper one; only the word "off"
 * opens a child of a protected location.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static char *ngx_http_session_merge_lifetime(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *prev, ngx_http_session_srv_conf_t *conf);
static char *ngx_http_session_merge_password(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *prev, ngx_http_session_srv_conf_t *conf);
static ngx_int_t ngx_http_session_conf_realm_index(ngx_conf_t *cf,
    ngx_str_t *realm, ngx_uint_t *index);
static void ngx_http_session_merge_enable(ngx_http_session_loc_conf_t *conf);
static ngx_int_t ngx_http_session_page_is_public(ngx_uint_t page);
static char *ngx_http_session_merge_page(ngx_conf_t *cf,
    ngx_http_session_loc_conf_t *conf);


static ngx_http_session_require_t  ngx_http_session_require_off;


void *
ngx_http_session_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_main_conf_t));
    if (smcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     smcf->store = smcf->keys = { 0, NULL };
     *     smcf->quota = 0;
     *     smcf->used = 0;
     */

    smcf->hash_memory = NGX_CONF_UNSET_SIZE;
    smcf->hash_passes = NGX_CONF_UNSET_UINT;
    smcf->hash_concurrent = NGX_CONF_UNSET_UINT;
    smcf->hash_queue = NGX_CONF_UNSET_UINT;
    smcf->hash_timeout = NGX_CONF_UNSET_MSEC;

    if (ngx_array_init(&smcf->realms, cf->pool, 2, sizeof(ngx_str_t))
        != NGX_OK)
    {
        return NULL;
    }

    return smcf;
}


char *
ngx_http_session_init_main_conf(ngx_conf_t *cf, void *conf)
{
    ngx_http_session_main_conf_t *smcf = conf;

    char  *why;

    ngx_conf_init_size_value(smcf->hash_memory, NGX_HTTP_SESSION_HASH_MEMORY);
    ngx_conf_init_uint_value(smcf->hash_passes, NGX_HTTP_SESSION_HASH_PASSES);
    ngx_conf_init_uint_value(smcf->hash_concurrent, 2);
    ngx_conf_init_uint_value(smcf->hash_queue, 64);
    ngx_conf_init_msec_value(smcf->hash_timeout, 5000);

    why = ngx_http_session_hash_check(smcf->hash_memory / 1024,
                                      smcf->hash_passes);
    if (why) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "session_hash: %s", why);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


void *
ngx_http_session_create_srv_conf(ngx_conf_t *cf)
{
    ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_srv_conf_t));
    if (sscf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     sscf->realm = sscf->templates = sscf->blocklist = { 0, NULL };
     *     sscf->uris[] = { 0, NULL };
     *     sscf->pages = NULL;
     *     sscf->used = 0;
     */

    sscf->cookie = NGX_CONF_UNSET_PTR;
    sscf->lifetime = NGX_CONF_UNSET;
    sscf->idle = NGX_CONF_UNSET;
    sscf->touch = NGX_CONF_UNSET;
    sscf->limit = NGX_CONF_UNSET_UINT;
    sscf->origins = NGX_CONF_UNSET_PTR;
    sscf->returns = NGX_CONF_UNSET_PTR;
    sscf->title = NGX_CONF_UNSET_PTR;
    sscf->password_min = NGX_CONF_UNSET_UINT;
    sscf->password_max = NGX_CONF_UNSET_UINT;

    ngx_http_session_throttle_create_conf(&sscf->throttle);

    return sscf;
}


char *
ngx_http_session_merge_srv_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_session_srv_conf_t *prev = parent;
    ngx_http_session_srv_conf_t *conf = child;

    if (prev->cookie == NGX_CONF_UNSET_PTR) {
        prev->cookie = ngx_http_session_conf_cookie_default(cf);
        if (prev->cookie == NULL) {
            return NGX_CONF_ERROR;
        }
    }

    ngx_conf_merge_str_value(conf->realm, prev->realm, "default");
    ngx_conf_merge_ptr_value(conf->cookie, prev->cookie, NULL);

    if (ngx_http_session_merge_lifetime(cf, prev, conf) != NGX_CONF_OK
        || ngx_http_session_merge_password(cf, prev, conf) != NGX_CONF_OK)
    {
        return NGX_CONF_ERROR;
    }

    ngx_conf_merge_uint_value(conf->limit, prev->limit, 20);
    ngx_conf_merge_ptr_value(conf->origins, prev->origins, NULL);
    ngx_conf_merge_ptr_value(conf->returns, prev->returns, NULL);
    ngx_conf_merge_str_value(conf->templates, prev->templates, "");
    ngx_conf_merge_ptr_value(conf->title, prev->title, NULL);

    ngx_http_session_throttle_merge_conf(&conf->throttle, &prev->throttle);

    return ngx_http_session_conf_realm_index(cf, &conf->realm,
                                             &conf->realm_index)
           == NGX_OK ? NGX_CONF_OK : NGX_CONF_ERROR;
}


/* One directive, one value: idle= is not mixed from two levels. */

static char *
ngx_http_session_merge_lifetime(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *prev, ngx_http_session_srv_conf_t *conf)
{
    if (conf->lifetime == NGX_CONF_UNSET) {
        conf->lifetime = prev->lifetime;
        conf->idle = prev->idle;
        conf->touch = prev->touch;
    }

    ngx_conf_init_value(conf->lifetime, 7 * 86400);
    ngx_conf_init_value(conf->idle, ngx_min(86400, conf->lifetime));
    ngx_conf_init_value(conf->touch,
                        conf->idle ? ngx_max(ngx_min(60, conf->idle / 2), 1)
                                   : 60);

    if (conf->idle > conf->lifetime) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_lifetime: idle= is longer than the "
                           "lifetime itself");
        return NGX_CONF_ERROR;
    }

    if (conf->idle && conf->touch >= conf->idle) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_lifetime: touch= must be shorter than "
                           "idle=, else sessions in use run out");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_session_merge_password(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *prev, ngx_http_session_srv_conf_t *conf)
{
    if (conf->password_min == NGX_CONF_UNSET_UINT
        && conf->password_max == NGX_CONF_UNSET_UINT
        && conf->blocklist.data == NULL)
    {
        conf->password_min = prev->password_min;
        conf->password_max = prev->password_max;
        conf->blocklist = prev->blocklist;
    }

    ngx_conf_init_uint_value(conf->password_min, 15);
    ngx_conf_init_uint_value(conf->password_max, 1024);

    if (conf->password_min > conf->password_max) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_password: min= is more than max=");
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_session_conf_realm_index(ngx_conf_t *cf, ngx_str_t *realm,
    ngx_uint_t *index)
{
    ngx_str_t                     *realms;
    ngx_uint_t                     i;
    ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_session_module);

    realms = smcf->realms.elts;

    for (i = 0; i < smcf->realms.nelts; i++) {
        if (realms[i].len == realm->len
            && ngx_strncmp(realms[i].data, realm->data, realm->len) == 0)
        {
            *index = i;
            return NGX_OK;
        }
    }

    realms = ngx_array_push(&smcf->realms);
    if (realms == NULL) {
        return NGX_ERROR;
    }

    *realms = *realm;
    *index = i;

    return NGX_OK;
}


void *
ngx_http_session_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_loc_conf_t));
    if (slcf == NULL) {
        return NULL;
    }

    /*
     * set by ngx_pcalloc():
     *
     *     slcf->sign_in = { 0, NULL };
     */

    slcf->enable = NGX_CONF_UNSET;
    slcf->require = NGX_CONF_UNSET_PTR;
    slcf->inherit = NGX_CONF_UNSET_PTR;
    slcf->refuse = NGX_CONF_UNSET_UINT;
    slcf->forward = NGX_CONF_UNSET_UINT;
    slcf->page = NGX_CONF_UNSET_UINT;
    slcf->page_store = NGX_CONF_UNSET;

    return slcf;
}


char *
ngx_http_session_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_session_loc_conf_t *prev = parent;
    ngx_http_session_loc_conf_t *conf = child;

    ngx_http_session_main_conf_t  *smcf;
    ngx_http_session_srv_conf_t   *sscf;

    /* the http level itself is never merged, so a child may find it raw */

    if (prev->inherit == NGX_CONF_UNSET_PTR) {
        prev->inherit = prev->require;
        ngx_http_session_merge_enable(prev);
    }

    ngx_http_session_merge_enable(conf);

    if (ngx_http_session_merge_page(cf, conf) != NGX_CONF_OK) {
        return NGX_CONF_ERROR;
    }

    ngx_conf_merge_value(conf->enable, prev->enable, 0);
    ngx_conf_merge_uint_value(conf->refuse, prev->refuse,
                              NGX_HTTP_SESSION_REFUSE_AUTO);
    ngx_conf_merge_str_value(conf->sign_in, prev->sign_in, "");
    ngx_conf_merge_uint_value(conf->forward, prev->forward,
                              NGX_HTTP_SESSION_FORWARD_HEADERS);
    ngx_conf_init_value(conf->page_store, 1);

    conf->inherit = conf->require;
    ngx_conf_merge_ptr_value(conf->inherit, prev->inherit,
                             &ngx_http_session_require_off);

    conf->require = conf->inherit;

    if (ngx_http_session_page_is_public(conf->page)) {
        conf->require = &ngx_http_session_require_off;
    }

    if (!conf->enable && conf->require->mode != NGX_HTTP_SESSION_REQUIRE_OFF) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"session off\" in a location that requires a "
                           "session; only \"session_require off\" opens it");
        return NGX_CONF_ERROR;
    }

    if (conf->enable) {
        sscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_session_module);
        sscf->used = 1;

        smcf = ngx_http_conf_get_module_main_conf(cf,
                                                  ngx_http_session_module);
        smcf->used = 1;
    }

    return NGX_CONF_OK;
}


/* A requirement, and a page of ours, turn the session on at their level. */

static void
ngx_http_session_merge_enable(ngx_http_session_loc_conf_t *conf)
{
    if (conf->enable != NGX_CONF_UNSET) {
        return;
    }

    if (conf->page != NGX_CONF_UNSET_UINT
        || (conf->require != NGX_CONF_UNSET_PTR
            && conf->require->mode != NGX_HTTP_SESSION_REQUIRE_OFF))
    {
        conf->enable = 1;
    }
}


/* Pages for people who are not signed in ignore what is required around. */

static ngx_int_t
ngx_http_session_page_is_public(ngx_uint_t page)
{
    return page == NGX_HTTP_SESSION_PAGE_UP
           || page == NGX_HTTP_SESSION_PAGE_SIGN_IN
           || page == NGX_HTTP_SESSION_PAGE_SIGN_OUT
           || page == NGX_HTTP_SESSION_PAGE_ASSETS;
}


static char *
ngx_http_session_merge_page(ngx_conf_t *cf, ngx_http_session_loc_conf_t *conf)
{
    if (conf->page == NGX_CONF_UNSET_UINT) {
        return NGX_CONF_OK;
    }

    if (conf->enable == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_page: \"%V\" cannot work with "
                           "\"session off\" in its location",
                           &ngx_http_session_page_names[conf->page]);
        return NGX_CONF_ERROR;
    }

    if (conf->require == NGX_CONF_UNSET_PTR
        || conf->require->mode == NGX_HTTP_SESSION_REQUIRE_OFF)
    {
        return NGX_CONF_OK;
    }

    if (ngx_http_session_page_is_public(conf->page)) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "session_require: the page \"%V\" is for people "
                           "who are not signed in; nobody could reach it",
                           &ngx_http_session_page_names[conf->page]);
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


ngx_http_session_main_conf_t *
ngx_http_session_conf_of_cycle(ngx_cycle_t *cycle)
{
    if (ngx_get_conf(cycle->conf_ctx, ngx_http_module) == NULL) {
        return NULL;
    }

    return ngx_http_cycle_get_module_main_conf(cycle,
                                               ngx_http_session_module);
}
