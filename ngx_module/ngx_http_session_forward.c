
/*
 * What the application behind us may see of a request: our cookies and every
 * header that could pass for one of ours are taken out, then the identity is
 * put in.
 *
 * nginx keeps request header lines in a list of arrays and passes all of them
 * on, those with `hash` 0 included, so a line is removed by building the list
 * anew: its parts are runs of the lines that stay, in the arrays where they
 * have always been.  Lines never move, for headers_in.host and others point
 * at them, and are never written to: a subrequest starts with a copy of its
 * parent's headers_in, so old parts and lines may be in use by other requests
 * of the same main one, with other settings.
 *
 *   before   part  [ Host | X_Session_User | Cookie | Accept ]
 *
 *   after    part  [ Host ]                           same array
 *            part  [ Cookie ]                         a cut copy
 *            part  [ Accept ]                         same array
 *            part  [ X-Session-User | X-Session-Id ]  new
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "text/cookie.h"
#include "text/plain.h"


#define NGX_HTTP_SESSION_FORWARD_COOKIES  3


typedef struct {
    ngx_list_t                  headers;
    ngx_http_session_cookies_t  cookies;
    text_span_t                 names[NGX_HTTP_SESSION_FORWARD_COOKIES];
    unsigned                    identity:1;     /* lines to be removed */
    unsigned                    cookie:1;       /* lines to be cut */
} ngx_http_session_scrub_t;


typedef struct {
    ngx_str_t                   key;
    ngx_str_t                   lowcase;
    size_t                      offset;         /* in the record */
    ngx_uint_t                  hash;           /* of lowcase */
} ngx_http_session_forward_t;


static void ngx_http_session_scrub_scan(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub);
static ngx_int_t ngx_http_session_scrub_relink(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub);
static ngx_table_elt_t *ngx_http_session_scrub_cookie(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub, ngx_table_elt_t *line);
static ngx_int_t ngx_http_session_scrub_add(ngx_pool_t *pool,
    ngx_list_t *headers, ngx_table_elt_t *line);
static ngx_int_t ngx_http_session_scrub_close(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub);
static ngx_int_t ngx_http_session_scrub_keep(ngx_http_request_t *r,
    ngx_http_session_ctx_t *ctx);
static void ngx_http_session_scrub_variables(ngx_http_request_t *r);
static ngx_uint_t ngx_http_session_scrub_is_identity(ngx_table_elt_t *line);
static ngx_uint_t ngx_http_session_scrub_is_cookie(ngx_table_elt_t *line);
static ngx_int_t ngx_http_session_forward_identity(ngx_http_request_t *r,
    const ngx_http_session_record_t *record, ngx_list_t *headers);


static ngx_http_session_forward_t  ngx_http_session_forwards[] = {
    { ngx_string("X-Session-User"), ngx_string("x-session-user"),
      offsetof(ngx_http_session_record_t, login), 0 },

    { ngx_string("X-Session-Id"), ngx_string("x-session-id"),
      offsetof(ngx_http_session_record_t, user_id), 0 },

    { ngx_string("X-Session-Name"), ngx_string("x-session-name"),
      offsetof(ngx_http_session_record_t, name), 0 },

    { ngx_string("X-Session-Roles"), ngx_string("x-session-roles"),
      offsetof(ngx_http_session_record_t, roles), 0 },

    { ngx_string("X-Session-Ref"), ngx_string("x-session-ref"),
      offsetof(ngx_http_session_record_t, ref), 0 },

    { ngx_null_string, ngx_null_string, 0, 0 }
};


/* While the configuration is read; the same in every cycle. */

void
ngx_http_session_forward_init(void)
{
    ngx_http_session_forward_t  *forward;

    for (forward = ngx_http_session_forwards; forward->key.len; forward++) {
        forward->hash = ngx_hash_key(forward->lowcase.data,
                                     forward->lowcase.len);
    }
}


