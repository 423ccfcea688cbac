/*
 * Error pages: a status, a stable word for programs, and error.html for
 * people.
 */

#include "ngx_http_session_page.h"


typedef struct {
    ngx_uint_t    status;
    const char   *code;
} ngx_http_session_page_error_t;


static ngx_uint_t ngx_http_session_page_has_error_page(ngx_http_request_t *r,
    ngx_uint_t status);
static void ngx_http_session_page_error_write(text_json_t *json, void *data);


ngx_int_t
ngx_http_session_page_error(ngx_http_request_t *r, ngx_uint_t status,
    const char *code)
{
    ngx_uint_t                      i;
    text_value_t                   *values;
    ngx_http_session_page_error_t   error;

    if (ngx_http_session_page_has_error_page(r, status)) {
        return status;
    }

    if (ngx_http_session_wants_json(r)) {
        error.status = status;
        error.code = code;

        return ngx_http_session_page_send_json(r, status,
                                            ngx_http_session_page_error_write,
                                            &error);
    }

    values = ngx_http_session_page_values(r, NGX_HTTP_SESSION_TPL_ERROR);

    if (values == NULL
        || ngx_http_session_page_number(r, values,
                                        NGX_HTTP_SESSION_ERROR_STATUS, status)
           != NGX_OK)
    {
        /* no memory or no randomness: nginx's own page needs neither */
        return status;
    }

    for (i = 0; ngx_http_session_page_codes[i]; i++) {
        if (ngx_strcmp(ngx_http_session_page_codes[i], code) == 0) {
            break;
        }
    }

    ngx_http_session_page_flag(values, NGX_HTTP_SESSION_ERROR_BAD_REQUEST + i);

    return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_ERROR, status,
                                      values);
}


/*
 * An operator's error_page for this status wins over our page; the test is
 * that of ngx_http_special_response_handler().
 */
static ngx_uint_t
ngx_http_session_page_has_error_page(ngx_http_request_t *r, ngx_uint_t status)
{
    ngx_uint_t                 i;
    ngx_http_err_page_t       *err_page;
    ngx_http_core_loc_conf_t  *clcf;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (r->error_page || clcf->error_pages == NULL || r->uri_changes == 0) {
        return 0;
    }

    err_page = clcf->error_pages->elts;

    for (i = 0; i < clcf->error_pages->nelts; i++) {
        if (err_page[i].status == (ngx_int_t) status) {
            return 1;
        }
    }

    return 0;
}


static void
ngx_http_session_page_error_write(text_json_t *json, void *data)
{
    ngx_http_session_page_error_t  *error = data;

    text_span_t                     text;

    text_json_object(json, NULL);

    text.data = (const uint8_t *) error->code;
    text.len = ngx_strlen(error->code);
    text_json_string(json, "error", text);

    text_json_int(json, "status", error->status);

    text_json_object_end(json);
}
