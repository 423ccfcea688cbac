/*
 * ngx_http_session_compat.h: differences between nginx 1.22 and newer, all of
 * them here.
 */

#ifndef NGX_HTTP_SESSION_COMPAT_H_INCLUDED
#define NGX_HTTP_SESSION_COMPAT_H_INCLUDED


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#if !(NGX_THREADS)
#error ngx_http_session_module needs nginx built with --with-threads
#endif


/*
 * 1.23.0 turned arrays of request header lines into linked lists.  Iterate a
 * request's Cookie lines like this:
 *
 *   ngx_http_session_lines_t  lines;
 *   ngx_table_elt_t          *h;
 *
 *   ngx_http_session_lines_init(&lines, &r->headers_in);
 *   while ((h = ngx_http_session_lines_next(&lines)) != NULL) { ... }
 */

#if (nginx_version >= 1023000)

typedef struct {
    ngx_table_elt_t  *h;
} ngx_http_session_lines_t;

static ngx_inline void
ngx_http_session_lines_init(ngx_http_session_lines_t *lines,
    ngx_http_headers_in_t *in)
{
    lines->h = in->cookie;
}


static ngx_inline ngx_table_elt_t *
ngx_http_session_lines_next(ngx_http_session_lines_t *lines)
{
    ngx_table_elt_t  *h;

    h = lines->h;

    if (h) {
        lines->h = h->next;
    }

    return h;
}

#define ngx_http_session_no_next(h)  (h)->next = NULL


/* the Cookie lines a request shall have, in their order */
typedef struct {
    ngx_table_elt_t  *first;
    ngx_table_elt_t  *last;
} ngx_http_session_cookies_t;

static ngx_inline ngx_int_t
ngx_http_session_cookies_init(ngx_http_session_cookies_t *cookies,
    ngx_pool_t *pool)
{
    cookies->first = NULL;
    cookies->last = NULL;

    return NGX_OK;
}


static ngx_inline ngx_int_t
ngx_http_session_cookies_add(ngx_http_session_cookies_t *cookies,
    ngx_table_elt_t *h)
{
    h->next = NULL;

    if (cookies->last) {
        cookies->last->next = h;

    } else {
        cookies->first = h;
    }

    cookies->last = h;

    return NGX_OK;
}


static ngx_inline void
ngx_http_session_cookies_set(ngx_http_session_cookies_t *cookies,
    ngx_http_headers_in_t *in)
{
    in->cookie = cookies->first;
}

#else

typedef struct {
    ngx_table_elt_t  **h;
    ngx_uint_t         n;
} ngx_http_session_lines_t;

static ngx_inline void
ngx_http_session_lines_init(ngx_http_session_lines_t *lines,
    ngx_http_headers_in_t *in)
{
    lines->h = in->cookies.elts;
    lines->n = in->cookies.nelts;
}


static ngx_inline ngx_table_elt_t *
ngx_http_session_lines_next(ngx_http_session_lines_t *lines)
{
    if (lines->n == 0) {
        return NULL;
    }

    lines->n--;

    return *lines->h++;
}

/* header lines had no `next` to clear */
#define ngx_http_session_no_next(h)


typedef struct {
    ngx_array_t  lines;
} ngx_http_session_cookies_t;

static ngx_inline ngx_int_t
ngx_http_session_cookies_init(ngx_http_session_cookies_t *cookies,
    ngx_pool_t *pool)
{
    return ngx_array_init(&cookies->lines, pool, 1, sizeof(ngx_table_elt_t *));
}


static ngx_inline ngx_int_t
ngx_http_session_cookies_add(ngx_http_session_cookies_t *cookies,
    ngx_table_elt_t *h)
{
    ngx_table_elt_t  **line;

    line = ngx_array_push(&cookies->lines);
    if (line == NULL) {
        return NGX_ERROR;
    }

    *line = h;

    return NGX_OK;
}


static ngx_inline void
ngx_http_session_cookies_set(ngx_http_session_cookies_t *cookies,
    ngx_http_headers_in_t *in)
{
    in->cookies = cookies->lines;
}

#endif


#endif /* NGX_HTTP_SESSION_COMPAT_H_INCLUDED */
