
/*
 * Who sends this request: from the Cookie lines to a session record, once per
 * main request.
 *
 *   Cookie lines -> up to four cookies of our name -> MAC (no store) ->
 *   one get per distinct id that verified (nearly always one) -> identity
 *
 * Exactly one live session counts.  A stale cookie beside a live one, left
 * over from another Path or Domain, does not lock its user out; two live ones
 * are "duplicate" and nobody, since we cannot know who planted which.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "text/cookie.h"


typedef struct {
    ngx_uint_t                   n;         /* cookies of our name tried */
    ngx_uint_t                   verified;  /* distinct ids with a good MAC */
    u_char                       ids[NGX_HTTP_SESSION_COOKIES_MAX]
                                    [NGX_HTTP_SESSION_ID_LEN];
    ngx_uint_t                   lines[NGX_HTTP_SESSION_COOKIES_MAX];
    ngx_http_session_status_e    failed;    /* the kindest failure seen */
} ngx_http_session_tokens_t;


static void ngx_http_session_ctx_cleanup(void *data);
static void ngx_http_session_collect(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_tokens_t *tokens);
static void ngx_http_session_collect_token(
    const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_tokens_t *tokens, ngx_str_t *text);
static void ngx_http_session_look_up(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf, ngx_http_session_ctx_t *ctx,
    ngx_http_session_tokens_t *tokens);
static void ngx_http_session_touch(const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_ctx_t *ctx);


ngx_str_t  ngx_http_session_status_names[] = {
    ngx_string("none"),
    ngx_string("valid"),
    ngx_string("malformed"),
    ngx_string("bad_signature"),
    ngx_string("unknown_key"),
    ngx_string("revoked"),
    ngx_string("idle"),
    ngx_string("expired"),
    ngx_string("disabled"),
    ngx_string("future"),
    ngx_string("duplicate"),
    ngx_string("error"),
    ngx_null_string
};


/*
 * Module contexts are cleared by internal redirects, so the context hangs on
 * the pool of the main request and is found there again.
 */

ngx_http_session_ctx_t *
ngx_http_session_get_ctx(ngx_http_request_t *r)
{
    ngx_pool_cleanup_t      *cln;
    ngx_http_session_ctx_t  *ctx;

    r = r->main;

    ctx = ngx_http_get_module_ctx(r, ngx_http_session_module);
    if (ctx) {
        return ctx;
    }

    if (r->internal || r->filter_finalize) {

        for (cln = r->pool->cleanup; cln; cln = cln->next) {
            if (cln->handler == ngx_http_session_ctx_cleanup) {
                ngx_http_set_ctx(r, cln->data, ngx_http_session_module);
                return cln->data;
            }
        }
    }

    cln = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_session_ctx_t));
    if (cln == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_session_ctx_cleanup;

    ctx = cln->data;
    ngx_memzero(ctx, sizeof(ngx_http_session_ctx_t));
    ngx_http_set_ctx(r, ctx, ngx_http_session_module);

    return ctx;
}


static void
ngx_http_session_ctx_cleanup(void *data)
{
    ngx_http_session_ctx_t *ctx = data;

    /* the id is most of a token: it must not outlive its request */
    ngx_http_session_wipe(ctx->id, NGX_HTTP_SESSION_ID_LEN);
}


