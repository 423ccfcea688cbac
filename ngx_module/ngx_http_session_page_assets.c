/*
 * session_page assets: style and logo under a URI that holds their hash.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_answer.h"
#include "ngx_http_session_page_set.h"


ngx_int_t
ngx_http_session_page_assets_handler(ngx_http_request_t *r)
{
    ngx_uint_t                          i;
    const ngx_str_t                    *uri;
    ngx_http_session_answer_t           answer;
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (sscf->pages == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    for (i = 0; i < NGX_HTTP_SESSION_ASSETS; i++) {
        uri = &sscf->pages->uris[i];

        if (uri->len == r->uri.len
            && ngx_strncmp(uri->data, r->uri.data, uri->len) == 0)
        {
            break;
        }
    }

    /* an old hash among them: its bytes are gone, others would be cached */

    if (i == NGX_HTTP_SESSION_ASSETS) {
        return ngx_http_session_page_error(r, NGX_HTTP_NOT_FOUND,
                                           "not_found");
    }

    answer.status = NGX_HTTP_OK;
    answer.type = ngx_http_session_assets[i].type;
    answer.len = sscf->pages->files->assets[i].len;
    answer.kind = NGX_HTTP_SESSION_ANSWER_ASSET;

    return ngx_http_session_answer_memory(r, &answer,
                                      sscf->pages->files->assets[i].data);
}
