
/*
 * ngx_http_csp_filter_module: a Content-Security-Policy with a nonce that is
 * right on every response, and the headers that go with it.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_csp.h"


static ngx_int_t ngx_http_csp_compile(ngx_conf_t *cf,
    ngx_http_csp_policy_t *policy, ngx_str_t *text);
static void ngx_http_csp_complain(ngx_conf_t *cf, ngx_str_t *text, size_t at,
    int code);
static char *ngx_http_csp_policy(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
static ngx_int_t ngx_http_csp_add_variables(ngx_conf_t *cf);
static void *ngx_http_csp_create_srv_conf(ngx_conf_t *cf);
static char *ngx_http_csp_merge_srv_conf(ngx_conf_t *cf, void *parent,
    void *child);
static void *ngx_http_csp_create_loc_conf(ngx_conf_t *cf);
static char *ngx_http_csp_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
static ngx_int_t ngx_http_csp_init(ngx_conf_t *cf);


static ngx_command_t  ngx_http_csp_commands[] = {

    { ngx_string("csp"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_1MORE,
      ngx_http_csp_policy,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("security_headers"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_csp_loc_conf_t, security_headers),
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_csp_filter_module_ctx = {
    ngx_http_csp_add_variables,            /* preconfiguration */
    ngx_http_csp_init,                     /* postconfiguration */

    NULL,                                  /* create main configuration */
    NULL,                                  /* init main configuration */

    ngx_http_csp_create_srv_conf,          /* create server configuration */
    ngx_http_csp_merge_srv_conf,           /* merge server configuration */

    ngx_http_csp_create_loc_conf,          /* create location configuration */
    ngx_http_csp_merge_loc_conf            /* merge location configuration */
};


ngx_module_t  ngx_http_csp_filter_module = {
    NGX_MODULE_V1,
    &ngx_http_csp_filter_module_ctx,       /* module context */
    ngx_http_csp_commands,                 /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_http_variable_t  ngx_http_csp_vars[] = {

    { ngx_string("csp_nonce"), NULL, ngx_http_csp_nonce_variable, 0, 0, 0 },

      ngx_http_null_variable
};


/*
 * Scripts and styles of our pages carry the nonce, the style sheet may also
 * come from our assets; nothing else is loaded, and nobody frames a form.  A
 * browser holds form-action against the redirect after a sign-in too, so the
 * origins of session_return belong in it.
 */

static ngx_str_t  ngx_http_csp_own = ngx_string(
    "default-src 'none'; style-src 'self' 'nonce'; img-src 'self' data:; "
    "script-src 'nonce'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'");


/* csp policy [replace] | off */

static char *
ngx_http_csp_policy(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_csp_loc_conf_t *clcf = conf;

    ngx_str_t              *value;
    ngx_http_csp_policy_t  *policy;

    if (clcf->policy != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (cf->args->nelts > 3
        || (cf->args->nelts == 3 && ngx_strcmp(value[2].data, "replace") != 0))
    {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "csp: invalid parameter \"%V\": the whole policy "
                           "goes into one pair of double quotes", &value[2]);
        return NGX_CONF_ERROR;
    }

    if (ngx_strcmp(value[1].data, "off") == 0) {

        if (cf->args->nelts == 3) {
            return "cannot replace with \"off\"";
        }

        clcf->policy = NULL;

        return NGX_CONF_OK;
    }

    policy = ngx_pcalloc(cf->pool, sizeof(ngx_http_csp_policy_t));
    if (policy == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_csp_compile(cf, policy, &value[1]) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    policy->replace = (cf->args->nelts == 3);

    clcf->policy = policy;
    clcf->here = 1;

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_csp_compile(ngx_conf_t *cf, ngx_http_csp_policy_t *policy,
    ngx_str_t *text)
{
    int      rc;
    size_t   at, capacity;
    u_char  *normal;

    /* as text_csp_compile() wants it */
    capacity = 2 * text->len + 64;

    normal = ngx_pnalloc(cf->pool, capacity);
    if (normal == NULL) {
        return NGX_ERROR;
    }

    rc = text_csp_compile((text_span_t) { text->data, text->len }, normal,
                          capacity, &policy->csp, &at);

    if (rc != TEXT_CSP_OK) {
        ngx_http_csp_complain(cf, text, at, rc);
        return NGX_ERROR;
    }

    policy->text.data = normal;
    policy->text.len = policy->csp.len
                       - (policy->csp.n - 1) * TEXT_CSP_NONCE_CHARS;

    return NGX_OK;
}


/*
 * nginx adds file and line; a policy is long, so the message also names the
 * directive of the policy in which the place is.
 */

static void
ngx_http_csp_complain(ngx_conf_t *cf, ngx_str_t *text, size_t at, int code)
{
    u_char     *last, *end;
    ngx_str_t   name;

    if (at >= text->len) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "csp: %s",
                           text_csp_strerror(code));
        return;
    }

    last = text->data + text->len;
    name.data = text->data + at;

    while (name.data > text->data && name.data[-1] != ';') {
        name.data--;
    }

    while (name.data < last && *name.data == ' ') {
        name.data++;
    }

    for (end = name.data; end < last && *end != ' ' && *end != ';'; end++) {
        /* void */
    }

    name.len = end - name.data;

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "csp: %s: character %uz, in \"%V\"",
                       text_csp_strerror(code), at + 1, &name);
}


