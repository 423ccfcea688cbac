/*
 * ngx_http_session_store_ops.c: changes of the store, and what pool threads
 * do with the store.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"
#include "ngx_http_session_op.h"


/* refusals remembered, so that one is audited once a minute; a power of two */
#define NGX_HTTP_SESSION_REFUSALS  256


/* The head is the writer's; the rest is the store's to read and to fill. */
typedef struct {
    ngx_http_session_op_t     head;             /* must be first */
    store_op_t                op;
    store_event_t             event;
} ngx_http_session_change_t;


_Static_assert(NGX_HTTP_SESSION_BATCH_MAX == STORE_BATCH_MAX, "batch");
_Static_assert(NGX_HTTP_SESSION_ID_LEN == STORE_ID_BYTES, "id");
_Static_assert(NGX_HTTP_SESSION_KEY_LEN == STORE_KEY_BYTES, "key");
_Static_assert(NGX_HTTP_SESSION_USER_LEN == STORE_USER_BYTES, "user");
_Static_assert(NGX_HTTP_SESSION_TOKEN_LEN == STORE_TOKEN_CHARS, "token");
_Static_assert(NGX_HTTP_SESSION_CSRF_LEN == STORE_CSRF_CHARS, "csrf");
_Static_assert(NGX_HTTP_SESSION_PRE_LEN == STORE_PRE_CHARS, "pre");
_Static_assert(NGX_HTTP_SESSION_PRE_ID_LEN == STORE_PRE_ID_BYTES, "pre id");
_Static_assert(NGX_HTTP_SESSION_DEVICE_LEN == STORE_DEVICE_CHARS, "device");
_Static_assert(NGX_HTTP_SESSION_LIMIT_MAX == STORE_USER_SESSIONS_MAX, "limit");


static ngx_http_session_change_t *ngx_http_session_op_create(
    store_op_kind_t kind, time_t now);
static void ngx_http_session_op_client(ngx_http_session_change_t *change,
    ngx_str_t *address, ngx_str_t *agent);
static void ngx_http_session_event_client(store_event_t *event,
    ngx_str_t *address, ngx_str_t *agent);
static ngx_uint_t ngx_http_session_op_audited(const u_char *key,
    ngx_uint_t status, time_t now);
static ngx_http_session_outcome_e ngx_http_session_op_outcome(int rc);


static ngx_http_session_change_t *
ngx_http_session_op_create(store_op_kind_t kind, time_t now)
{
    ngx_http_session_change_t  *change;

    change = ngx_calloc(sizeof(ngx_http_session_change_t), ngx_cycle->log);
    if (change == NULL) {
        return NULL;
    }

    change->op.kind = kind;
    change->op.actor = STORE_BY_USER;
    change->op.now = now;

    return change;
}


void
ngx_http_session_op_free(ngx_http_session_op_t *op)
{
    ngx_http_session_change_t  *change;

    change = (ngx_http_session_change_t *) op;

    store_wipe(&change->op.phc, sizeof(change->op.phc));

    ngx_free(change);
}


ngx_uint_t
ngx_http_session_op_count(ngx_http_session_op_t *op)
{
    return op->count;
}


ngx_http_session_op_t *
ngx_http_session_op_touch(const u_char key[NGX_HTTP_SESSION_KEY_LEN],
    time_t now)
{
    ngx_http_session_change_t  *change;

    change = ngx_http_session_op_create(STORE_OP_TOUCH, now);
    if (change == NULL) {
        return NULL;
    }

    ngx_memcpy(change->op.key, key, STORE_KEY_BYTES);

    change->head.key = change->op.key;

    return &change->head;
}


