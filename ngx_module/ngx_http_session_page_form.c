/*
 * Forms: the body of a POST, decoded in a buffer of our own.  It may hold a
 * password, so every copy that this process has of it is wiped.
 */

#include "ngx_http_session_page.h"


static ngx_int_t ngx_http_session_form_acceptable(ngx_http_request_t *r,
    ngx_uint_t *status, const char **code);
static void ngx_http_session_form_handler(ngx_http_request_t *r);
static ngx_int_t ngx_http_session_form_copy(ngx_http_request_t *r,
    ngx_http_session_form_t *form);
static ngx_int_t ngx_http_session_form_append(ngx_http_request_t *r,
    ngx_http_session_form_t *form, ngx_buf_t *b, size_t capacity);
static void ngx_http_session_form_wipe_request(ngx_http_request_t *r);
static void ngx_http_session_form_cleanup(void *data);
static void ngx_http_session_form_gone(void *data);


ngx_int_t
ngx_http_session_form_read(ngx_http_request_t *r, const ngx_str_t *names,
    ngx_uint_t n, ngx_http_session_form_pt handler, void *data)
{
    ngx_int_t                 rc;
    ngx_uint_t                i, status;
    const char               *code;
    ngx_pool_cleanup_t       *cln;
    ngx_http_cleanup_t       *gone;
    ngx_http_session_form_t  *form;

    if (ngx_http_session_form_acceptable(r, &status, &code) != NGX_OK) {
        return ngx_http_session_page_error(r, status, code);
    }

    if (n > NGX_HTTP_SESSION_FORM_FIELDS_MAX) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_session_form_t));
    if (cln == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    form = cln->data;
    ngx_memzero(form, sizeof(ngx_http_session_form_t));

    for (i = 0; i < n; i++) {
        form->fields[i].name.data = names[i].data;
        form->fields[i].name.len = names[i].len;
    }

    form->n = n;
    form->handler = handler;
    form->data = data;

    cln->handler = ngx_http_session_form_cleanup;

    gone = ngx_http_cleanup_add(r, 0);
    if (gone == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    gone->handler = ngx_http_session_form_gone;
    gone->data = r;

    ngx_http_set_ctx(r, form, ngx_http_session_page_module);

    rc = ngx_http_read_client_request_body(r, ngx_http_session_form_handler);

    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }

    return NGX_DONE;
}


/*
 * Before a byte of the body is read.  A browser always says how long a form
 * is; without that, nginx would write up to client_max_body_size of whatever
 * is sent into a file.
 */
static ngx_int_t
ngx_http_session_form_acceptable(ngx_http_request_t *r, ngx_uint_t *status,
    const char **code)
{
    text_span_t       type;
    ngx_table_elt_t  *h;

    if (r->headers_in.chunked) {
        *status = NGX_HTTP_LENGTH_REQUIRED;
        *code = "length_required";
        return NGX_DECLINED;
    }

    if (r->headers_in.content_length_n > NGX_HTTP_SESSION_FORM_SIZE_MAX) {
        *status = NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
        *code = "payload_too_large";
        return NGX_DECLINED;
    }

    if (r->headers_in.content_length_n <= 0) {
        return NGX_OK;
    }

    h = r->headers_in.content_type;

    if (h) {
        type.data = h->value.data;
        type.len = h->value.len;

        if (text_form_type(type)) {
            return NGX_OK;
        }
    }

    *status = NGX_HTTP_UNSUPPORTED_MEDIA_TYPE;
    *code = "unsupported_media_type";

    return NGX_DECLINED;
}


static void
ngx_http_session_form_handler(ngx_http_request_t *r)
{
    ngx_int_t                 rc;
    ngx_http_session_form_t  *form;

    form = ngx_http_get_module_ctx(r, ngx_http_session_page_module);

    rc = ngx_http_session_form_copy(r, form);

    ngx_http_session_form_wipe_request(r);

    if (rc == NGX_ERROR) {
        ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
        return;
    }

    if (rc == NGX_OK
        && text_form_parse(form->body, form->len, form->fields, form->n)
           == TEXT_FORM_OK)
    {
        form->handler(r, form);
        return;
    }

    ngx_http_finalize_request(r,
                              ngx_http_session_page_error(r,
                                  NGX_HTTP_BAD_REQUEST, "bad_request"));
}


