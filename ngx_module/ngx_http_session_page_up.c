/*
 * session_page up: is this nginx fit to serve?  One empty read transaction, or
 * with store=off not even that.  Nothing about the client is looked at, so
 * a probe costs next to nothing and writes nothing.
 */

#include "ngx_http_session_page.h"
#include "text/accept.h"


static void ngx_http_session_page_up_write(text_json_t *json, void *data);


static const ngx_str_t  ngx_http_session_page_up_ok = ngx_string("OK\n");
static const ngx_str_t  ngx_http_session_page_up_down =
    ngx_string("store unavailable\n");


ngx_int_t
ngx_http_session_page_up_handler(ngx_http_request_t *r)
{
    ngx_str_t                           accept;
    ngx_uint_t                          up, status;
    text_span_t                         span;
    text_value_t                       *values;
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    up = !slcf->page_store || ngx_http_session_store_up() == 1;
    status = up ? NGX_HTTP_OK : NGX_HTTP_SERVICE_UNAVAILABLE;

    if (ngx_http_session_header_in(r, "accept", &accept, NULL) != NGX_OK) {
        ngx_str_null(&accept);
    }

    span.data = accept.data;
    span.len = accept.len;

    switch (text_accept(span)) {

    case TEXT_ACCEPT_JSON:
        return ngx_http_session_page_send_json(r, status,
                                               ngx_http_session_page_up_write,
                                               &up);

    case TEXT_ACCEPT_HTML:
        values = ngx_http_session_page_values(r, NGX_HTTP_SESSION_TPL_UP);
        if (values == NULL) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }

        if (!up) {
            ngx_http_session_page_flag(values, NGX_HTTP_SESSION_UP_DOWN);
        }

        return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_UP, status,
                                          values);

    default: /* TEXT_ACCEPT_ANY */
        return ngx_http_session_page_send_text(r, status,
                                         up ? &ngx_http_session_page_up_ok
                                            : &ngx_http_session_page_up_down);
    }
}


static void
ngx_http_session_page_up_write(text_json_t *json, void *data)
{
    ngx_uint_t  *up = data;

    text_json_object(json, NULL);

    if (*up) {
        text_json_string(json, "status", text_span("up"));

    } else {
        text_json_string(json, "status", text_span("down"));
        text_json_string(json, "error", text_span("store_unavailable"));
    }

    text_json_object_end(json);
}
