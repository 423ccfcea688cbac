/*
 * session_page dashboard: who I am, where I am signed in, what was tried.
 * HTML and JSON tell the same.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_device.h"
#include "text/escape.h"


#define NGX_HTTP_SESSION_SIGN_INS_MAX  10   /* lines of "recent sign-ins" */


typedef struct {
    ngx_http_request_t               *request;
    const ngx_http_session_record_t  *record;
    ngx_str_t                         csrf;
    ngx_array_t                       sessions;     /* of record_t */
    ngx_array_t                       sign_ins;     /* of sign_in_t */
    ngx_str_t                         agent;        /* of the row before */
    text_span_t                       device;       /* and its name */
} ngx_http_session_dashboard_t;


static ngx_int_t ngx_http_session_dashboard_read(ngx_http_request_t *r,
    ngx_http_session_dashboard_t *dashboard);
static ngx_int_t ngx_http_session_dashboard_html(
    ngx_http_session_dashboard_t *dashboard);
static ngx_int_t ngx_http_session_dashboard_who(
    ngx_http_session_dashboard_t *dashboard, text_value_t *values);
static ngx_int_t ngx_http_session_dashboard_roles(
    ngx_http_session_dashboard_t *dashboard, text_value_t *values);
static ngx_int_t ngx_http_session_dashboard_sessions(
    ngx_http_session_dashboard_t *dashboard, text_value_t *values);
static ngx_int_t ngx_http_session_dashboard_sign_ins(
    ngx_http_session_dashboard_t *dashboard, text_value_t *values);
static text_value_t *ngx_http_session_dashboard_rows(ngx_pool_t *pool,
    text_value_t *list, ngx_uint_t n, ngx_uint_t first, ngx_uint_t last);
static ngx_int_t ngx_http_session_dashboard_time(ngx_pool_t *pool,
    text_value_t *values, ngx_uint_t slot, time_t time);
static ngx_int_t ngx_http_session_dashboard_device(
    ngx_http_session_dashboard_t *dashboard, text_value_t *value,
    const ngx_str_t *agent);
static void ngx_http_session_dashboard_notice(ngx_http_request_t *r,
    text_value_t *values);
static void ngx_http_session_dashboard_json(text_json_t *json, void *data);


ngx_int_t
ngx_http_session_page_dashboard_handler(ngx_http_request_t *r)
{
    ngx_http_session_ctx_t        *ctx;
    ngx_http_session_dashboard_t   dashboard;

    if (r->method == NGX_HTTP_POST) {
        return ngx_http_session_page_dashboard_post(r);
    }

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    /* the location need not say session_require */

    if (ctx->record == NULL) {
        return ngx_http_session_refuse(r, ctx,
                             ctx->status == NGX_HTTP_SESSION_STORE_ERROR
                             ? NGX_HTTP_SERVICE_UNAVAILABLE
                             : NGX_HTTP_UNAUTHORIZED);
    }

    dashboard.request = r;
    dashboard.record = ctx->record;
    ngx_str_null(&dashboard.agent);
    dashboard.device = text_span("");

    if (ngx_http_session_csrf_token(r, ctx, &dashboard.csrf) != NGX_OK) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ngx_http_session_dashboard_read(r, &dashboard) != NGX_OK) {
        return ngx_http_session_page_error(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                           "store_unavailable");
    }

    if (ngx_http_session_wants_json(r)) {
        return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                              ngx_http_session_dashboard_json,
                                              &dashboard);
    }

    return ngx_http_session_dashboard_html(&dashboard);
}