ngx_http_session_op_t *
ngx_http_session_op_sign_in(const ngx_http_session_sign_in_args_t *args,
    time_t now)
{
    store_op_t                 *op;
    ngx_http_session_change_t  *change;

    change = ngx_http_session_op_create(STORE_OP_SIGN_IN, now);
    if (change == NULL) {
        return NULL;
    }

    op = &change->op;

    store_token_key(args->id, op->key);
    ngx_memcpy(op->user, args->user, STORE_USER_BYTES);

    op->generation = args->generation;
    op->idle = (uint32_t) args->idle;
    op->lifetime = (uint32_t) args->lifetime;
    op->limit = (uint32_t) args->limit;

    if (args->old_key) {
        op->has_old = 1;
        ngx_memcpy(op->old, args->old_key, STORE_KEY_BYTES);
    }

    /* the old hash still serves when the upgraded one cannot be taken */

    if (args->phc.len
        && store_text_set(&op->phc, args->phc.data, args->phc.len) != STORE_OK)
    {
        op->phc.len = 0;
    }

    ngx_http_session_op_client(change, (ngx_str_t *) &args->address,
                               (ngx_str_t *) &args->agent);

    change->head.sign_in = 1;

    return &change->head;
}


ngx_http_session_op_t *
ngx_http_session_op_end(ngx_http_session_end_e what,
    const ngx_http_session_record_t *by, ngx_str_t *ref, ngx_str_t *address,
    ngx_str_t *agent, time_t now)
{
    store_op_t                 *op;
    ngx_http_session_change_t  *change;

    static const store_op_kind_t  kinds[] = {
        STORE_OP_END,
        STORE_OP_END_REF,
        STORE_OP_END_OTHERS,
        STORE_OP_END_ALL
    };

    change = ngx_http_session_op_create(kinds[what], now);
    if (change == NULL) {
        return NULL;
    }

    op = &change->op;

    ngx_memcpy(op->user, by->user, STORE_USER_BYTES);
    ngx_memcpy(op->key, by->key, STORE_KEY_BYTES);

    op->end = (what == NGX_HTTP_SESSION_END_SIGN_OUT) ? STORE_END_SIGN_OUT
                                                      : STORE_END_REVOKED;

    /* any other length finds nothing: an empty ref is nobody's */

    if (what == NGX_HTTP_SESSION_END_ONE && ref
        && ref->len == STORE_REF_CHARS)
    {
        ngx_memcpy(op->ref, ref->data, STORE_REF_CHARS);
    }

    ngx_http_session_op_client(change, address, agent);

    return &change->head;
}


void
ngx_http_session_op_undo(ngx_http_session_op_t *op, time_t now)
{
    ngx_http_session_change_t  *change;

    change = (ngx_http_session_change_t *) op;

    store_wipe(&change->op.phc, sizeof(change->op.phc));

    /* user, key, address and agent are as they were */

    change->op.kind = STORE_OP_END;
    change->op.actor = STORE_BY_SERVER;
    change->op.end = STORE_END_UNCERTAIN;
    change->op.now = now;
    change->op.has_old = 0;

    op->state = NGX_HTTP_SESSION_OP_QUEUED;
    op->sign_in = 0;
    op->undo = NGX_HTTP_SESSION_UNDO_MAX;
}


ngx_http_session_op_t *
ngx_http_session_op_failed_sign_in(ngx_uint_t realm, ngx_str_t *login,
    const u_char *user, ngx_str_t *address, ngx_str_t *agent, time_t now)
{
    store_event_t              *event;
    ngx_http_session_change_t  *change;

    change = ngx_http_session_op_create(STORE_OP_EVENT, now);
    if (change == NULL) {
        return NULL;
    }

    event = &change->event;

    event->type = STORE_EVENT_SIGN_IN_FAILED;
    event->actor = STORE_BY_USER;
    event->reason = user ? STORE_BAD_PASSWORD : STORE_NOT_FOUND;
    event->time = now;
    event->count = 1;
    event->realm = ngx_http_session_worker->realms[realm];

    if (user) {
        ngx_memcpy(event->user, user, STORE_USER_BYTES);
    }

    /* a login that no user could have is counted, but not repeated */

    if (store_text_set(&event->login, login->data, login->len) != STORE_OK) {
        event->login.len = 0;
    }

    ngx_http_session_event_client(event, address, agent);

    change->op.event = event;
    change->op.aggregate = 1;

    return &change->head;
}


