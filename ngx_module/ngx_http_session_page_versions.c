/*
 * session_page versions: what runs here, for whoever has to mend it.  The
 * location decides who may ask.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_version.h"

#include <nginx.h>
#include <openssl/crypto.h>


static void ngx_http_session_page_versions_write(text_json_t *json,
    void *data);
static void ngx_http_session_page_versions_text(text_json_t *json,
    const char *name, const char *value);


const char  ngx_http_session_built[] =
    "ngx_session " NGX_HTTP_SESSION_VERSION " for nginx/" NGINX_VERSION;


ngx_int_t
ngx_http_session_page_versions_handler(ngx_http_request_t *r)
{
    return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                         ngx_http_session_page_versions_write,
                                         NULL);
}


static void
ngx_http_session_page_versions_write(text_json_t *json, void *data)
{
    text_json_object(json, NULL);

    ngx_http_session_page_versions_text(json, "module",
                                        NGX_HTTP_SESSION_VERSION);
    ngx_http_session_page_versions_text(json, "nginx", NGINX_VERSION);
    ngx_http_session_page_versions_text(json, "openssl",
                                        OpenSSL_version(OPENSSL_VERSION));
    ngx_http_session_page_versions_text(json, "lmdb",
                                        ngx_http_session_store_engine());
    text_json_int(json, "store_format", ngx_http_session_store_format());

    text_json_object_end(json);
}


static void
ngx_http_session_page_versions_text(text_json_t *json, const char *name,
    const char *value)
{
    text_span_t  span;

    span.data = (const uint8_t *) value;
    span.len = ngx_strlen(value);

    text_json_string(json, name, span);
}
