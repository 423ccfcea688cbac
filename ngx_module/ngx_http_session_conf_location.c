
/*
 * Directives that make sense in a location: what it requires, and which of
 * our pages it is.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


#define NGX_HTTP_SESSION_ROLE_MAX  32


static char *ngx_http_session_conf_page_location(
    ngx_http_core_loc_conf_t *clcf, ngx_uint_t page);
static char *ngx_http_session_conf_require_word(ngx_conf_t *cf,
    ngx_http_session_require_t *require, ngx_str_t *word);
static char *ngx_http_session_conf_require_roles(ngx_conf_t *cf,
    ngx_http_session_require_t *require, ngx_str_t *arg, ngx_str_t *roles);


ngx_str_t  ngx_http_session_page_names[] = {
    ngx_string("up"),
    ngx_string("sign_in"),
    ngx_string("sign_out"),
    ngx_string("dashboard"),
    ngx_string("actor"),
    ngx_string("versions"),
    ngx_string("assets"),
    ngx_null_string
};


/*
 * "off", "user", or role=a[,b] (any of them), several of which are all
 * needed; fresh=time goes with "user" and roles.
 */

char *
ngx_http_session_conf_require(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_loc_conf_t *slcf = conf;

    char                        *rv;
    ngx_str_t                   *value;
    ngx_uint_t                   i;
    ngx_http_session_require_t  *require;

    if (slcf->require != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    require = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_require_t));
    if (require == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_array_init(&require->all, cf->pool, 2, sizeof(ngx_array_t))
        != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    slcf->require = require;
    value = cf->args->elts;

    if (ngx_strcmp(value[1].data, "off") == 0) {

        if (cf->args->nelts > 2) {
            return ngx_http_session_conf_bad(cf, &value[2],
                                             "cannot follow \"off\"");
        }

        return NGX_CONF_OK;
    }

    for (i = 1; i < cf->args->nelts; i++) {

        rv = ngx_http_session_conf_require_word(cf, require, &value[i]);
        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    if (require->mode == NGX_HTTP_SESSION_REQUIRE_OFF) {
        return "has fresh= without \"user\" or role=";
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_session_conf_require_word(ngx_conf_t *cf,
    ngx_http_session_require_t *require, ngx_str_t *word)
{
    ngx_str_t  option;

    if (ngx_strcmp(word->data, "user") == 0) {
        require->mode = NGX_HTTP_SESSION_REQUIRE_USER;
        return NGX_CONF_OK;
    }

    if (ngx_http_session_conf_option(word, "role", &option)) {
        require->mode = NGX_HTTP_SESSION_REQUIRE_USER;
        return ngx_http_session_conf_require_roles(cf, require, word, &option);
    }

    if (!ngx_http_session_conf_option(word, "fresh", &option)) {
        return ngx_http_session_conf_bad(cf, word,
                            "is none of off, user, role=name[,name], "
                            "fresh=time");
    }

    if (require->fresh) {
        return ngx_http_session_conf_bad(cf, word, "is duplicate");
    }

    require->fresh = ngx_parse_time(&option, 1);

    if (require->fresh == (time_t) NGX_ERROR || require->fresh == 0) {
        return ngx_http_session_conf_bad(cf, word, "is not a time");
    }

    return NGX_CONF_OK;
}


static char *
ngx_http_session_conf_require_roles(ngx_conf_t *cf,
    ngx_http_session_require_t *require, ngx_str_t *arg, ngx_str_t *roles)
{
    u_char       c, *p, *last;
    ngx_str_t   *role;
    ngx_array_t  *any;

    any = ngx_array_push(&require->all);
    if (any == NULL
        || ngx_array_init(any, cf->pool, 2, sizeof(ngx_str_t)) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    p = roles->data;
    last = p + roles->len;

    for ( ;; ) {
        role = ngx_array_push(any);
        if (role == NULL) {
            return NGX_CONF_ERROR;
        }

        role->data = p;

        for ( /* void */ ; p < last && *p != ','; p++) {
            c = *p;

            if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
                && (c < '0' || c > '9') && c != '_' && c != '.' && c != ':'
                && c != '-')
            {
                return ngx_http_session_conf_bad(cf, arg,
                          "holds a role with a character outside "
                          "A-Z a-z 0-9 _ . : -");
            }
        }

        role->len = p - role->data;

        if (role->len == 0 || role->len > NGX_HTTP_SESSION_ROLE_MAX) {
            return ngx_http_session_conf_bad(cf, arg,
                               "holds a role that is not 1 to 32 characters");
        }

        if (p == last) {
            return NGX_CONF_OK;
        }

        p++;
    }
}


char *
ngx_http_session_conf_page(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_loc_conf_t *slcf = conf;

    char                         *rv;
    ngx_str_t                    *value, option;
    ngx_uint_t                    page;
    ngx_http_core_loc_conf_t     *clcf;
    ngx_http_session_srv_conf_t  *sscf;

    if (slcf->page != NGX_CONF_UNSET_UINT) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (page = 0; ngx_http_session_page_names[page].len; page++) {
        if (value[1].len == ngx_http_session_page_names[page].len
            && ngx_strncmp(value[1].data,
                           ngx_http_session_page_names[page].data,
                           value[1].len) == 0)
        {
            break;
        }
    }

    if (page == NGX_HTTP_SESSION_PAGES) {
        return ngx_http_session_conf_bad(cf, &value[1],
                            "is none of up, sign_in, sign_out, dashboard, "
                            "actor, versions, assets");
    }

    clcf = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);

    rv = ngx_http_session_conf_page_location(clcf, page);
    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (cf->args->nelts == 3) {

        if (page != NGX_HTTP_SESSION_PAGE_UP
            || !ngx_http_session_conf_option(&value[2], "store", &option)
            || option.len != 3 || ngx_strncmp(option.data, "off", 3) != 0)
        {
            return ngx_http_session_conf_bad(cf, &value[2],
                           "is not known here; \"up\" takes store=off");
        }

        slcf->page_store = 0;
    }

    slcf->page = page;
    clcf->handler = ngx_http_session_page_handler;

    sscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_session_module);

    if (sscf->uris[page].len == 0) {
        sscf->uris[page] = clcf->name;
    }

    return NGX_CONF_OK;
}


/* Links to a page need its one path; assets have a path each below theirs. */

static char *
ngx_http_session_conf_page_location(ngx_http_core_loc_conf_t *clcf,
    ngx_uint_t page)
{
#if (NGX_PCRE)
    if (clcf->regex) {
        return "cannot stand in a regex location: its links would have no "
               "path";
    }
#endif

    if (clcf->named || clcf->noname) {
        return "needs a location with a path";
    }

    if (page != NGX_HTTP_SESSION_PAGE_ASSETS) {
        return clcf->exact_match ? NGX_CONF_OK
                                 : "needs an exact location: "
                                   "location = /path";
    }

    if (clcf->exact_match || clcf->name.data[clcf->name.len - 1] != '/') {
        return "assets needs a prefix location that ends with \"/\"";
    }

    return NGX_CONF_OK;
}
