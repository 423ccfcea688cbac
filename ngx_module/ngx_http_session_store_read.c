/*
 * ngx_http_session_store_read.c: reads, in the event thread.
 *
 * Codes of the store become decisions here, once.  Whatever is not an expected
 * outcome is logged and denies.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"


typedef struct {
    ngx_pool_t                       *pool;
    const store_realm_t              *realm;
    const ngx_http_session_record_t  *own;
    time_t                            now;
    ngx_array_t                      *records;
} ngx_http_session_list_t;


static ngx_http_session_status_e ngx_http_session_store_status(int rc);
static ngx_http_session_record_t *ngx_http_session_store_record(
    ngx_pool_t *pool, const store_session_t *session);
static int ngx_http_session_store_listed(const store_session_t *session,
    void *data);
static ngx_http_session_record_t *ngx_http_session_store_trace(
    ngx_pool_t *pool, const uint8_t key[STORE_KEY_BYTES]);
static u_char *ngx_http_session_store_text(ngx_str_t *str, u_char *p,
    const void *data, size_t len);
static ngx_int_t ngx_http_session_store_line(ngx_pool_t *pool,
    ngx_http_session_sign_in_t *line, const store_event_t *event);
static ngx_int_t ngx_http_session_store_copy(ngx_pool_t *pool, ngx_str_t *str,
    const void *data, size_t len);


ngx_http_session_status_e
ngx_http_session_store_get(ngx_pool_t *pool, ngx_uint_t realm,
    const u_char id[NGX_HTTP_SESSION_ID_LEN], time_t now, time_t touch,
    ngx_http_session_record_t **record)
{
    int                         rc;
    uint8_t                     key[STORE_KEY_BYTES];
    store_realm_t              *name;
    const store_session_t      *session;
    ngx_http_session_worker_t  *worker;

    *record = NULL;
    worker = ngx_http_session_worker;

    if (worker == NULL || worker->store == NULL) {
        return NGX_HTTP_SESSION_STORE_ERROR;
    }

    store_token_key(id, key);

    rc = store_session_look(worker->store, key, now, touch, &session);

    if (rc == STORE_OK) {
        name = &worker->realms[realm];
        rc = store_session_judge(session, name->data, name->len, now);
    }

    if (rc == STORE_OK) {
        *record = ngx_http_session_store_record(pool, session);

        return (*record) ? NGX_HTTP_SESSION_VALID
                         : NGX_HTTP_SESSION_STORE_ERROR;
    }

    if (ngx_http_session_store_status(rc) == NGX_HTTP_SESSION_STORE_ERROR) {
        ngx_http_session_store_failed("read a session", rc);
        return NGX_HTTP_SESSION_STORE_ERROR;
    }

    *record = ngx_http_session_store_trace(pool, key);

    return ngx_http_session_store_status(rc);
}


/* A token whose MAC is right and whose record is gone: it has been ended. */

static ngx_http_session_status_e
ngx_http_session_store_status(int rc)
{
    switch (rc) {

    case STORE_NOT_FOUND:
    case STORE_REVOKED:
        return NGX_HTTP_SESSION_REVOKED;

    case STORE_IDLE:
        return NGX_HTTP_SESSION_IDLE;

    case STORE_EXPIRED:
        return NGX_HTTP_SESSION_EXPIRED;

    case STORE_DISABLED:
        return NGX_HTTP_SESSION_DISABLED;

    case STORE_FUTURE:
        return NGX_HTTP_SESSION_FUTURE;

    /* another realm's keys would not have signed it */

    case STORE_REALM:
        return NGX_HTTP_SESSION_BAD_SIGNATURE;

    default:
        return NGX_HTTP_SESSION_STORE_ERROR;
    }
}


static ngx_http_session_record_t *
ngx_http_session_store_record(ngx_pool_t *pool, const store_session_t *session)
{
    char                        ref[STORE_REF_CHARS + 1];
    u_char                     *p, user[2 * STORE_USER_BYTES];
    ngx_http_session_record_t  *record;

    record = ngx_palloc(pool, sizeof(ngx_http_session_record_t)
                        + STORE_REF_CHARS + sizeof(user)
                        + session->login.len + session->name.len
                        + session->roles.len + session->address.len
                        + session->agent.len);
    if (record == NULL) {
        return NULL;
    }

    ngx_memcpy(record->key, session->key, STORE_KEY_BYTES);
    ngx_memcpy(record->user, session->user, STORE_USER_BYTES);

    record->generation = session->generation;
    record->created = (time_t) session->created;
    record->seen = (time_t) session->seen;
    record->authenticated = (time_t) session->authenticated;
    record->expires = (time_t) store_session_expires(session);

    store_key_ref(session->key, ref);
    ngx_hex_dump(user, (u_char *) session->user, STORE_USER_BYTES);

    p = (u_char *) (record + 1);

    p = ngx_http_session_store_text(&record->ref, p, ref, STORE_REF_CHARS);
    p = ngx_http_session_store_text(&record->user_id, p, user, sizeof(user));
    p = ngx_http_session_store_text(&record->login, p, session->login.data,
                                    session->login.len);
    p = ngx_http_session_store_text(&record->name, p, session->name.data,
                                    session->name.len);
    p = ngx_http_session_store_text(&record->roles, p, session->roles.data,
                                    session->roles.len);
    p = ngx_http_session_store_text(&record->address, p, session->address.data,
                                    session->address.len);

    (void) ngx_http_session_store_text(&record->agent, p, session->agent.data,
                                       session->agent.len);

    return record;
}


/* What an audit may say of a session that is no more: its key and its ref. */