/* NGX_OK, NGX_DECLINED (longer than was said) or NGX_ERROR. */
static ngx_int_t
ngx_http_session_form_copy(ngx_http_request_t *r,
    ngx_http_session_form_t *form)
{
    size_t        size;
    ngx_int_t     rc;
    ngx_chain_t  *cl;

    if (r->request_body == NULL || r->request_body->bufs == NULL) {
        return NGX_OK;
    }

    size = 0;

    for (cl = r->request_body->bufs; cl; cl = cl->next) {
        size += ngx_buf_size(cl->buf);

        if (size > NGX_HTTP_SESSION_FORM_SIZE_MAX) {
            return NGX_DECLINED;
        }
    }

    if (size == 0) {
        return NGX_OK;
    }

    form->body = ngx_pnalloc(r->pool, size);
    if (form->body == NULL) {
        return NGX_ERROR;
    }

    for (cl = r->request_body->bufs; cl; cl = cl->next) {
        rc = ngx_http_session_form_append(r, form, cl->buf, size);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_form_append(ngx_http_request_t *r,
    ngx_http_session_form_t *form, ngx_buf_t *b, size_t capacity)
{
    size_t   size;
    ssize_t  n;

    if (ngx_buf_special(b)) {
        return NGX_OK;
    }

    size = (size_t) ngx_buf_size(b);

    if (size > capacity - form->len) {
        return NGX_ERROR;
    }

    if (ngx_buf_in_memory(b)) {
        ngx_memcpy(form->body + form->len, b->pos, size);
        form->len += size;
        return NGX_OK;
    }

    /* written out by client_body_in_file_only or a tiny buffer */

    while (size) {
        n = ngx_read_file(b->file, form->body + form->len, size,
                          b->file_last - size);

        if (n <= 0) {
            ngx_log_error(NGX_LOG_CRIT, r->connection->log, 0,
                          "could not read form back from \"%V\"",
                          &b->file->name);
            return NGX_ERROR;
        }

        form->len += n;
        size -= n;
    }

    return NGX_OK;
}


/* nginx's own copy; $request_body is empty afterwards. */
static void
ngx_http_session_form_wipe_request(ngx_http_request_t *r)
{
    ngx_buf_t                *b;
    ngx_chain_t              *cl;
    ngx_http_request_body_t  *rb;

    rb = r->request_body;

    if (rb == NULL) {
        return;
    }

    for (cl = rb->bufs; cl; cl = cl->next) {
        b = cl->buf;

        if (ngx_buf_in_memory(b)) {
            ngx_http_session_wipe(b->pos, b->last - b->pos);
        }
    }

    /* a buffer that was written out to a file */

    if (rb->buf && rb->buf->temporary) {
        ngx_http_session_wipe(rb->buf->start, rb->buf->last - rb->buf->start);
    }

    /* a mirror that is still to start needs as many bytes as it announces */

    if (r->main->posted_requests == NULL) {
        rb->bufs = NULL;
    }
}


ngx_str_t
ngx_http_session_form_value(const ngx_http_session_form_t *form,
    ngx_uint_t i)
{
    ngx_str_t  value;

    ngx_str_null(&value);

    if (form->fields[i].present) {
        value.data = (u_char *) form->fields[i].value.data;
        value.len = form->fields[i].value.len;
    }

    return value;
}


void
ngx_http_session_form_wipe(ngx_http_session_form_t *form)
{
    ngx_uint_t  i;

    if (form->body) {
        ngx_http_session_wipe(form->body, form->len);
        form->body = NULL;
        form->len = 0;
    }

    for (i = 0; i < form->n; i++) {
        form->fields[i].present = 0;
        form->fields[i].value.data = NULL;
        form->fields[i].value.len = 0;
    }
}


static void
ngx_http_session_form_cleanup(void *data)
{
    ngx_http_session_form_wipe(data);
}


/* A client may go away when half a form has come. */
static void
ngx_http_session_form_gone(void *data)
{
    ngx_http_session_form_wipe_request(data);
}