/*
 * Runs once a location.  Where an internal redirect arrives in a location
 * with session off, what an earlier one has put in is taken out again: no
 * location gets an identity that it has not asked for.
 */

ngx_int_t
ngx_http_session_forward(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    const ngx_http_session_cookie_t    *cookie;
    const ngx_http_session_record_t    *record;
    ngx_http_session_scrub_t            scrub;
    const ngx_http_session_srv_conf_t  *sscf;
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (!slcf->enable && !ctx->scrubbed) {
        return NGX_OK;
    }

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    record = NULL;

    if (slcf->enable
        && slcf->forward == NGX_HTTP_SESSION_FORWARD_HEADERS
        && ctx->realm == sscf->realm_index)
    {
        record = ctx->record;
    }

    ngx_memzero(&scrub, sizeof(ngx_http_session_scrub_t));

    cookie = sscf->cookie;

    scrub.names[0] = (text_span_t) { cookie->name.data, cookie->name.len };
    scrub.names[1] = (text_span_t) { cookie->pre.data, cookie->pre.len };
    scrub.names[2] = (text_span_t) { cookie->device.data, cookie->device.len };

    ngx_http_session_scrub_scan(r, &scrub);

    ctx->scrubbed = 1;

    if (!scrub.identity && !scrub.cookie && record == NULL) {
        return NGX_OK;
    }

    if (scrub.cookie && ngx_http_session_scrub_keep(r, ctx) != NGX_OK) {
        return NGX_ERROR;
    }

    if (ngx_http_session_scrub_relink(r, &scrub) != NGX_OK) {
        return NGX_ERROR;
    }

    if (record
        && ngx_http_session_forward_identity(r, record, &scrub.headers)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_session_scrub_close(r, &scrub);
}


static void
ngx_http_session_scrub_scan(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub)
{
    size_t            len;
    ngx_uint_t        i;
    text_span_t       value;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *line;

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        line = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_session_scrub_is_identity(&line[i])) {
                scrub->identity = 1;
                continue;
            }

            if (scrub->cookie || !ngx_http_session_scrub_is_cookie(&line[i])) {
                continue;
            }

            value.data = line[i].value.data;
            value.len = line[i].value.len;

            len = text_cookie_cut(value, scrub->names,
                                  NGX_HTTP_SESSION_FORWARD_COOKIES, NULL, 0);

            scrub->cookie = (len != value.len);
        }
    }
}


/* Builds the list of the lines that stay; the request is not changed yet. */

static ngx_int_t
ngx_http_session_scrub_relink(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub)
{
    ngx_uint_t        i;
    ngx_list_part_t  *part;
    ngx_table_elt_t  *line, *kept;

    scrub->headers = r->headers_in.headers;
    scrub->headers.part.nelts = 0;
    scrub->headers.part.next = NULL;
    scrub->headers.last = &scrub->headers.part;

    if (scrub->cookie
        && ngx_http_session_cookies_init(&scrub->cookies, r->pool) != NGX_OK)
    {
        return NGX_ERROR;
    }

    for (part = &r->headers_in.headers.part; part; part = part->next) {

        line = part->elts;

        for (i = 0; i < part->nelts; i++) {

            if (ngx_http_session_scrub_is_identity(&line[i])) {
                continue;
            }

            kept = &line[i];

            if (scrub->cookie && ngx_http_session_scrub_is_cookie(kept)) {

                kept = ngx_http_session_scrub_cookie(r, scrub, kept);
                if (kept == NULL) {
                    return NGX_ERROR;
                }

                if (kept->value.len == 0 && line[i].value.len) {
                    continue;
                }

                if (ngx_http_session_cookies_add(&scrub->cookies, kept)
                    != NGX_OK)
                {
                    return NGX_ERROR;
                }
            }

            if (ngx_http_session_scrub_add(r->pool, &scrub->headers, kept)
                != NGX_OK)
            {
                return NGX_ERROR;
            }
        }
    }

    return NGX_OK;
}


/* A copy of the line without our cookies; an empty value: nothing is left. */

