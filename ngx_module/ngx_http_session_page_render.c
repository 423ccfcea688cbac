/*
 * From a compiled template and its values to a response.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_answer.h"
#include "ngx_http_session_page_set.h"


/*
 * A literal shorter than this is copied beside the values: a buffer, its
 * chain link and its place in writev() cost more than the copy.
 */
#define NGX_HTTP_SESSION_LITERAL_MIN  128

#define NGX_HTTP_SESSION_CHUNK_SIZE   1024


typedef struct {
    ngx_http_request_t   *request;
    ngx_chain_t          *chain;
    ngx_chain_t         **last;
    ngx_buf_t            *buf;      /* the last one, if it has room */
    off_t                 len;
} ngx_http_session_render_t;


static ngx_int_t ngx_http_session_page_title(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf, ngx_str_t *title);
static void ngx_http_session_page_any(text_value_t *values, ngx_uint_t any,
    ngx_uint_t from, ngx_uint_t to);
static int ngx_http_session_page_emit(void *data, text_span_t piece,
    int literal);
static ngx_int_t ngx_http_session_page_copy(ngx_http_session_render_t *render,
    text_span_t piece);
static ngx_buf_t *ngx_http_session_page_push(
    ngx_http_session_render_t *render);


text_value_t *
ngx_http_session_page_values(ngx_http_request_t *r,
    ngx_http_session_template_e template)
{
    ngx_str_t                          text;
    ngx_uint_t                         i;
    text_value_t                      *values;
    ngx_http_session_ctx_t            *ctx;
    const ngx_http_session_record_t   *record;
    const ngx_http_session_srv_conf_t *sscf;

    static const struct {
        ngx_uint_t                     slot;
        ngx_http_session_page_e        page;
    } links[] = {
        { NGX_HTTP_SESSION_SLOT_SIGN_IN_URI, NGX_HTTP_SESSION_PAGE_SIGN_IN },
        { NGX_HTTP_SESSION_SLOT_SIGN_OUT_URI, NGX_HTTP_SESSION_PAGE_SIGN_OUT },
        { NGX_HTTP_SESSION_SLOT_DASHBOARD_URI,
          NGX_HTTP_SESSION_PAGE_DASHBOARD }
    };

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

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SLOT_STYLE,
                         &sscf->pages->uris[NGX_HTTP_SESSION_ASSET_STYLE]);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_SLOT_LOGO,
                         &sscf->pages->uris[NGX_HTTP_SESSION_ASSET_LOGO]);

    for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        ngx_http_session_page_set(values, links[i].slot,
                                  &sscf->uris[links[i].page]);
    }

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
    ngx_http_session_answer_t           answer;
    ngx_http_session_render_t           render;
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

    render.request = r;
    render.chain = NULL;
    render.last = &render.chain;
    render.buf = NULL;
    render.len = 0;

    if (text_template_render(&sscf->pages->files->templates[template], values,
                             ngx_http_session_page_emit, &render)
        != 0)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_page_renew(r) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    answer.status = status;
    answer.len = render.len;
    answer.kind = NGX_HTTP_SESSION_ANSWER_PERSONAL;
    ngx_str_set(&answer.type, "text/html");

    return ngx_http_session_answer_send(r, &answer, render.chain);
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


static int
ngx_http_session_page_emit(void *data, text_span_t piece, int literal)
{
    ngx_http_session_render_t  *render = data;

    ngx_buf_t                  *b;

    if (piece.len == 0) {
        return 0;
    }

    render->len += piece.len;

    if (!literal || piece.len < NGX_HTTP_SESSION_LITERAL_MIN) {
        return ngx_http_session_page_copy(render, piece) == NGX_OK ? 0 : 1;
    }

    b = ngx_http_session_page_push(render);
    if (b == NULL) {
        return 1;
    }

    b->start = (u_char *) piece.data;
    b->pos = b->start;
    b->last = b->pos + piece.len;
    b->end = b->last;
    b->memory = 1;

    render->buf = NULL;

    return 0;
}


static ngx_int_t
ngx_http_session_page_copy(ngx_http_session_render_t *render,
    text_span_t piece)
{
    size_t      size;
    ngx_buf_t  *b;

    b = render->buf;

    if (b == NULL || (size_t) (b->end - b->last) < piece.len) {
        size = ngx_max(piece.len, NGX_HTTP_SESSION_CHUNK_SIZE);

        b = ngx_http_session_page_push(render);
        if (b == NULL) {
            return NGX_ERROR;
        }

        b->start = ngx_pnalloc(render->request->pool, size);
        if (b->start == NULL) {
            return NGX_ERROR;
        }

        b->pos = b->start;
        b->last = b->start;
        b->end = b->start + size;
        b->temporary = 1;

        render->buf = b;
    }

    b->last = ngx_cpymem(b->last, piece.data, piece.len);

    return NGX_OK;
}


static ngx_buf_t *
ngx_http_session_page_push(ngx_http_session_render_t *render)
{
    ngx_buf_t    *b;
    ngx_chain_t  *cl;

    b = ngx_calloc_buf(render->request->pool);
    if (b == NULL) {
        return NULL;
    }

    cl = ngx_alloc_chain_link(render->request->pool);
    if (cl == NULL) {
        return NULL;
    }

    cl->buf = b;
    cl->next = NULL;
    *render->last = cl;
    render->last = &cl->next;

    return b;
}
