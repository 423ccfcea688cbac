
/*
 * Variables.  Each comes from the identity of the main request, so it has one
 * value, and one length, for the whole request; none holds a token or a key.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static ngx_int_t ngx_http_session_record_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_session_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_session_age_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_session_sign_in_url_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static ngx_int_t ngx_http_session_csrf_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
static void ngx_http_session_variable_set(ngx_http_variable_value_t *v,
    const ngx_str_t *value);


static ngx_http_variable_t  ngx_http_session_vars[] = {

    { ngx_string("session_user"), NULL, ngx_http_session_record_variable,
      offsetof(ngx_http_session_record_t, login), 0, 0 },

    { ngx_string("session_user_id"), NULL, ngx_http_session_record_variable,
      offsetof(ngx_http_session_record_t, user_id), 0, 0 },

    { ngx_string("session_name"), NULL, ngx_http_session_record_variable,
      offsetof(ngx_http_session_record_t, name), 0, 0 },

    { ngx_string("session_roles"), NULL, ngx_http_session_record_variable,
      offsetof(ngx_http_session_record_t, roles), 0, 0 },

    { ngx_string("session_ref"), NULL, ngx_http_session_record_variable,
      offsetof(ngx_http_session_record_t, ref), 0, 0 },

    { ngx_string("session_age"), NULL, ngx_http_session_age_variable,
      0, 0, 0 },

    { ngx_string("session_status"), NULL, ngx_http_session_status_variable,
      0, 0, 0 },

    { ngx_string("session_sign_in_url"), NULL,
      ngx_http_session_sign_in_url_variable, 0, 0, 0 },

    { ngx_string("csrf_token"), NULL, ngx_http_session_csrf_variable,
      0, 0, 0 },

      ngx_http_null_variable
};


ngx_int_t
ngx_http_session_add_variables(ngx_conf_t *cf)
{
    ngx_http_variable_t  *var, *v;

    for (v = ngx_http_session_vars; v->name.len; v++) {
        var = ngx_http_add_variable(cf, &v->name, v->flags);
        if (var == NULL) {
            return NGX_ERROR;
        }

        var->get_handler = v->get_handler;
        var->data = v->data;
    }

    return NGX_OK;
}


static void
ngx_http_session_variable_set(ngx_http_variable_value_t *v,
    const ngx_str_t *value)
{
    v->data = value->data;
    v->len = value->len;
    v->valid = 1;
    v->no_cacheable = 0;
    v->not_found = 0;
}


static ngx_int_t
ngx_http_session_record_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_session_ctx_t  *ctx;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->record == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_session_variable_set(v,
                       (ngx_str_t *) ((u_char *) ctx->record + data));

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_status_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_http_session_ctx_t  *ctx;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (!ctx->looked) {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_session_variable_set(v,
                              &ngx_http_session_status_names[ctx->status]);

    return NGX_OK;
}


/* Seconds since the sign-in, as of the first use in this request. */

static ngx_int_t
ngx_http_session_age_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                age;
    ngx_http_session_ctx_t  *ctx;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->record == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    age.data = ngx_pnalloc(r->pool, NGX_TIME_T_LEN);
    if (age.data == NULL) {
        return NGX_ERROR;
    }

    age.len = ngx_sprintf(age.data, "%T",
                          ngx_max(ngx_time() - ctx->record->created, 0))
              - age.data;

    ngx_http_session_variable_set(v, &age);

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_sign_in_url_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_int_t  rc;
    ngx_str_t  url;

    rc = ngx_http_session_sign_in_url(r, &url);

    if (rc == NGX_ERROR) {
        return NGX_ERROR;
    }

    if (rc != NGX_OK) {
        v->not_found = 1;
        return NGX_OK;
    }

    ngx_http_session_variable_set(v, &url);

    return NGX_OK;
}


/*
 * For somebody signed in only: a form of an app is for its users, and a
 * variable cannot set the cookie that an anonymous token would need.
 */

static ngx_int_t
ngx_http_session_csrf_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data)
{
    ngx_str_t                token;
    ngx_http_session_ctx_t  *ctx;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->record == NULL) {
        v->not_found = 1;
        return NGX_OK;
    }

    if (ngx_http_session_csrf_token(r, ctx, &token) != NGX_OK) {
        return NGX_ERROR;
    }

    ngx_http_session_variable_set(v, &token);

    return NGX_OK;
}