static ngx_table_elt_t *
ngx_http_session_scrub_cookie(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub, ngx_table_elt_t *line)
{
    u_char           *value;
    ngx_table_elt_t  *copy;

    copy = ngx_palloc(r->pool, sizeof(ngx_table_elt_t));
    if (copy == NULL) {
        return NULL;
    }

    *copy = *line;

    if (line->value.len == 0) {
        return copy;
    }

    /* the terminating zero is what nginx's own parsers are used to */

    value = ngx_pnalloc(r->pool, line->value.len + 1);
    if (value == NULL) {
        return NULL;
    }

    copy->value.data = value;
    copy->value.len = text_cookie_cut((text_span_t) { line->value.data,
                                                      line->value.len },
                                      scrub->names,
                                      NGX_HTTP_SESSION_FORWARD_COOKIES,
                                      value, line->value.len);
    value[copy->value.len] = '\0';

    return copy;
}


/*
 * A line that follows the one before in memory makes the run longer, any
 * other begins a new part.  Only the first part may be empty: that is what
 * nginx's loops over lists stand.
 */

static ngx_int_t
ngx_http_session_scrub_add(ngx_pool_t *pool, ngx_list_t *headers,
    ngx_table_elt_t *line)
{
    ngx_list_part_t  *last;

    last = headers->last;

    if (last->nelts && (ngx_table_elt_t *) last->elts + last->nelts == line) {
        last->nelts++;
        return NGX_OK;
    }

    if (last->nelts) {

        last = ngx_palloc(pool, sizeof(ngx_list_part_t));
        if (last == NULL) {
            return NGX_ERROR;
        }

        last->next = NULL;

        headers->last->next = last;
        headers->last = last;
    }

    last->elts = line;
    last->nelts = 1;

    return NGX_OK;
}


/*
 * Gives the request its new list.  The array behind the last part belongs to
 * somebody else beyond the run, so the part is made to look full and the next
 * ngx_list_push() begins another one.
 */

static ngx_int_t
ngx_http_session_scrub_close(ngx_http_request_t *r,
    ngx_http_session_scrub_t *scrub)
{
    ngx_list_t  *headers;

    headers = &scrub->headers;

    if (headers->last->nelts) {
        headers->nalloc = headers->last->nelts;

    } else if (ngx_list_init(headers, r->pool, headers->nalloc, headers->size)
               != NGX_OK)
    {
        return NGX_ERROR;
    }

    r->headers_in.headers = *headers;

    if (headers->last == &headers->part) {
        r->headers_in.headers.last = &r->headers_in.headers.part;
    }

    if (scrub->cookie) {
        ngx_http_session_cookies_set(&scrub->cookies, &r->headers_in);
    }

    ngx_http_session_scrub_variables(r);

    return NGX_OK;
}


/* Keeps the lines as they were sent, for ngx_http_session_find_cookie(). */

static ngx_int_t
ngx_http_session_scrub_keep(ngx_http_request_t *r, ngx_http_session_ctx_t *ctx)
{
    ngx_str_t                 *kept;
    ngx_array_t               *cookies;
    ngx_table_elt_t           *line;
    ngx_http_session_lines_t   lines;

    if (ctx->cookies) {
        return NGX_OK;
    }

    cookies = ngx_array_create(r->pool, 1, sizeof(ngx_str_t));
    if (cookies == NULL) {
        return NGX_ERROR;
    }

    ngx_http_session_lines_init(&lines, &r->headers_in);

    while ((line = ngx_http_session_lines_next(&lines)) != NULL) {

        kept = ngx_array_push(cookies);
        if (kept == NULL) {
            return NGX_ERROR;
        }

        *kept = line->value;
    }

    ctx->cookies = cookies;

    return NGX_OK;
}


/*
 * $http_cookie, $http_x_session_user and $cookie_session may have been looked
 * at in the rewrite phase, and nginx would go on with what it saw then: in
 * "proxy_set_header Cookie $http_cookie" with our cookie in it.
 */