ngx_http_session_op_t *
ngx_http_session_op_refused(ngx_uint_t realm,
    const u_char key[NGX_HTTP_SESSION_KEY_LEN],
    ngx_http_session_status_e status, ngx_str_t *address, time_t now)
{
    store_event_t              *event;
    ngx_http_session_change_t  *change;

    static const int  reasons[NGX_HTTP_SESSION_STATUSES] = {
        [NGX_HTTP_SESSION_MALFORMED] = STORE_MALFORMED,
        [NGX_HTTP_SESSION_BAD_SIGNATURE] = STORE_BAD_SIGNATURE,
        [NGX_HTTP_SESSION_UNKNOWN_KEY] = STORE_UNKNOWN_KEY,
        [NGX_HTTP_SESSION_REVOKED] = STORE_REVOKED,
        [NGX_HTTP_SESSION_IDLE] = STORE_IDLE,
        [NGX_HTTP_SESSION_EXPIRED] = STORE_EXPIRED,
        [NGX_HTTP_SESSION_DISABLED] = STORE_DISABLED,
        [NGX_HTTP_SESSION_FUTURE] = STORE_FUTURE,
        [NGX_HTTP_SESSION_DUPLICATE] = STORE_CONFLICT
    };

    if (ngx_http_session_op_audited(key, status, now)) {
        return NULL;
    }

    change = ngx_http_session_op_create(STORE_OP_EVENT, now);
    if (change == NULL) {
        return NULL;
    }

    event = &change->event;

    event->type = STORE_EVENT_REFUSED;
    event->actor = STORE_BY_USER;
    event->reason = reasons[status];
    event->time = now;
    event->count = 1;
    event->realm = ngx_http_session_worker->realms[realm];

    ngx_memcpy(event->key, key, STORE_KEY_BYTES);

    ngx_http_session_event_client(event, address, NULL);

    change->op.event = event;

    return &change->head;
}


/*
 * A browser that keeps asking with an ended session is worth one line a
 * minute.  A slot holds the last refusal that fell into it; when two take
 * turns in one slot a line more is written.
 */

static ngx_uint_t
ngx_http_session_op_audited(const u_char *key, ngx_uint_t status, time_t now)
{
    u_char      *p;
    time_t       minute;
    ngx_uint_t   i;

    static struct {
        u_char      key[STORE_KEY_BYTES];
        time_t      minute;
        ngx_uint_t  status;
    } refusals[NGX_HTTP_SESSION_REFUSALS];

    minute = now / 60;

    i = (key[STORE_KEY_BYTES - 1] + status) & (NGX_HTTP_SESSION_REFUSALS - 1);
    p = refusals[i].key;

    if (refusals[i].minute == minute && refusals[i].status == status
        && ngx_memcmp(p, key, STORE_KEY_BYTES) == 0)
    {
        return 1;
    }

    ngx_memcpy(p, key, STORE_KEY_BYTES);

    refusals[i].minute = minute;
    refusals[i].status = status;

    return 0;
}


static void
ngx_http_session_op_client(ngx_http_session_change_t *change,
    ngx_str_t *address, ngx_str_t *agent)
{
    store_op_t  *op;

    op = &change->op;

    if (address && store_text_set(&op->address, address->data, address->len)
                   != STORE_OK)
    {
        op->address.len = 0;
    }

    if (agent) {
        store_agent_set(&op->agent, agent->data, agent->len);
    }
}


static void
ngx_http_session_event_client(store_event_t *event, ngx_str_t *address,
    ngx_str_t *agent)
{
    if (address && store_text_set(&event->address, address->data, address->len)
                   != STORE_OK)
    {
        event->address.len = 0;
    }

    if (agent) {
        store_agent_set(&event->agent, agent->data, agent->len);
    }
}