ngx_http_session_ctx_t *
ngx_http_session_identify(ngx_http_request_t *r)
{
    ngx_http_session_ctx_t             *ctx;
    ngx_http_session_tokens_t           tokens;
    const ngx_http_session_loc_conf_t  *slcf;
    const ngx_http_session_srv_conf_t  *sscf;

    ctx = ngx_http_session_get_ctx(r);

    if (ctx == NULL || ctx->looked) {
        return ctx;
    }

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (!slcf->enable) {
        return ctx;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    ctx->looked = 1;
    ctx->realm = sscf->realm_index;

    tokens.n = 0;
    tokens.verified = 0;
    tokens.failed = NGX_HTTP_SESSION_NONE;

    ngx_http_session_collect(r->main, sscf, &tokens);

    if (tokens.verified == 0) {
        ctx->status = tokens.failed;
        return ctx;
    }

    ngx_http_session_look_up(r->main, sscf, ctx, &tokens);

    ngx_http_session_wipe(tokens.ids, sizeof(tokens.ids));

    if (ctx->status == NGX_HTTP_SESSION_VALID) {
        ngx_http_session_touch(sscf, ctx);
    }

    ngx_log_debug2(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "session status:%V cookies:%ui",
                   &ngx_http_session_status_names[ctx->status], tokens.n);

    return ctx;
}


static void
ngx_http_session_collect(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_tokens_t *tokens)
{
    size_t                     pos;
    ngx_str_t                  text;
    text_span_t                line, name, value;
    ngx_table_elt_t           *h;
    ngx_http_session_lines_t   lines;

    name.data = sscf->cookie->name.data;
    name.len = sscf->cookie->name.len;

    ngx_http_session_lines_init(&lines, &r->headers_in);

    while ((h = ngx_http_session_lines_next(&lines)) != NULL) {

        line.data = h->value.data;
        line.len = h->value.len;
        pos = 0;

        while (text_cookie_next(line, &pos, name, &value)) {

            if (tokens->n == NGX_HTTP_SESSION_COOKIES_MAX) {
                return;
            }

            text.data = (u_char *) value.data;
            text.len = value.len;

            ngx_http_session_collect_token(sscf, tokens, &text);
        }
    }
}


static void
ngx_http_session_collect_token(const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_tokens_t *tokens, ngx_str_t *text)
{
    u_char                     *id;
    ngx_uint_t                  i;
    ngx_http_session_status_e   status;

    tokens->n++;

    id = tokens->ids[tokens->verified];

    status = ngx_http_session_token_verify(sscf->realm_index, text, id,
                                           &tokens->lines[tokens->verified]);

    if (status != NGX_HTTP_SESSION_VALID) {

        /* unknown_key is the one that must keep its cookie */

        if (tokens->failed != NGX_HTTP_SESSION_UNKNOWN_KEY) {
            tokens->failed = status;
        }

        return;
    }

    for (i = 0; i < tokens->verified; i++) {
        if (ngx_memcmp(tokens->ids[i], id, NGX_HTTP_SESSION_ID_LEN) == 0) {
            return;
        }
    }

    tokens->verified++;
}


static void
ngx_http_session_look_up(ngx_http_request_t *r,
    const ngx_http_session_srv_conf_t *sscf, ngx_http_session_ctx_t *ctx,
    ngx_http_session_tokens_t *tokens)
{
    ngx_uint_t                  i;
    ngx_http_session_record_t  *record;
    ngx_http_session_status_e   status;

    ctx->status = NGX_HTTP_SESSION_NONE;

    for (i = 0; i < tokens->verified; i++) {

        status = ngx_http_session_store_get(r->pool, sscf->realm_index,
                                            tokens->ids[i], ngx_time(),
                                            sscf->touch, &record);

        if (status == NGX_HTTP_SESSION_STORE_ERROR) {
            ctx->status = status;
            ctx->record = NULL;
            return;
        }

        if (status == NGX_HTTP_SESSION_VALID && ctx->record) {
            ctx->status = NGX_HTTP_SESSION_DUPLICATE;
            ctx->record = NULL;
            return;
        }

        if (ctx->record) {
            continue;
        }

        if (status == NGX_HTTP_SESSION_VALID) {
            ctx->record = record;

        } else if (ctx->status != NGX_HTTP_SESSION_NONE) {
            continue;
        }

        ctx->status = status;
        ctx->key_line = tokens->lines[i];
        ctx->has_id = 1;
        ngx_memcpy(ctx->id, tokens->ids[i], NGX_HTTP_SESSION_ID_LEN);
    }
}


/*
 * `seen` moves at most once per touch= interval.  The writer merges touches
 * of one session that are queued together, and drops them first when it is
 * full: a touch that is lost is made up for by the next request.
 */

static void
ngx_http_session_touch(const ngx_http_session_srv_conf_t *sscf,
    ngx_http_session_ctx_t *ctx)
{
    ngx_http_session_op_t  *op;

    if (ngx_time() - ctx->record->seen < sscf->touch) {
        return;
    }

    op = ngx_http_session_op_touch(ctx->record->key, ngx_time());

    if (op) {
        (void) ngx_http_session_writer_submit(op, NULL, 1);
    }
}
