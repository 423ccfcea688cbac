
/*
 * What stands behind session_require is for one person, and caches must know.
 * An answer that says nothing becomes private and varies with the cookie; one
 * that says something is the application's word, which is only remarked upon.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static ngx_int_t ngx_http_session_private_filter(ngx_http_request_t *r);
static void ngx_http_session_private_warn(ngx_http_request_t *r,
    ngx_table_elt_t *header);
static ngx_int_t ngx_http_session_vary_cookie(ngx_http_request_t *r);
static ngx_uint_t ngx_http_session_has_token(ngx_str_t *value,
    const char *token, size_t len);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;

/* the remark is for the operator, once per worker is enough */
static ngx_uint_t  ngx_http_session_private_warned;

static ngx_str_t  ngx_http_session_private = ngx_string("private");
static ngx_str_t  ngx_http_session_vary = ngx_string("Cookie");


ngx_int_t
ngx_http_session_private_filter_init(ngx_conf_t *cf)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_session_private_filter;

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_private_filter(ngx_http_request_t *r)
{
    ngx_uint_t                          i, said;
    ngx_list_part_t                    *part;
    ngx_table_elt_t                    *header;
    const ngx_http_session_loc_conf_t  *slcf;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (!slcf->enable || slcf->require == NULL
        || slcf->require->mode == NGX_HTTP_SESSION_REQUIRE_OFF)
    {
        return ngx_http_next_header_filter(r);
    }

    said = 0;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (header[i].hash == 0
                || !ngx_http_session_header_is(&header[i], "cache-control",
                                               sizeof("cache-control") - 1))
            {
                continue;
            }

            said = 1;

            ngx_http_session_private_warn(r, &header[i]);
        }
    }

    if (said) {
        return ngx_http_next_header_filter(r);
    }

    /*
     * Not in headers_out.cache_control: "expires" would write its max-age over
     * the first line there, and the word would be gone.
     */

    if (ngx_http_session_header_out(r, "Cache-Control",
                                    &ngx_http_session_private)
        != NGX_OK
        || ngx_http_session_vary_cookie(r) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


static void
ngx_http_session_private_warn(ngx_http_request_t *r, ngx_table_elt_t *header)
{
    if (ngx_http_session_private_warned
        || (!ngx_http_session_has_token(&header->value, "public", 6)
            && !ngx_http_session_has_token(&header->value, "s-maxage", 8)))
    {
        return;
    }

    ngx_http_session_private_warned = 1;

    ngx_log_error(NGX_LOG_WARN, r->connection->log, 0,
                  "session: \"Cache-Control: %V\" behind session_require lets "
                  "shared caches give this answer to anybody; this is said "
                  "once", &header->value);
}


/* Into the last Vary line there is, so that the response has no more. */

static ngx_int_t
ngx_http_session_vary_cookie(ngx_http_request_t *r)
{
    u_char           *p;
    ngx_str_t         value;
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header, *vary;

    vary = NULL;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (header[i].hash == 0
                || !ngx_http_session_header_is(&header[i], "vary",
                                               sizeof("vary") - 1))
            {
                continue;
            }

            if (ngx_http_session_has_token(&header[i].value, "*", 1)
                || ngx_http_session_has_token(&header[i].value, "cookie", 6))
            {
                return NGX_OK;
            }

            vary = &header[i];
        }
    }

    if (vary == NULL || vary->value.len == 0) {
        return ngx_http_session_header_out(r, "Vary", &ngx_http_session_vary);
    }

    value.len = vary->value.len + sizeof(", Cookie") - 1;

    value.data = ngx_pnalloc(r->pool, value.len);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    p = ngx_copy(value.data, vary->value.data, vary->value.len);
    ngx_memcpy(p, ", Cookie", sizeof(", Cookie") - 1);

    vary->value = value;

    return NGX_OK;
}


/* A comma-separated token, with or without "=value" after it. */

static ngx_uint_t
ngx_http_session_has_token(ngx_str_t *value, const char *token, size_t len)
{
    u_char  *p, *last;

    p = value->data;
    last = p + value->len;

    while (p < last) {

        while (p < last && (*p == ' ' || *p == '\t' || *p == ',')) {
            p++;
        }

        if ((size_t) (last - p) >= len
            && ngx_strncasecmp(p, (u_char *) token, len) == 0
            && ((size_t) (last - p) == len || p[len] == ',' || p[len] == '='
                || p[len] == ' ' || p[len] == '\t'))
        {
            return 1;
        }

        while (p < last && *p != ',') {
            p++;
        }
    }

    return 0;
}
