
/*
 * The header filter of ngx_http_csp_filter_module.
 *
 * It runs for the main request only, whoever made the response: a file, an
 * upstream or its cache, nginx's own error page or one of ours.  A 304 gets no
 * policy: the browser would apply the new nonce to a body it has kept, whose
 * scripts carry an older one.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_csp.h"


#define NGX_HTTP_CSP_NOSNIFF   0x01
#define NGX_HTTP_CSP_REFERRER  0x02


static ngx_int_t ngx_http_csp_header_filter(ngx_http_request_t *r);
static const ngx_http_csp_policy_t *ngx_http_csp_choose(
    ngx_http_request_t *r, ngx_uint_t own);
static ngx_uint_t ngx_http_csp_scan(ngx_http_request_t *r,
    const ngx_http_csp_policy_t *policy);
static ngx_int_t ngx_http_csp_send(ngx_http_request_t *r,
    const ngx_http_csp_policy_t *policy);
static ngx_int_t ngx_http_csp_no_nonce(ngx_http_request_t *r);
static ngx_int_t ngx_http_csp_security_headers(ngx_http_request_t *r,
    ngx_uint_t present);
static ngx_int_t ngx_http_csp_is(ngx_table_elt_t *header, const char *key,
    size_t len);


static ngx_http_output_header_filter_pt  ngx_http_next_header_filter;


static const char  ngx_http_csp_key[] = "Content-Security-Policy";
static const char  ngx_http_csp_nosniff_key[] = "X-Content-Type-Options";
static const char  ngx_http_csp_referrer_key[] = "Referrer-Policy";


/* when there is no randomness: the answer is an error page of nginx's */

static ngx_str_t  ngx_http_csp_closed = ngx_string("default-src 'none'");

static ngx_str_t  ngx_http_csp_nosniff = ngx_string("nosniff");
static ngx_str_t  ngx_http_csp_referrer =
    ngx_string("strict-origin-when-cross-origin");


void
ngx_http_csp_header_filter_init(void)
{
    ngx_http_next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = ngx_http_csp_header_filter;
}


static ngx_int_t
ngx_http_csp_header_filter(ngx_http_request_t *r)
{
    ngx_int_t                       rc;
    ngx_uint_t                      own, present;
    ngx_http_csp_ctx_t             *ctx;
    const ngx_http_csp_policy_t    *policy;
    const ngx_http_csp_loc_conf_t  *clcf;

    if (r != r->main) {
        return ngx_http_next_header_filter(r);
    }

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_csp_filter_module);

    ctx = ngx_http_csp_find_ctx(r);
    own = (ctx && ctx->own == r->loc_conf);

    policy = ngx_http_csp_choose(r, own);

    if (policy == NULL && !own && !clcf->security_headers) {
        return ngx_http_next_header_filter(r);
    }

    if (r->headers_out.status == NGX_HTTP_NOT_MODIFIED) {
        policy = NULL;
    }

    present = ngx_http_csp_scan(r, policy);

    if (policy) {
        rc = ngx_http_csp_send(r, policy);

        if (rc == NGX_DECLINED) {
            return ngx_http_csp_no_nonce(r);
        }

        if (rc != NGX_OK) {
            return NGX_ERROR;
        }
    }

    if ((own || clcf->security_headers)
        && ngx_http_csp_security_headers(r, present) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_next_header_filter(r);
}


/*
 * A page of ours never goes out without a policy that fits it.  An inherited
 * one was written for the site around it, so only one that stands in the very
 * location of the page counts, and an error page of ours in somebody else's
 * location takes none of that location's.
 */

