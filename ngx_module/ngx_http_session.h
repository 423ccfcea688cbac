/*
 * ngx_http_session.h: what the files of ngx_http_session_module share with
 * each other and with the page and CSP modules.
 *
 * Configuration is read-only once merged: take it as a const pointer.  What a
 * request knows stands in ngx_http_session_ctx_t, one per main request, which
 * survives internal redirects (it is found again through a pool cleanup).
 */

#ifndef NGX_HTTP_SESSION_H_INCLUDED
#define NGX_HTTP_SESSION_H_INCLUDED


#include "ngx_http_session_store.h"
#include "ngx_http_session_job.h"
#include "ngx_http_session_throttle.h"
#include "text/csp.h"
#include "text/template.h"


#define NGX_HTTP_SESSION_COOKIES_MAX  4     /* of our name that are tried */


/* ----------------------------------------------------- configuration --- */

/* session_page NAME, in the order of ngx_http_session_page_names[] */
typedef enum {
    NGX_HTTP_SESSION_PAGE_UP = 0,
    NGX_HTTP_SESSION_PAGE_SIGN_IN,
    NGX_HTTP_SESSION_PAGE_SIGN_OUT,
    NGX_HTTP_SESSION_PAGE_DASHBOARD,
    NGX_HTTP_SESSION_PAGE_ACTOR,
    NGX_HTTP_SESSION_PAGE_VERSIONS,
    NGX_HTTP_SESSION_PAGE_ASSETS,
    NGX_HTTP_SESSION_PAGES
} ngx_http_session_page_e;


typedef struct {
    ngx_str_t                       store;      /* path */
    size_t                          quota;      /* session_store size= */
    ngx_str_t                       keys;       /* file */
    void                           *secrets;
    ngx_array_t                     realms;     /* of ngx_str_t */

    size_t                          hash_memory;    /* bytes */
    ngx_uint_t                      hash_passes;
    ngx_uint_t                      hash_concurrent;
    ngx_uint_t                      hash_queue;
    ngx_msec_t                      hash_timeout;
    ngx_str_t                       hash_pool_name;
    ngx_thread_pool_t              *hash_pool;
    ngx_thread_pool_t              *writer_pool;

    ngx_http_session_throttle_zone_t
                                   *throttle_zone;
    size_t                          throttle_size;

    unsigned                        used:1;     /* some directive needs us */
} ngx_http_session_main_conf_t;


typedef enum {
    NGX_HTTP_SESSION_SAMESITE_LAX = 0,
    NGX_HTTP_SESSION_SAMESITE_STRICT,
    NGX_HTTP_SESSION_SAMESITE_NONE
} ngx_http_session_samesite_e;

typedef struct {
    ngx_str_t                       name;       /* of the session cookie */
    ngx_str_t                       pre;        /* and its name + "-pre" */
    ngx_str_t                       device;     /* its name + "-device" */
    ngx_str_t                       domain;     /* empty: none */
    ngx_uint_t                      samesite;
    ngx_flag_t                      secure;
    ngx_str_t                       attributes; /* "; Path=/; HttpOnly..." */
    ngx_str_t                       ended;      /* "; Max-Age=0; Path=/..." */
} ngx_http_session_cookie_t;

typedef struct ngx_http_session_page_set_s  ngx_http_session_page_set_t;

typedef struct {
    ngx_str_t                       realm;
    ngx_uint_t                      realm_index;    /* in main->realms */
    ngx_http_session_cookie_t      *cookie;

    time_t                          lifetime;
    time_t                          idle;
    time_t                          touch;
    ngx_uint_t                      limit;

    ngx_array_t                    *origins;    /* ngx_str_t, normal form;
                                                 * NULL: auto */
    ngx_array_t                    *returns;    /* ngx_str_t, normal form */

    ngx_str_t                       templates;  /* directory or empty */
    ngx_http_session_page_set_t    *pages;      /* compiled templates */
    ngx_http_complex_value_t       *title;      /* NULL: $host */

    ngx_uint_t                      password_min;
    ngx_uint_t                      password_max;
    ngx_str_t                       blocklist;

    ngx_http_session_throttle_conf_t   throttle;

    /* where this server's pages are; len 0: there is none */
    ngx_str_t                       uris[NGX_HTTP_SESSION_PAGES];

    unsigned                        used:1;     /* a location needs us */
    unsigned                        throttled:1;    /* has session_throttle */
} ngx_http_session_srv_conf_t;


#define NGX_HTTP_SESSION_REQUIRE_OFF   0
#define NGX_HTTP_SESSION_REQUIRE_USER  1

