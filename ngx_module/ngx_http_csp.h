/*
 * ngx_http_csp.h: what the files of ngx_http_csp_filter_module share.  What
 * others may call stands in ngx_http_session.h.
 */

#ifndef NGX_HTTP_CSP_H_INCLUDED
#define NGX_HTTP_CSP_H_INCLUDED


#include "ngx_http_session.h"


typedef struct {
    text_csp_t                csp;          /* its pieces point into text */
    ngx_str_t                 text;
    unsigned                  replace:1;    /* the upstream's goes */
} ngx_http_csp_policy_t;


typedef struct {
    ngx_http_csp_policy_t     own;          /* of our own pages */
} ngx_http_csp_srv_conf_t;


typedef struct {
    ngx_http_csp_policy_t    *policy;       /* NULL: off */
    ngx_flag_t                security_headers;
    unsigned                  here:1;       /* policy is not inherited */
} ngx_http_csp_loc_conf_t;


/*
 * One per main request, made when a nonce is drawn or a page of ours is
 * answered.  The nonce is good for the whole of it; `own` is about one
 * location only: an error_page of the operator is no page of ours.
 */
typedef struct {
    u_char                    nonce[TEXT_CSP_NONCE_CHARS];
    void                    **own;          /* loc_conf of our page */
    unsigned                  drawn:1;      /* nonce is valid */
    unsigned                  failed:1;     /* no randomness: 503 */
} ngx_http_csp_ctx_t;


/* NULL: there is none yet (find) or no memory (get). */
ngx_http_csp_ctx_t *ngx_http_csp_find_ctx(ngx_http_request_t *r);
ngx_http_csp_ctx_t *ngx_http_csp_get_ctx(ngx_http_request_t *r);

ngx_int_t ngx_http_csp_nonce_variable(ngx_http_request_t *r,
    ngx_http_variable_value_t *v, uintptr_t data);
void ngx_http_csp_header_filter_init(void);


#endif /* NGX_HTTP_CSP_H_INCLUDED */