static void
ngx_http_session_scrub_variables(ngx_http_request_t *r)
{
    ngx_str_t                  *name;
    ngx_uint_t                  i;
    ngx_http_variable_t        *v;
    ngx_http_core_main_conf_t  *cmcf;

    cmcf = ngx_http_get_module_main_conf(r, ngx_http_core_module);

    v = cmcf->variables.elts;

    for (i = 0; i < cmcf->variables.nelts; i++) {

        if (!r->variables[i].valid && !r->variables[i].not_found) {
            continue;
        }

        name = &v[i].name;

        if ((name->len >= 7 && ngx_strncmp(name->data, "cookie_", 7) == 0)
            || (name->len == 11 && ngx_strncmp(name->data, "http_cookie", 11)
                                   == 0)
            || (name->len >= 15
                && ngx_strncmp(name->data, "http_x_session_", 15) == 0))
        {
            r->variables[i].valid = 0;
            r->variables[i].not_found = 0;
        }
    }
}


/*
 * X-Session-* in every spelling that becomes the same HTTP_X_SESSION_* in
 * CGI, WSGI, Rack or PHP: any case, and any byte that is neither a letter nor
 * a digit where we write '-'.  The whole prefix is ours.
 */

static ngx_uint_t
ngx_http_session_scrub_is_identity(ngx_table_elt_t *line)
{
    u_char              ch, *key;
    ngx_uint_t          i;
    static const char   prefix[] = "x-session-";

    key = line->key.data;

    if (line->key.len < sizeof(prefix) - 1 || (key[0] | 0x20) != 'x') {
        return 0;
    }

    for (i = 1; i < sizeof(prefix) - 1; i++) {

        ch = key[i] | 0x20;

        if (prefix[i] == '-') {

            if ((ch >= 'a' && ch <= 'z')
                || (key[i] >= '0' && key[i] <= '9'))
            {
                return 0;
            }

            continue;
        }

        if (ch != (u_char) prefix[i]) {
            return 0;
        }
    }

    return 1;
}


static ngx_uint_t
ngx_http_session_scrub_is_cookie(ngx_table_elt_t *line)
{
    return ngx_http_session_header_is(line, "cookie", sizeof("cookie") - 1);
}


/*
 * Values come from the store, which takes nothing that ends a header line;
 * should one with a control character ever get here, the request ends.  What
 * is empty (no display name, no roles) is not sent.
 */

static ngx_int_t
ngx_http_session_forward_identity(ngx_http_request_t *r,
    const ngx_http_session_record_t *record, ngx_list_t *headers)
{
    ngx_str_t                         *value;
    ngx_uint_t                         i, n;
    text_span_t                        span;
    ngx_table_elt_t                   *line;
    const ngx_http_session_forward_t  *forward;

    line = ngx_pcalloc(r->pool, sizeof(ngx_http_session_forwards)
                                / sizeof(ngx_http_session_forwards[0])
                                * sizeof(ngx_table_elt_t));
    if (line == NULL) {
        return NGX_ERROR;
    }

    n = 0;

    for (forward = ngx_http_session_forwards; forward->key.len; forward++) {

        value = (ngx_str_t *) ((u_char *) record + forward->offset);

        span = (text_span_t) { value->data, value->len };

        for (i = text_plain(span); i < value->len; i++) {
            if (value->data[i] < 0x20 || value->data[i] == 0x7f) {
                ngx_log_error(NGX_LOG_ALERT, r->connection->log, 0,
                              "control character in the value of %V",
                              &forward->key);
                return NGX_ERROR;
            }
        }

        if (value->len == 0) {
            continue;
        }

        line[n].hash = forward->hash;
        line[n].key = forward->key;
        line[n].value = *value;
        line[n].lowcase_key = forward->lowcase.data;
        n++;
    }

    for (i = 0; i < n; i++) {
        if (ngx_http_session_scrub_add(r->pool, headers, &line[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}