typedef struct {
    ngx_uint_t                      mode;       /* REQUIRE_* */
    ngx_array_t                     all;        /* of ngx_array_t (any) of
                                                 * ngx_str_t roles */
    time_t                          fresh;      /* 0: no matter */
} ngx_http_session_require_t;

#define NGX_HTTP_SESSION_REFUSE_AUTO      0
#define NGX_HTTP_SESSION_REFUSE_REDIRECT  1
#define NGX_HTTP_SESSION_REFUSE_401       2

#define NGX_HTTP_SESSION_FORWARD_OFF      0
#define NGX_HTTP_SESSION_FORWARD_HEADERS  1

typedef struct {
    ngx_flag_t                      enable;     /* session on | off */
    ngx_http_session_require_t     *require;    /* in force here */
    ngx_http_session_require_t     *inherit;    /* what children get: not
                                                 * what a public page drops */
    ngx_uint_t                      refuse;
    ngx_str_t                       sign_in;    /* session_sign_in, or none */
    ngx_uint_t                      forward;
    ngx_uint_t                      page;       /* session_page, or UNSET */
    ngx_flag_t                      page_store; /* up store=off */
} ngx_http_session_loc_conf_t;


/* ----------------------------------------------------------- request --- */

typedef struct {
    ngx_http_session_status_e            status;
    const ngx_http_session_record_t     *record;    /* VALID only */
    ngx_uint_t                           realm;     /* it was judged for */
    u_char                               id[NGX_HTTP_SESSION_ID_LEN];
    ngx_uint_t                           key_line;  /* 0: current secret */
    ngx_str_t                            csrf;      /* cached token */
    u_char                               pre_id[NGX_HTTP_SESSION_PRE_ID_LEN];
    ngx_str_t                            pre;       /* cookie to set, or "" */
    ngx_array_t                         *cookies;   /* of ngx_str_t: lines as
                                                     * sent, if scrubbed */
    unsigned                             looked:1;  /* status is decided */
    unsigned                             has_id:1;  /* id passed its MAC */
    unsigned                             scrubbed:1;
    unsigned                             has_pre:1; /* pre_id is valid */
    unsigned                             refused:1; /* by session_require */
    unsigned                             stale:1;   /* older than fresh= */
} ngx_http_session_ctx_t;


/* The main request's, created when missing; NULL: no memory. */
ngx_http_session_ctx_t *ngx_http_session_get_ctx(ngx_http_request_t *r);

/*
 * Parses the cookie and reads the record, once per main request; later calls
 * return at once.  Nothing is looked at where `session` is off (status NONE,
 * not remembered).  NULL: no memory.
 */
ngx_http_session_ctx_t *ngx_http_session_identify(ngx_http_request_t *r);

/*
 * What session_require of this location says of the identity: NGX_DECLINED
 * (no requirement), NGX_OK, NGX_HTTP_UNAUTHORIZED, NGX_HTTP_FORBIDDEN or
 * NGX_HTTP_SERVICE_UNAVAILABLE.
 */
ngx_int_t ngx_http_session_decide(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);

/*
 * Answers a refusal fit for the client; the request's body is discarded.
 * Returns what a content handler must return: a status for core to answer, or
 * what sending returned.  An ACCESS handler finalizes the latter itself.
 */
ngx_int_t ngx_http_session_refuse(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx, ngx_int_t status);

/* 1 for a browser's navigation, 0 for fetch, XHR and programs. */
ngx_int_t ngx_http_session_is_navigation(ngx_http_request_t *r);
/* 1 when the client asks for JSON rather than HTML (Accept). */
ngx_int_t ngx_http_session_wants_json(ngx_http_request_t *r);

/* "/sign_in?return_to=%2Fx%3Fy", with "fresh=1" before it when the password is
 * wanted again: NGX_OK, NGX_DECLINED (no sign-in page here),
 * NGX_ERROR.  ngx_http_session_refuse.c */
ngx_int_t ngx_http_session_sign_in_url(ngx_http_request_t *r, ngx_str_t *url);


/* Is this the line's name?  Its case does not matter, name is lower-case. */
static ngx_inline ngx_uint_t
ngx_http_session_header_is(const ngx_table_elt_t *line, const char *name,
    size_t len)
{
    size_t  i;

    if (line->key.len != len) {
        return 0;
    }

    for (i = 0; i < len; i++) {
        if (ngx_tolower(line->key.data[i]) != (u_char) name[i]) {
            return 0;
        }
    }

    return 1;
}


/* Value of a request header by lower-case name, several lines: the first; no
 * such header: len 0 and NGX_DECLINED.  *count (may be NULL): how many. */
ngx_int_t ngx_http_session_header_in(ngx_http_request_t *r, const char *name,
    ngx_str_t *value, ngx_uint_t *count);