static ngx_int_t
ngx_http_session_dashboard_read(ngx_http_request_t *r,
    ngx_http_session_dashboard_t *dashboard)
{
    const ngx_http_session_srv_conf_t  *sscf;

    sscf = ngx_http_get_module_srv_conf(r, ngx_http_session_module);

    if (ngx_array_init(&dashboard->sessions, r->pool, 8,
                       sizeof(ngx_http_session_record_t))
        != NGX_OK
        || ngx_array_init(&dashboard->sign_ins, r->pool,
                          NGX_HTTP_SESSION_SIGN_INS_MAX,
                          sizeof(ngx_http_session_sign_in_t))
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    if (ngx_http_session_store_sessions(r->pool, sscf->realm_index,
                                        dashboard->record, ngx_time(),
                                        &dashboard->sessions)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_session_store_sign_ins(r->pool, dashboard->record->user,
                                           NGX_HTTP_SESSION_SIGN_INS_MAX,
                                           &dashboard->sign_ins);
}


static ngx_int_t
ngx_http_session_dashboard_html(ngx_http_session_dashboard_t *dashboard)
{
    text_value_t        *values;
    ngx_http_request_t  *r;

    r = dashboard->request;

    values = ngx_http_session_page_values(r, NGX_HTTP_SESSION_TPL_DASHBOARD);

    if (values == NULL
        || ngx_http_session_dashboard_who(dashboard, values) != NGX_OK
        || ngx_http_session_dashboard_roles(dashboard, values) != NGX_OK
        || ngx_http_session_dashboard_sessions(dashboard, values) != NGX_OK
        || ngx_http_session_dashboard_sign_ins(dashboard, values) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    ngx_http_session_dashboard_notice(r, values);

    return ngx_http_session_page_send(r, NGX_HTTP_SESSION_TPL_DASHBOARD,
                                      NGX_HTTP_OK, values);
}


static ngx_int_t
ngx_http_session_dashboard_who(ngx_http_session_dashboard_t *dashboard,
    text_value_t *values)
{
    ngx_pool_t                       *pool;
    const ngx_http_session_record_t  *record;

    pool = dashboard->request->pool;
    record = dashboard->record;

    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_ACTION,
                              &dashboard->request->uri);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_CSRF,
                              &dashboard->csrf);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_LOGIN,
                              &record->login);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_NAME,
                              &record->name);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_USER_ID,
                              &record->user_id);
    ngx_http_session_page_set(values, NGX_HTTP_SESSION_DASH_ADDRESS,
                              &record->address);

    if (ngx_http_session_dashboard_time(pool, values,
                                        NGX_HTTP_SESSION_DASH_CREATED,
                                        record->created)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_session_dashboard_time(pool, values,
                                           NGX_HTTP_SESSION_DASH_EXPIRES,
                                           record->expires);
}


