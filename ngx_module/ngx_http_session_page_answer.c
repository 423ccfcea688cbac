/*
 * Sending: headers, JSON, plain text and redirects.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_answer.h"


#define NGX_HTTP_SESSION_JSON_SIZE  8192    /* longer ones are made twice */


static ngx_int_t ngx_http_session_answer_cache(ngx_http_request_t *r,
    ngx_http_session_answer_e kind);
static ngx_int_t ngx_http_session_answer_uncompressed(ngx_http_request_t *r);


static ngx_str_t  ngx_http_session_no_store = ngx_string("no-store");
static ngx_str_t  ngx_http_session_immutable =
    ngx_string("public, max-age=31536000, immutable");
static ngx_str_t  ngx_http_session_vary = ngx_string("Accept, Cookie");
static ngx_str_t  ngx_http_session_vary_accept = ngx_string("Accept");


ngx_int_t
ngx_http_session_answer_send(ngx_http_request_t *r,
    const ngx_http_session_answer_t *answer, ngx_chain_t *chain)
{
    ngx_int_t     rc;
    ngx_chain_t  *cl;

    /* who waits to be asked for a body is not asked for one to be dropped */
    r->expect_tested = 1;

    rc = ngx_http_discard_request_body(r);

    if (rc != NGX_OK) {
        return rc;
    }

    if (ngx_http_session_answer_cache(r, answer->kind) != NGX_OK
        || ngx_http_csp_own_page(r) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    r->headers_out.status = answer->status;
    r->headers_out.content_length_n = answer->len;
    r->headers_out.content_type = answer->type;
    r->headers_out.content_type_len = answer->type.len;
    r->headers_out.content_type_lowcase = NULL;

    if (answer->type.len > 5
        && ngx_strncmp(answer->type.data, "text/", 5) == 0)
    {
        ngx_str_set(&r->headers_out.charset, "utf-8");
    }

    r->allow_ranges = 0;

    if (answer->len == 0) {
        r->header_only = 1;
    }

    rc = ngx_http_send_header(r);

    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }

    for (cl = chain; cl->next; cl = cl->next) { /* void */ }

    cl->buf->last_buf = 1;
    cl->buf->last_in_chain = 1;

    return ngx_http_output_filter(r, chain);
}


/*
 * Cache-Control is pushed without headers_out.cache_control knowing of it:
 * `expires` of an outer level would else replace no-store by a lifetime.  So
 * it can only add a second value, beside which no-store wins.
 */