/* Pushes a response header (value is not copied); key is a literal. */
ngx_int_t ngx_http_session_header_out(ngx_http_request_t *r, const char *key,
    ngx_str_t *value);


/* Cookies.  ngx_http_session_cookies.c */
typedef enum {
    NGX_HTTP_SESSION_COOKIE_SESSION = 0,
    NGX_HTTP_SESSION_COOKIE_PRE,
    NGX_HTTP_SESSION_COOKIE_DEVICE
} ngx_http_session_cookie_e;

/* Pushes one Set-Cookie; value empty: expires it.  Session: Max-Age is the
 * lifetime; pre: a browser session; device: 400 days. */
ngx_int_t ngx_http_session_set_cookie(ngx_http_request_t *r,
    ngx_http_session_cookie_e which, ngx_str_t *value);
/* Takes back what set_cookie() has pushed, before an answer that is another. */
void ngx_http_session_withdraw_cookies(ngx_http_request_t *r);
/* First cookie of exactly this name: NGX_OK or NGX_DECLINED. */
ngx_int_t ngx_http_session_find_cookie(ngx_http_request_t *r,
    ngx_str_t *name, ngx_str_t *value);
/* Expires the session cookie where the status says it is of no use (never for
 * unknown_key, error, future and where a valid one stood beside junk). */
ngx_int_t ngx_http_session_expire_cookie(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);

/*
 * CSRF.  ngx_http_session_csrf.c
 * token(): the form token of this request, cached; on a page for somebody not
 * signed in it makes the pre-session cookie when there is none (set_cookie is
 * pushed by the page).  check(): the order of DESIGN: Sec-Fetch-Site, Origin,
 * token; field is the form's _csrf (may be empty; the header is looked at too).
 * NGX_OK, NGX_DECLINED, or NGX_ERROR where it cannot be told (no memory, or the
 * session could not be looked up); *why a static reason for the log.
 */
ngx_int_t ngx_http_session_csrf_token(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx, ngx_str_t *token);
ngx_int_t ngx_http_session_csrf_check(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx, ngx_str_t *field, const char **why);
/* The first two steps only, for WebSocket handshakes. */
ngx_int_t ngx_http_session_origin_check(ngx_http_request_t *r,
    const char **why);
/* The origin links are made from, "https://app.example.com"; r->pool. */
ngx_int_t ngx_http_session_origin(ngx_http_request_t *r, ngx_str_t *origin);

/* return-to: NGX_OK when it may be followed.  ngx_http_session_refuse.c */
ngx_int_t ngx_http_session_return_to_check(ngx_http_request_t *r,
    ngx_str_t *target);

/*
 * Scrubbing and forwarding.  ngx_http_session_forward.c
 * Removes identity headers in every spelling and our cookies from the request,
 * for every location with session on, once per location; then adds the
 * X-Session-* headers of ctx->record where session_forward says so.  Where
 * session is off it takes out again what an earlier location put in, and does
 * nothing else.  Subrequests too: they have headers_in of their own, and what
 * they share with others is not written to.  NGX_OK, or NGX_ERROR: answer 500.
 */
void ngx_http_session_forward_init(void);
ngx_int_t ngx_http_session_forward(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);

/* The page module's content handler, set by session_page. */
ngx_int_t ngx_http_session_page_handler(ngx_http_request_t *r);
/* Answers a whole error page (HTML or JSON) with this status; used by refuse
 * and by the pages.  code is a stable word ("store_unavailable", "forbidden",
 * "csrf", "too_many_requests", "bad_request", ...), one section each of
 * error.html.  Returns what the handler must return. */
ngx_int_t ngx_http_session_page_error(ngx_http_request_t *r,
    ngx_uint_t status, const char *code);
/* Compiles a server's templates; called at the end of configuration. */
char *ngx_http_session_page_compile(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *sscf);

/* $csp_nonce of this main request, 24 characters; ngx_http_csp_filter_module.
 * NGX_ERROR: no randomness, answer 503. */
ngx_int_t ngx_http_csp_nonce(ngx_http_request_t *r, ngx_str_t *nonce);
/* Asks the CSP filter to send our own pages' strict policy (default-src
 * 'none'; style-src 'nonce-..' ...), where the location has no `csp`. */
ngx_int_t ngx_http_csp_own_page(ngx_http_request_t *r);


extern ngx_module_t  ngx_http_session_module;
extern ngx_module_t  ngx_http_session_page_module;
extern ngx_module_t  ngx_http_csp_filter_module;

extern ngx_str_t  ngx_http_session_page_names[];


#endif /* NGX_HTTP_SESSION_H_INCLUDED */