static const ngx_http_csp_policy_t *
ngx_http_csp_choose(ngx_http_request_t *r, ngx_uint_t own)
{
    const ngx_http_csp_loc_conf_t   *clcf;
    const ngx_http_csp_srv_conf_t   *cscf;
    const ngx_http_core_loc_conf_t  *core;

    clcf = ngx_http_get_module_loc_conf(r, ngx_http_csp_filter_module);

    if (!own) {
        return clcf->policy;
    }

    core = ngx_http_get_module_loc_conf(r, ngx_http_core_module);

    if (clcf->here && core->handler == ngx_http_session_page_handler) {
        return clcf->policy;
    }

    cscf = ngx_http_get_module_srv_conf(r, ngx_http_csp_filter_module);

    return &cscf->own;
}


/*
 * Drops what may not stand beside the policy: one of our own from an earlier
 * run over the same response, and with "replace" the upstream's.  What
 * add_header says comes later and stays.  Returns what is present.
 */

static ngx_uint_t
ngx_http_csp_scan(ngx_http_request_t *r, const ngx_http_csp_policy_t *policy)
{
    ngx_uint_t        i, present;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *header;

    present = 0;

    for (part = &r->headers_out.headers.part; part; part = part->next) {

        header = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (header[i].hash == 0) {
                continue;
            }

            if (policy
                && ngx_http_csp_is(&header[i], ngx_http_csp_key,
                                   sizeof(ngx_http_csp_key) - 1))
            {
                if (policy->replace
                    || header[i].key.data == (u_char *) ngx_http_csp_key)
                {
                    header[i].hash = 0;
                }

            } else if (ngx_http_csp_is(&header[i], ngx_http_csp_nosniff_key,
                                       sizeof(ngx_http_csp_nosniff_key) - 1))
            {
                present |= NGX_HTTP_CSP_NOSNIFF;

            } else if (ngx_http_csp_is(&header[i], ngx_http_csp_referrer_key,
                                       sizeof(ngx_http_csp_referrer_key) - 1))
            {
                present |= NGX_HTTP_CSP_REFERRER;
            }
        }
    }

    return present;
}


static ngx_int_t
ngx_http_csp_is(ngx_table_elt_t *header, const char *key, size_t len)
{
    return header->key.len == len
           && ngx_strncasecmp(header->key.data, (u_char *) key, len) == 0;
}


/* NGX_DECLINED: the policy needs a nonce and there is no randomness. */

static ngx_int_t
ngx_http_csp_send(ngx_http_request_t *r, const ngx_http_csp_policy_t *policy)
{
    ngx_str_t            nonce, value;
    ngx_http_csp_ctx_t  *ctx;

    if (policy->csp.n == 1) {
        value = policy->text;
        return ngx_http_session_header_out(r, ngx_http_csp_key, &value);
    }

    ctx = ngx_http_csp_get_ctx(r);
    if (ctx == NULL) {
        return NGX_ERROR;
    }

    if (ctx->failed) {
        return ngx_http_session_header_out(r, ngx_http_csp_key,
                                           &ngx_http_csp_closed);
    }

    if (ngx_http_csp_nonce(r, &nonce) != NGX_OK) {
        ctx->failed = 1;
        return NGX_DECLINED;
    }

    value.data = ngx_pnalloc(r->pool, policy->csp.len);
    if (value.data == NULL) {
        return NGX_ERROR;
    }

    value.len = text_csp_write(&policy->csp, nonce.data, value.data);

    return ngx_http_session_header_out(r, ngx_http_csp_key, &value);
}


static ngx_int_t
ngx_http_csp_no_nonce(ngx_http_request_t *r)
{
    return ngx_http_filter_finalize_request(r, &ngx_http_csp_filter_module,
                                            NGX_HTTP_SERVICE_UNAVAILABLE);
}


static ngx_int_t
ngx_http_csp_security_headers(ngx_http_request_t *r, ngx_uint_t present)
{
    if (!(present & NGX_HTTP_CSP_NOSNIFF)
        && ngx_http_session_header_out(r, ngx_http_csp_nosniff_key,
                                       &ngx_http_csp_nosniff)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (!(present & NGX_HTTP_CSP_REFERRER)
        && ngx_http_session_header_out(r, ngx_http_csp_referrer_key,
                                       &ngx_http_csp_referrer)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}