static ngx_int_t
ngx_http_session_answer_cache(ngx_http_request_t *r,
    ngx_http_session_answer_e kind)
{
    switch (kind) {

    case NGX_HTTP_SESSION_ANSWER_ASSET:
        return ngx_http_session_header_out(r, "Cache-Control",
                                           &ngx_http_session_immutable);

    case NGX_HTTP_SESSION_ANSWER_STATE:
        if (ngx_http_session_header_out(r, "Vary",
                                        &ngx_http_session_vary_accept)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        break;

    default: /* NGX_HTTP_SESSION_ANSWER_PERSONAL */
        if (ngx_http_session_header_out(r, "Vary", &ngx_http_session_vary)
            != NGX_OK
            || ngx_http_session_answer_uncompressed(r) != NGX_OK)
        {
            return NGX_ERROR;
        }

        break;
    }

    return ngx_http_session_header_out(r, "Cache-Control",
                                       &ngx_http_session_no_store);
}


/*
 * A form token beside text that the client chose must not be compressed: the
 * length would tell the token bit by bit (BREACH).  gzip and every other
 * compressing filter leaves a response alone that has a Content-Encoding.
 * This one is in no list of headers, so it is never sent.
 */
static ngx_int_t
ngx_http_session_answer_uncompressed(ngx_http_request_t *r)
{
    ngx_table_elt_t  *h;

    h = ngx_pcalloc(r->pool, sizeof(ngx_table_elt_t));
    if (h == NULL) {
        return NGX_ERROR;
    }

    ngx_str_set(&h->key, "Content-Encoding");
    ngx_str_set(&h->value, "identity");

    r->headers_out.content_encoding = h;

    return NGX_OK;
}


ngx_int_t
ngx_http_session_answer_memory(ngx_http_request_t *r,
    const ngx_http_session_answer_t *answer, const u_char *data)
{
    ngx_buf_t    *b;
    ngx_chain_t  *cl;

    b = ngx_calloc_buf(r->pool);
    if (b == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cl = ngx_alloc_chain_link(r->pool);
    if (cl == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    b->start = (u_char *) data;
    b->pos = b->start;
    b->last = b->pos + answer->len;
    b->end = b->last;
    b->memory = 1;

    cl->buf = b;
    cl->next = NULL;

    return ngx_http_session_answer_send(r, answer, cl);
}


/* How long it is, only writing tells. */
ngx_int_t
ngx_http_session_page_send_json(ngx_http_request_t *r, ngx_uint_t status,
    ngx_http_session_json_pt write, void *data)
{
    u_char                     *p, text[NGX_HTTP_SESSION_JSON_SIZE];
    text_json_t                 json;
    ngx_http_session_answer_t   answer;

    text_json_init(&json, text, sizeof(text));
    write(&json, data);

    p = ngx_pnalloc(r->pool, json.len);
    if (p == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (json.len <= sizeof(text)) {
        ngx_memcpy(p, text, json.len);

    } else {
        text_json_init(&json, p, json.len);
        write(&json, data);
    }

    answer.status = status;
    answer.len = json.len;
    answer.kind = NGX_HTTP_SESSION_ANSWER_PERSONAL;
    ngx_str_set(&answer.type, "application/json");

    return ngx_http_session_answer_memory(r, &answer, p);
}


void
ngx_http_session_json_text(text_json_t *json, const char *name,
    const ngx_str_t *value)
{
    text_span_t  span;

    span.data = value->data;
    span.len = value->len;

    text_json_string(json, name, span);
}


void
ngx_http_session_json_roles(text_json_t *json, const ngx_str_t *roles)
{
    u_char     *p, *last;
    ngx_str_t   role;

    text_json_array(json, "roles");

    p = roles->data;
    last = p + roles->len;

    while (ngx_http_session_next_role(&p, last, &role) == NGX_OK) {
        ngx_http_session_json_text(json, NULL, &role);
    }

    text_json_array_end(json);
}


/* "admin,auditor": NGX_DECLINED at the end. */
ngx_int_t
ngx_http_session_next_role(u_char **pos, u_char *last, ngx_str_t *role)
{
    u_char  *comma;

    if (*pos >= last) {
        return NGX_DECLINED;
    }

    comma = ngx_strlchr(*pos, last, ',');

    role->data = *pos;
    role->len = (comma ? comma : last) - *pos;

    *pos = comma ? comma + 1 : last;

    return NGX_OK;
}


ngx_int_t
ngx_http_session_page_send_text(ngx_http_request_t *r, ngx_uint_t status,
    const ngx_str_t *text)
{
    ngx_http_session_answer_t  answer;

    answer.status = status;
    answer.len = text->len;
    answer.kind = NGX_HTTP_SESSION_ANSWER_STATE;
    ngx_str_set(&answer.type, "text/plain");

    return ngx_http_session_answer_memory(r, &answer, text->data);
}


/*
 * r->headers_out.location stays NULL: core would make an absolute URL of a
 * path there, with a Host that the client chose.
 */
ngx_int_t
ngx_http_session_page_redirect(ngx_http_request_t *r, ngx_str_t *location)
{
    ngx_http_session_answer_t  answer;

    if (ngx_http_session_header_out(r, "Location", location) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    answer.status = NGX_HTTP_SEE_OTHER;
    answer.len = 0;
    answer.kind = NGX_HTTP_SESSION_ANSWER_PERSONAL;
    ngx_str_null(&answer.type);

    return ngx_http_session_answer_send(r, &answer, NULL);
}
