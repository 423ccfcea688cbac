/*
 * ngx_http_session_page_answer.h: the header of a response of ours.  One
 * function sends all of them, so that no page forgets what keeps it out of
 * caches and other people's scripts.
 */

#ifndef NGX_HTTP_SESSION_PAGE_ANSWER_H_INCLUDED
#define NGX_HTTP_SESSION_PAGE_ANSWER_H_INCLUDED


#include "ngx_http_session.h"


typedef enum {
    /* about one client: no-store, Vary on the cookie, never compressed */
    NGX_HTTP_SESSION_ANSWER_PERSONAL = 0,
    NGX_HTTP_SESSION_ANSWER_STATE,      /* about now: no-store */
    NGX_HTTP_SESSION_ANSWER_ASSET       /* the same for ever */
} ngx_http_session_answer_e;

typedef struct {
    ngx_uint_t                   status;
    ngx_str_t                    type;      /* without charset */
    off_t                        len;       /* of the body */
    ngx_http_session_answer_e    kind;
} ngx_http_session_answer_t;


/* Sends header and body; sets the last buffer's flags.  chain may be NULL when
 * len is 0. */
ngx_int_t ngx_http_session_answer_send(ngx_http_request_t *r,
    const ngx_http_session_answer_t *answer, ngx_chain_t *chain);

/* The same for a body that stands in one piece of memory, which is not
 * copied and must live as long as the request. */
ngx_int_t ngx_http_session_answer_memory(ngx_http_request_t *r,
    const ngx_http_session_answer_t *answer, const u_char *data);


#endif /* NGX_HTTP_SESSION_PAGE_ANSWER_H_INCLUDED */