static ngx_http_session_record_t *
ngx_http_session_store_trace(ngx_pool_t *pool,
    const uint8_t key[STORE_KEY_BYTES])
{
    char                        ref[STORE_REF_CHARS + 1];
    ngx_http_session_record_t  *record;

    record = ngx_pcalloc(pool, sizeof(ngx_http_session_record_t)
                         + STORE_REF_CHARS);
    if (record == NULL) {
        return NULL;
    }

    ngx_memcpy(record->key, key, STORE_KEY_BYTES);
    store_key_ref(key, ref);

    (void) ngx_http_session_store_text(&record->ref, (u_char *) (record + 1),
                                       ref, STORE_REF_CHARS);

    return record;
}


static u_char *
ngx_http_session_store_text(ngx_str_t *str, u_char *p, const void *data,
    size_t len)
{
    str->data = p;
    str->len = len;

    return ngx_cpymem(p, data, len);
}


ngx_int_t
ngx_http_session_store_user(ngx_pool_t *pool, ngx_uint_t realm,
    ngx_str_t *login, ngx_http_session_user_t *user)
{
    int                         rc;
    store_user_t                found;
    store_realm_t              *name;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (worker == NULL || worker->store == NULL) {
        return NGX_ERROR;
    }

    name = &worker->realms[realm];

    rc = store_user_find(worker->store, name->data, name->len,
                         (char *) login->data, login->len, &found);

    if (rc == STORE_NOT_FOUND || rc == STORE_INVALID || rc == STORE_MALFORMED)
    {
        return NGX_DECLINED;
    }

    if (rc != STORE_OK) {
        ngx_http_session_store_failed("read a user", rc);
        return NGX_ERROR;
    }

    ngx_memcpy(user->user, found.id, STORE_USER_BYTES);

    user->generation = found.generation;
    user->disabled = (found.flags & STORE_USER_DISABLED) ? 1 : 0;

    rc = (int) ngx_http_session_store_copy(pool, &user->phc, found.phc.data,
                                           found.phc.len);

    store_wipe(&found.phc, sizeof(found.phc));

    return rc;
}


ngx_int_t
ngx_http_session_store_sessions(ngx_pool_t *pool, ngx_uint_t realm,
    const ngx_http_session_record_t *own, time_t now, ngx_array_t *records)
{
    int                         rc;
    ngx_http_session_list_t     list;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (worker == NULL || worker->store == NULL) {
        return NGX_ERROR;
    }

    list.pool = pool;
    list.realm = &worker->realms[realm];
    list.own = own;
    list.now = now;
    list.records = records;

    rc = store_session_others(worker->store, own->user, own->key,
                              ngx_http_session_store_listed, &list);

    if (rc == STORE_OK) {
        return NGX_OK;
    }

    ngx_http_session_store_failed("list sessions", rc);

    /* a damaged record hides this one session only */

    return rc == STORE_CORRUPT ? NGX_OK : NGX_ERROR;
}


/* NULL: the session that asks. */

static int
ngx_http_session_store_listed(const store_session_t *session, void *data)
{
    ngx_http_session_list_t *list = data;

    ngx_http_session_record_t        *slot;
    const ngx_http_session_record_t  *record;

    record = list->own;

    if (session) {

        if (store_session_judge(session, list->realm->data, list->realm->len,
                                list->now)
            != STORE_OK)
        {
            return STORE_OK;
        }

        record = ngx_http_session_store_record(list->pool, session);
        if (record == NULL) {
            return NGX_ENOMEM;
        }
    }

    slot = ngx_array_push(list->records);
    if (slot == NULL) {
        return NGX_ENOMEM;
    }

    *slot = *record;

    return STORE_OK;
}


ngx_int_t
ngx_http_session_store_sign_ins(ngx_pool_t *pool,
    const u_char user[NGX_HTTP_SESSION_USER_LEN], ngx_uint_t max,
    ngx_array_t *sign_ins)
{
    int                          rc;
    size_t                       i, n;
    store_event_t               *events;
    ngx_http_session_sign_in_t  *line;
    ngx_http_session_worker_t   *worker;

    worker = ngx_http_session_worker;

    if (worker == NULL || worker->store == NULL) {
        return NGX_ERROR;
    }

    events = worker->events;
    n = ngx_min(max, NGX_HTTP_SESSION_LIST_MAX);

    rc = store_event_list(worker->store, user,
                          1 << STORE_EVENT_SIGN_IN
                          | 1 << STORE_EVENT_SIGN_IN_FAILED,
                          events, &n);

    if (rc != STORE_OK && rc != STORE_NOT_FOUND) {
        ngx_http_session_store_failed("list sign-ins", rc);
        return NGX_ERROR;
    }

    for (i = 0; rc == STORE_OK && i < n; i++) {

        line = ngx_array_push(sign_ins);

        if (line == NULL
            || ngx_http_session_store_line(pool, line, &events[i]) != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_store_line(ngx_pool_t *pool, ngx_http_session_sign_in_t *line,
    const store_event_t *event)
{
    line->time = (time_t) event->time;
    line->count = event->count;
    line->failed = (event->type == STORE_EVENT_SIGN_IN_FAILED);

    if (ngx_http_session_store_copy(pool, &line->address, event->address.data,
                                    event->address.len)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    return ngx_http_session_store_copy(pool, &line->agent, event->agent.data,
                                       event->agent.len);
}


static ngx_int_t
ngx_http_session_store_copy(ngx_pool_t *pool, ngx_str_t *str, const void *data,
    size_t len)
{
    str->data = ngx_pnalloc(pool, len + 1);
    if (str->data == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(str->data, data, len);
    str->data[len] = '\0';
    str->len = len;

    return NGX_OK;
}
