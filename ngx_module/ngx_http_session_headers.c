
/*
 * Request header lines by name, and response header lines to add.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"


ngx_int_t
ngx_http_session_header_in(ngx_http_request_t *r, const char *name,
    ngx_str_t *value, ngx_uint_t *count)
{
    size_t            len;
    ngx_uint_t        i, n;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    n = 0;
    len = ngx_strlen(name);
    ngx_str_null(value);

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (!ngx_http_session_header_is(&header[i], name, len)) {
                continue;
            }

            if (n++ == 0) {
                *value = header[i].value;
            }
        }
    }

    if (count) {
        *count = n;
    }

    return n ? NGX_OK : NGX_DECLINED;
}


ngx_int_t
ngx_http_session_header_out(ngx_http_request_t *r, const char *key,
    ngx_str_t *value)
{
    ngx_table_elt_t  *header;

    header = ngx_list_push(&r->headers_out.headers);
    if (header == NULL) {
        return NGX_ERROR;
    }

    header->hash = 1;
    header->key.len = ngx_strlen(key);
    header->key.data = (u_char *) key;
    header->value = *value;
    header->lowcase_key = NULL;
    ngx_http_session_no_next(header);

    return NGX_OK;
}