static ngx_int_t
ngx_http_csp_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_csp_vars; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


static void *
ngx_http_csp_create_srv_conf(ngx_conf_t *cf)
{
    return ngx_pcalloc(cf->pool, sizeof(ngx_http_csp_srv_conf_t));
}


static char *
ngx_http_csp_merge_srv_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_csp_srv_conf_t *conf = child;

    size_t                        len;
    u_char                       *p;
    ngx_str_t                     policy, *origin;
    ngx_uint_t                    i, n;
    ngx_http_session_srv_conf_t  *sscf;

    /* the session module comes first, so its servers are merged already */

    sscf = ngx_http_conf_get_module_srv_conf(cf, ngx_http_session_module);

    origin = sscf->returns ? sscf->returns->elts : NULL;
    n = sscf->returns ? sscf->returns->nelts : 0;

    len = ngx_http_csp_own.len;

    for (i = 0; i < n; i++) {
        len += 1 + origin[i].len;
    }

    policy.data = ngx_pnalloc(cf->pool, len);
    if (policy.data == NULL) {
        return NGX_CONF_ERROR;
    }

    policy.len = len;
    p = ngx_cpymem(policy.data, ngx_http_csp_own.data, ngx_http_csp_own.len);

    for (i = 0; i < n; i++) {
        *p++ = ' ';
        p = ngx_cpymem(p, origin[i].data, origin[i].len);
    }

    conf->own.replace = 1;

    return ngx_http_csp_compile(cf, &conf->own, &policy) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


static void *
ngx_http_csp_create_loc_conf(ngx_conf_t *cf)
{
    ngx_http_csp_loc_conf_t  *clcf;

    clcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_csp_loc_conf_t));
    if (clcf == NULL) {
        return NULL;
    }

    clcf->policy = NGX_CONF_UNSET_PTR;
    clcf->security_headers = NGX_CONF_UNSET;

    return clcf;
}


static char *
ngx_http_csp_merge_loc_conf(ngx_conf_t *cf, void *parent, void *child)
{
    ngx_http_csp_loc_conf_t *prev = parent;
    ngx_http_csp_loc_conf_t *conf = child;

    ngx_conf_merge_ptr_value(conf->policy, prev->policy, NULL);
    ngx_conf_merge_value(conf->security_headers, prev->security_headers, 0);

    return NGX_CONF_OK;
}


static ngx_int_t
ngx_http_csp_init(ngx_conf_t *cf)
{
    ngx_http_csp_header_filter_init();

    return NGX_OK;
}