static ngx_int_t
ngx_http_session_dashboard_roles(ngx_http_session_dashboard_t *dashboard,
    text_value_t *values)
{
    u_char        *p, *last;
    ngx_str_t      role;
    ngx_uint_t     n;
    text_value_t  *row;

    p = dashboard->record->roles.data;
    last = p + dashboard->record->roles.len;

    for (n = 0; ngx_http_session_next_role(&p, last, &role) == NGX_OK; n++) {
        /* void */
    }

    row = ngx_http_session_dashboard_rows(dashboard->request->pool,
                                         &values[NGX_HTTP_SESSION_DASH_ROLES],
                                         n, NGX_HTTP_SESSION_DASH_ROLE,
                                         NGX_HTTP_SESSION_DASH_ROLE);
    if (row == NULL) {
        return NGX_ERROR;
    }

    p = dashboard->record->roles.data;

    while (ngx_http_session_next_role(&p, last, &role) == NGX_OK) {
        ngx_http_session_page_set(row++, 0, &role);
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_dashboard_sessions(ngx_http_session_dashboard_t *dashboard,
    text_value_t *values)
{
    ngx_uint_t                  i;
    ngx_pool_t                 *pool;
    text_value_t               *row;
    ngx_http_session_record_t  *record;

    /* slots of a row count from its first */

    enum {
        first = NGX_HTTP_SESSION_DASH_S_REF,
        last = NGX_HTTP_SESSION_DASH_S_THIS,
        device = NGX_HTTP_SESSION_DASH_S_DEVICE - first,
        address = NGX_HTTP_SESSION_DASH_S_ADDRESS - first,
        created = NGX_HTTP_SESSION_DASH_S_CREATED - first,
        seen = NGX_HTTP_SESSION_DASH_S_SEEN - first,
        this = NGX_HTTP_SESSION_DASH_S_THIS - first
    };

    pool = dashboard->request->pool;
    record = dashboard->sessions.elts;

    row = ngx_http_session_dashboard_rows(pool,
                                      &values[NGX_HTTP_SESSION_DASH_SESSIONS],
                                      dashboard->sessions.nelts, first, last);
    if (row == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < dashboard->sessions.nelts; i++) {
        ngx_http_session_page_set(row, 0, &record[i].ref);
        ngx_http_session_page_set(row, address, &record[i].address);

        if (ngx_http_session_dashboard_device(dashboard, &row[device],
                                              &record[i].agent)
            != NGX_OK
            || ngx_http_session_dashboard_time(pool, row, created,
                                               record[i].created)
               != NGX_OK
            || ngx_http_session_dashboard_time(pool, row, seen,
                                               record[i].seen)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (ngx_memcmp(record[i].key, dashboard->record->key,
                       NGX_HTTP_SESSION_KEY_LEN)
            == 0)
        {
            ngx_http_session_page_flag(row, this);

        } else {
            ngx_http_session_page_flag(values, NGX_HTTP_SESSION_DASH_OTHERS);
        }

        row += last - first + 1;
    }

    return ngx_http_session_page_number(dashboard->request, values,
                                        NGX_HTTP_SESSION_DASH_COUNT,
                                        dashboard->sessions.nelts);
}


static ngx_int_t
ngx_http_session_dashboard_sign_ins(ngx_http_session_dashboard_t *dashboard,
    text_value_t *values)
{
    ngx_uint_t                   i;
    ngx_pool_t                  *pool;
    text_value_t                *row;
    ngx_http_session_sign_in_t  *sign_in;

    enum {
        first = NGX_HTTP_SESSION_DASH_I_TIME,
        last = NGX_HTTP_SESSION_DASH_I_COUNT,
        device = NGX_HTTP_SESSION_DASH_I_DEVICE - first,
        address = NGX_HTTP_SESSION_DASH_I_ADDRESS - first,
        failed = NGX_HTTP_SESSION_DASH_I_FAILED - first,
        count = NGX_HTTP_SESSION_DASH_I_COUNT - first
    };

    pool = dashboard->request->pool;
    sign_in = dashboard->sign_ins.elts;

    row = ngx_http_session_dashboard_rows(pool,
                                      &values[NGX_HTTP_SESSION_DASH_SIGN_INS],
                                      dashboard->sign_ins.nelts, first, last);
    if (row == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < dashboard->sign_ins.nelts; i++) {
        ngx_http_session_page_set(row, address, &sign_in[i].address);

        if (sign_in[i].failed) {
            ngx_http_session_page_flag(row, failed);
        }

        if (ngx_http_session_dashboard_time(pool, row, 0, sign_in[i].time)
            != NGX_OK
            || ngx_http_session_dashboard_device(dashboard, &row[device],
                                                 &sign_in[i].agent)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        if (sign_in[i].count > 1
            && ngx_http_session_page_number(dashboard->request, row, count,
                                            sign_in[i].count)
               != NGX_OK)
        {
            return NGX_ERROR;
        }

        row += last - first + 1;
    }

    return NGX_OK;
}


/* Gives a list n empty rows of the slots first .. last; not NULL for none. */
static text_value_t *
ngx_http_session_dashboard_rows(ngx_pool_t *pool, text_value_t *list,
    ngx_uint_t n, ngx_uint_t first, ngx_uint_t last)
{
    text_rows_t   *rows;
    text_value_t  *values;

    rows = ngx_palloc(pool, sizeof(text_rows_t));
    if (rows == NULL) {
        return NULL;
    }

    rows->n = n;
    rows->width = last - first + 1;
    rows->first = first;

    values = ngx_pcalloc(pool, (n + 1) * rows->width * sizeof(text_value_t));
    if (values == NULL) {
        return NULL;
    }

    rows->values = values;
    list->rows = rows;

    return values;
}


/* The human form in `slot`, the machine's in the one behind it. */
static ngx_int_t
ngx_http_session_dashboard_time(ngx_pool_t *pool, text_value_t *values,
    ngx_uint_t slot, time_t time)
{
    u_char  *p;

    p = ngx_pnalloc(pool, 2 * TEXT_TIME_CHARS);
    if (p == NULL) {
        return NGX_ERROR;
    }

    text_time_both(time, p, p + TEXT_TIME_CHARS);

    values[slot].text.data = p;
    values[slot].text.len = TEXT_TIME_CHARS;

    values[slot + 1].text.data = p + TEXT_TIME_CHARS;
    values[slot + 1].text.len = TEXT_TIME_CHARS;

    return NGX_OK;
}


/* Most rows are of the same browser as the row before. */
static ngx_int_t
ngx_http_session_dashboard_device(ngx_http_session_dashboard_t *dashboard,
    text_value_t *value, const ngx_str_t *agent)
{
    u_char       *p;
    text_span_t   name;

    if (dashboard->device.len == 0
        || dashboard->agent.len != agent->len
        || ngx_memcmp(dashboard->agent.data, agent->data, agent->len) != 0)
    {
        name = ngx_http_session_page_device(agent);

        p = ngx_pnalloc(dashboard->request->pool, name.len);
        if (p == NULL) {
            return NGX_ERROR;
        }

        ngx_memcpy(p, name.data, name.len);

        dashboard->device.data = p;
        dashboard->device.len = name.len;
        dashboard->agent = *agent;
    }

    value->text = dashboard->device;

    return NGX_OK;
}


/* Only words we know choose a notice, so a link cannot put text here. */
static void
ngx_http_session_dashboard_notice(ngx_http_request_t *r, text_value_t *values)
{
    ngx_str_t   notice;
    ngx_uint_t  i;

    static const struct {
        ngx_str_t   name;
        ngx_uint_t  slot;
    } notices[] = {
        { ngx_string("ended"), NGX_HTTP_SESSION_DASH_NOTICE_ENDED },
        { ngx_string("others"), NGX_HTTP_SESSION_DASH_NOTICE_OTHERS },
        { ngx_string("gone"), NGX_HTTP_SESSION_DASH_NOTICE_GONE }
    };

    if (ngx_http_arg(r, (u_char *) "notice", 6, &notice) != NGX_OK) {
        return;
    }

    for (i = 0; i < sizeof(notices) / sizeof(notices[0]); i++) {
        if (notices[i].name.len == notice.len
            && ngx_strncmp(notices[i].name.data, notice.data, notice.len) == 0)
        {
            ngx_http_session_page_flag(values, notices[i].slot);
        }
    }
}


static void
ngx_http_session_dashboard_json(text_json_t *json, void *data)
{
    ngx_http_session_dashboard_t  *dashboard = data;

    ngx_uint_t                     i;
    ngx_http_session_record_t     *record;
    ngx_http_session_sign_in_t    *sign_in;

    text_json_object(json, NULL);

    ngx_http_session_json_actor(json, dashboard->record);

    record = dashboard->sessions.elts;
    text_json_array(json, "sessions");

    for (i = 0; i < dashboard->sessions.nelts; i++) {
        text_json_object(json, NULL);
        ngx_http_session_json_text(json, "ref", &record[i].ref);
        text_json_bool(json, "this", ngx_memcmp(record[i].key,
                                                dashboard->record->key,
                                                NGX_HTTP_SESSION_KEY_LEN)
                                     == 0);
        text_json_string(json, "device",
                         ngx_http_session_page_device(&record[i].agent));
        ngx_http_session_json_text(json, "address", &record[i].address);
        text_json_time(json, "created", record[i].created);
        text_json_time(json, "seen", record[i].seen);
        text_json_time(json, "expires", record[i].expires);
        text_json_object_end(json);
    }

    text_json_array_end(json);

    sign_in = dashboard->sign_ins.elts;
    text_json_array(json, "sign_ins");

    for (i = 0; i < dashboard->sign_ins.nelts; i++) {
        text_json_object(json, NULL);
        text_json_time(json, "time", sign_in[i].time);
        text_json_bool(json, "failed", sign_in[i].failed);
        text_json_int(json, "count", sign_in[i].count);
        text_json_string(json, "device",
                         ngx_http_session_page_device(&sign_in[i].agent));
        ngx_http_session_json_text(json, "address", &sign_in[i].address);
        text_json_object_end(json);
    }

    text_json_array_end(json);

    ngx_http_session_json_text(json, "csrf_token", &dashboard->csrf);

    text_json_object_end(json);
}
