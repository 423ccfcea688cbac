
/*
 * Our three cookies: found in requests, set and expired in responses.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "text/cookie.h"


/* browsers keep no cookie longer: RFC 6265bis, 400 days */
#define NGX_HTTP_SESSION_DEVICE_AGE  34560000


static ngx_str_t *ngx_http_session_cookie_name(
    const ngx_http_session_cookie_t *cookie, ngx_http_session_cookie_e which);
static void ngx_http_session_forget_cookie(ngx_http_request_t *r,
    ngx_str_t *name);
static ngx_int_t ngx_http_session_cookie_in_line(ngx_str_t *line,
    ngx_str_t *name, ngx_str_t *value);


static const char  ngx_http_session_set_cookie_key[] = "Set-Cookie";


/*
 * A response names a cookie once: a later call replaces what an earlier one
 * of the same request said, so the order in which browsers apply two lines
 * never matters.  Set-Cookie lines of others are not touched.
 */

ngx_int_t
ngx_http_session_set_cookie(ngx_http_request_t *r,
    ngx_http_session_cookie_e which, ngx_str_t *value)
{
    size_t                              len;
    u_char                             *p;
    time_t                              age;
    ngx_str_t                          *name, line;
    const ngx_str_t                    *attributes;
    const ngx_http_session_cookie_t    *cookie;
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    cookie = sscf->cookie;
    name = ngx_http_session_cookie_name(cookie, which);

    attributes = &cookie->attributes;
    age = -1;                           /* as long as the browser runs */

    if (value->len == 0) {
        attributes = &cookie->ended;

    } else if (which == NGX_HTTP_SESSION_COOKIE_SESSION) {
        age = sscf->lifetime;

    } else if (which == NGX_HTTP_SESSION_COOKIE_DEVICE) {
        age = NGX_HTTP_SESSION_DEVICE_AGE;
    }

    len = name->len + 1 + value->len + sizeof("; Max-Age=") - 1
          + NGX_TIME_T_LEN + attributes->len;

    line.data = ngx_pnalloc(r->pool, len);
    if (line.data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_copy(line.data, name->data, name->len);
    *p++ = '=';

    if (value->len) {
        p = ngx_copy(p, value->data, value->len);
    }

    if (age >= 0) {
        p = ngx_sprintf(p, "; Max-Age=%T", age);
    }

    p = ngx_copy(p, attributes->data, attributes->len);

    line.len = p - line.data;

    ngx_http_session_forget_cookie(r, name);

    return ngx_http_session_header_out(r, ngx_http_session_set_cookie_key,
                                       &line);
}


static ngx_str_t *
ngx_http_session_cookie_name(const ngx_http_session_cookie_t *cookie,
    ngx_http_session_cookie_e which)
{
    switch (which) {

    case NGX_HTTP_SESSION_COOKIE_PRE:
        return (ngx_str_t *) &cookie->pre;

    case NGX_HTTP_SESSION_COOKIE_DEVICE:
        return (ngx_str_t *) &cookie->device;

    default: /* NGX_HTTP_SESSION_COOKIE_SESSION */
        return (ngx_str_t *) &cookie->name;
    }
}


static void
ngx_http_session_forget_cookie(ngx_http_request_t *r, ngx_str_t *name)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            /* our own lines are known by where their key stands */

            if (header[i].key.data == (u_char *) ngx_http_session_set_cookie_key
                && header[i].value.len > name->len
                && header[i].value.data[name->len] == '='
                && ngx_memcmp(header[i].value.data, name->data, name->len) == 0)
            {
                header[i].hash = 0;
            }
        }
    }
}


void
ngx_http_session_withdraw_cookies(ngx_http_request_t *r)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {
            if (header[i].key.data
                == (u_char *) ngx_http_session_set_cookie_key)
            {
                header[i].hash = 0;
            }
        }
    }
}


/*
 * Scrubbing takes our cookies out of the request, so where it has run they
 * are looked for in the lines it has kept.
 */

ngx_int_t
ngx_http_session_find_cookie(ngx_http_request_t *r, ngx_str_t *name,
    ngx_str_t *value)
{
    ngx_str_t                 *line;
    ngx_uint_t                 i;
    ngx_table_elt_t           *h;
    ngx_http_session_ctx_t    *ctx;
    ngx_http_session_lines_t   lines;

    ngx_str_null(value);

    ctx = ngx_http_session_get_ctx(r);
    if (ctx == NULL) {
        return NGX_DECLINED;
    }

    if (ctx->cookies) {
        line = ctx->cookies->elts;

        for (i = 0; i < ctx->cookies->nelts; i++) {
            if (ngx_http_session_cookie_in_line(&line[i], name, value)
                == NGX_OK)
            {
                return NGX_OK;
            }
        }

        return NGX_DECLINED;
    }

    ngx_http_session_lines_init(&lines, &r->headers_in);

    while ((h = ngx_http_session_lines_next(&lines)) != NULL) {
        if (ngx_http_session_cookie_in_line(&h->value, name, value)
            == NGX_OK)
        {
            return NGX_OK;
        }
    }

    return NGX_DECLINED;
}


static ngx_int_t
ngx_http_session_cookie_in_line(ngx_str_t *line, ngx_str_t *name,
    ngx_str_t *value)
{
    size_t       pos;
    text_span_t  found;

    pos = 0;

    if (!text_cookie_next((text_span_t) { line->data, line->len }, &pos,
                          (text_span_t) { name->data, name->len }, &found))
    {
        return NGX_DECLINED;
    }

    value->data = (u_char *) found.data;
    value->len = found.len;

    return NGX_OK;
}


/*
 * unknown_key, error and future may mend themselves (a rotation half done, a
 * store away, a clock put right), so the browser keeps its cookie then.
 */

ngx_int_t
ngx_http_session_expire_cookie(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx)
{
    ngx_str_t  empty;

    switch (ctx->status) {

    case NGX_HTTP_SESSION_MALFORMED:
    case NGX_HTTP_SESSION_BAD_SIGNATURE:
    case NGX_HTTP_SESSION_REVOKED:
    case NGX_HTTP_SESSION_IDLE:
    case NGX_HTTP_SESSION_EXPIRED:
    case NGX_HTTP_SESSION_DISABLED:
    case NGX_HTTP_SESSION_DUPLICATE:
        break;

    default:
        return NGX_OK;
    }

    ngx_str_null(&empty);

    return ngx_http_session_set_cookie(r, NGX_HTTP_SESSION_COOKIE_SESSION,
                                       &empty);
}
