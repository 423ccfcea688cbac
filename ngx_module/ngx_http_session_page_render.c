/*
 * From a compiled template and its values to a response.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_answer.h"
#include "ngx_http_session_page_set.h"


#define NGX_HTTP_SESSION_PAGE_SIZE  8192    /* larger ones are made twice */


static ngx_int_t ngx_http_session_page_title(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf, ngx_str_t *title);
static void ngx_http_session_page_any(text_value_t *values, ngx_uint_t any,
    ngx_uint_t from, ngx_uint_t to);
static u_char *ngx_http_session_page_render(ngx_http_request_t *r,
    const text_template_t *template, const text_value_t *values, size_t *len);


text_value_t *
ngx_http_session_page_values(ngx_http_request_t *r,
    ngx_http_session_template_e template)
{
    ngx_str_t                          text;
    text_value_t                      *values;
    ngx_http_session_ctx_t            *ctx;
    const ngx_http_session_record_t   *record;
    const ngx_http_session_srv_conf_t *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (sscf->pages == NULL) {
        return NULL;
    }

    values = ngx_pcalloc(r->pool, ngx_http_session_templates[template].n
                                  * sizeof(text_value_t));
    if (values == NULL) {
        return NULL;
    }

    if (ngx_http_session_page_title(r, sscf, &text) != NGX_OK) {
        return NULL;
    }

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SLOT_TITLE, &text);

    if (ngx_http_csp_nonce(r, &text) != NGX_OK) {
        return NULL;
    }

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SLOT_NONCE, &text);

    ctx = ngx_http_session_get_ctx(r);
    if (ctx == NULL) {
        return NULL;
    }

    record = ctx->record;

    if (record) {
        ngx_http_session_page_set(values, NGX_HTTP_SESSION_SLOT_WHO,
                                  record->name.len ? &record->name
                                                   : &record->login);
    }

    return values;
}


static ngx_int_t
ngx_http_session_page_title(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf, ngx_str_t *title)
{
    ngx_http_core_srv_conf_t  *cscf;

    if (sscf->title) {
        return ngx_http_complex_value(r, sscf->title, title);
    }

    /* what $host is */

    if (r->headers_in.server.len) {
        *title = r->headers_in.server;
        return NGX_OK;
    }

    cscf = ngx_http_get_module_srv_conf(r, ngx_http_core_module);
    *title = cscf->server_name;

    return NGX_OK;
}


ngx_str_t *
ngx_http_session_page_uri(ngx_http_request_t *r, ngx_http_session_page_e page)
{
    ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    return sscf->uris[page].len ? &sscf->uris[page] : NULL;
}


ngx_int_t
ngx_http_session_page_number(ngx_http_request_t *r, text_value_t *values,
    ngx_uint_t slot, ngx_uint_t number)
{
    u_char  *p;

    p = ngx_pnalloc(r->pool, NGX_INT_T_LEN);
    if (p == NULL) {
        return NGX_ERROR;
    }

    values[slot].text.data = p;
    values[slot].text.len = ngx_sprintf(p, "%ui", number) - p;

    return NGX_OK;
}


ngx_int_t
ngx_http_session_page_send(ngx_http_request_t *r,
    ngx_http_session_template_e template, ngx_uint_t status,
    text_value_t *values)
{
    u_char                             *p;
    size_t                              len;
    ngx_http_session_answer_t           answer;
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (template == NGX_HTTP_SESSION_TPL_SIGN_IN) {
        ngx_http_session_page_any(values, NGX_HTTP_SESSION_SIGN_IN_ERROR,
                                  NGX_HTTP_SESSION_SIGN_IN_ERROR_CREDENTIALS,
                                  NGX_HTTP_SESSION_SIGN_IN_ERROR_STORE);
        ngx_http_session_page_any(values, NGX_HTTP_SESSION_SIGN_IN_NOTICE,
                                  NGX_HTTP_SESSION_SIGN_IN_REASON_IDLE,
                                  NGX_HTTP_SESSION_SIGN_IN_REASON_FRESH);
    }

    p = ngx_http_session_page_render(r,
                                  &sscf->pages->templates[template],
                                  values, &len);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_page_renew(r) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    answer.status = status;
    answer.len = len;
    answer.kind = NGX_HTTP_SESSION_ANSWER_PERSONAL;
    ngx_str_set(&answer.type, "text/html");

    return ngx_http_session_answer_memory(r, &answer, p);
}


/* Sets the flag `any` if one of the flags from .. to is set. */
static void
ngx_http_session_page_any(text_value_t *values, ngx_uint_t any,
    ngx_uint_t from, ngx_uint_t to)
{
    ngx_uint_t  i;

    for (i = from; i <= to; i++) {
        if (values[i].text.len) {
            ngx_http_session_page_flag(values, any);
            return;
        }
    }
}


/*
 * One piece of memory: copying literals costs less than a buffer, a chain link
 * and a place in writev() for each of them.  It is as long as the page, which
 * only rendering tells.
 */
static u_char *
ngx_http_session_page_render(ngx_http_request_t *r,
    const text_template_t *template, const text_value_t *values, size_t *len)
{
    u_char  *p, page[NGX_HTTP_SESSION_PAGE_SIZE];

    *len = text_template_render(template, values, page, sizeof(page));

    p = ngx_pnalloc(r->pool, *len);
    if (p == NULL) {
        return NULL;
    }

    if (*len <= sizeof(page)) {
        ngx_memcpy(p, page, *len);

    } else {
        (void) text_template_render(template, values, p, *len);
    }

    return p;
}