void
ngx_http_session_store_apply_thread(ngx_http_session_op_t **ops, ngx_uint_t n)
{
    int                         rc;
    ngx_uint_t                  i;
    store_op_t                 *batch[STORE_BATCH_MAX];
    ngx_http_session_change_t  *change;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    for (i = 0; i < n; i++) {
        change = (ngx_http_session_change_t *) ops[i];
        batch[i] = &change->op;
    }

    if (worker->store == NULL) {
        for (i = 0; i < n; i++) {
            ops[i]->outcome = NGX_HTTP_SESSION_OP_FAILED;
        }

        return;
    }

    rc = store_batch_apply(worker->store, batch, n);

    for (i = 0; i < n; i++) {
        ops[i]->count = batch[i]->count;
        ops[i]->outcome = ngx_http_session_op_outcome(batch[i]->result);

        if (ops[i]->outcome == NGX_HTTP_SESSION_OP_FAILED) {
            rc = batch[i]->result;
        }
    }

    worker->applied = rc;
}


static ngx_http_session_outcome_e
ngx_http_session_op_outcome(int rc)
{
    switch (rc) {

    case STORE_OK:
        return NGX_HTTP_SESSION_OP_OK;

    case STORE_NOT_FOUND:
    case STORE_REVOKED:
    case STORE_IDLE:
    case STORE_EXPIRED:
        return NGX_HTTP_SESSION_OP_GONE;

    case STORE_EXISTS:
        return NGX_HTTP_SESSION_OP_EXISTS;

    case STORE_CONFLICT:
        return NGX_HTTP_SESSION_OP_CONFLICT;

    case STORE_DISABLED:
        return NGX_HTTP_SESSION_OP_DISABLED;

    default:
        return NGX_HTTP_SESSION_OP_FAILED;
    }
}


void
ngx_http_session_store_applied(void)
{
    int  rc;

    rc = ngx_http_session_worker->applied;
    ngx_http_session_worker->applied = STORE_OK;

    if (rc != STORE_OK) {
        ngx_http_session_store_failed("write", rc);
    }

    ngx_http_session_store_settle();
}


ngx_http_session_password_e
ngx_http_session_password_thread(ngx_str_t *phc, ngx_str_t *password,
    ngx_str_t *upgraded)
{
    int                          rc;
    uint8_t                      salt[STORE_SALT_BYTES];
    store_phc_t                  stored, fresh;
    const store_hash_params_t   *params;
    ngx_http_session_password_e  result;

    params = &ngx_http_session_worker->hash;
    upgraded->len = 0;

    if (phc->len == 0) {
        store_password_dummy(params, &stored);

        rc = store_password_verify(&stored, password->data, password->len);

        return (rc == STORE_BAD_PASSWORD || rc == STORE_OK)
               ? NGX_HTTP_SESSION_PASSWORD_BAD
               : NGX_HTTP_SESSION_PASSWORD_ERROR;
    }

    if (store_text_set(&stored, phc->data, phc->len) != STORE_OK) {
        return NGX_HTTP_SESSION_PASSWORD_ERROR;
    }

    rc = store_password_verify(&stored, password->data, password->len);

    if (rc != STORE_OK) {
        result = (rc == STORE_BAD_PASSWORD) ? NGX_HTTP_SESSION_PASSWORD_BAD
                                            : NGX_HTTP_SESSION_PASSWORD_ERROR;
        goto done;
    }

    result = NGX_HTTP_SESSION_PASSWORD_OK;

    /* who is let in with old parameters is upgraded now or another time */

    if (store_password_outdated(&stored, params)
        && store_random(salt, STORE_SALT_BYTES) == STORE_OK
        && store_password_hash(params, password->data, password->len, salt,
                               &fresh)
           == STORE_OK)
    {
        ngx_memcpy(upgraded->data, fresh.data, fresh.len);
        upgraded->len = fresh.len;

        store_wipe(&fresh, sizeof(fresh));
    }

done:

    store_wipe(&stored, sizeof(stored));

    return result;
}
