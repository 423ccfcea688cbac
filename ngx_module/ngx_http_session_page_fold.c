/*
 * Templates of one server: links between its pages, its assets and a title
 * without variables never change, so they become part of the literals while
 * the configuration is read.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_set.h"


typedef struct {
    text_value_t    values[NGX_HTTP_SESSION_SLOTS_COMMON];
    uint8_t         known[NGX_HTTP_SESSION_SLOTS_COMMON];
} ngx_http_session_page_known_t;


static void ngx_http_session_page_known(
    const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_page_known_t *known);
static void ngx_http_session_page_know(ngx_http_session_page_known_t *known,
    ngx_uint_t slot, const ngx_str_t *value);
static ngx_int_t ngx_http_session_page_fold_one(ngx_conf_t *cf,
    const text_template_t *tpl, const ngx_http_session_page_known_t *known,
    text_template_t *out);


ngx_int_t
ngx_http_session_page_fold(ngx_conf_t *cf, ngx_http_session_srv_conf_t *sscf)
{
    ngx_uint_t                      i;
    ngx_http_session_page_set_t    *set;
    ngx_http_session_page_known_t   known;

    ngx_http_session_page_known(sscf, &known);

    set = sscf->pages;

    for (i = 0; i < NGX_HTTP_SESSION_TEMPLATES; i++) {
        if (ngx_http_session_page_fold_one(cf, &set->files->templates[i],
                                           &known, &set->templates[i])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static void
ngx_http_session_page_known(const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_page_known_t *known)
{
    ngx_memzero(known, sizeof(ngx_http_session_page_known_t));

    if (sscf->title && sscf->title->lengths == NULL) {
        ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_TITLE,
                                   &sscf->title->value);
    }

    ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_STYLE,
                            &sscf->pages->uris[NGX_HTTP_SESSION_ASSET_STYLE]);
    ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_LOGO,
                            &sscf->pages->uris[NGX_HTTP_SESSION_ASSET_LOGO]);
    ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_SIGN_IN_URI,
                            &sscf->uris[NGX_HTTP_SESSION_PAGE_SIGN_IN]);
    ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_SIGN_OUT_URI,
                            &sscf->uris[NGX_HTTP_SESSION_PAGE_SIGN_OUT]);
    ngx_http_session_page_know(known, NGX_HTTP_SESSION_SLOT_DASHBOARD_URI,
                            &sscf->uris[NGX_HTTP_SESSION_PAGE_DASHBOARD]);
}


static void
ngx_http_session_page_know(ngx_http_session_page_known_t *known,
    ngx_uint_t slot, const ngx_str_t *value)
{
    ngx_http_session_page_set(known->values, slot, value);
    known->known[slot] = 1;
}


static ngx_int_t
ngx_http_session_page_fold_one(ngx_conf_t *cf, const text_template_t *tpl,
    const ngx_http_session_page_known_t *known, text_template_t *out)
{
    size_t      len;
    u_char     *text;
    text_op_t  *ops;

    ops = ngx_palloc(cf->pool, tpl->n * sizeof(text_op_t));
    if (ops == NULL) {
        return NGX_ERROR;
    }

    text = (u_char *) "";
    len = text_template_fold(tpl, known->values, known->known,
                             NGX_HTTP_SESSION_SLOTS_COMMON, ops, text, 0, out);

    text = ngx_pnalloc(cf->pool, len + 1);
    if (text == NULL) {
        return NGX_ERROR;
    }

    (void) text_template_fold(tpl, known->values, known->known,
                              NGX_HTTP_SESSION_SLOTS_COMMON, ops, text, len,
                              out);

    return NGX_OK;
}
