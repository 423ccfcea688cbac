/*
 * ngx_http_session_store_keys.c: secrets and what is made of them: keyrings,
 * tokens, CSRF tokens, signed cookies; and random bytes.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"


static void ngx_http_session_secrets_cleanup(void *data);
static ngx_int_t ngx_http_session_store_derive(
    ngx_http_session_worker_t *worker, ngx_uint_t i, ngx_str_t *realm,
    store_secrets_t *secrets);


ngx_int_t
ngx_http_session_keys_read(ngx_conf_t *cf, ngx_str_t *file, void **secrets)
{
    char                         why[STORE_WHY_CHARS], *name;
    ngx_pool_cleanup_t          *cln;
    ngx_http_session_secrets_t  *holder;

    cln = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_http_session_secrets_t));
    if (cln == NULL) {
        return NGX_ERROR;
    }

    holder = cln->data;
    holder->secrets = NULL;

    cln->handler = ngx_http_session_secrets_cleanup;

    name = (char *) ngx_pnalloc(cf->temp_pool, file->len + 1);
    if (name == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(name, file->data, file->len);
    name[file->len] = '\0';

    if (store_secrets_read(name, &holder->secrets, why) != STORE_OK) {
        holder->secrets = NULL;

        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%s", why);

        return NGX_ERROR;
    }

    *secrets = holder;

    return NGX_OK;
}


void
ngx_http_session_keys_wipe(void *secrets)
{
    ngx_http_session_secrets_cleanup(secrets);
}


static void
ngx_http_session_secrets_cleanup(void *data)
{
    ngx_http_session_secrets_t *holder = data;

    if (holder->secrets) {
        store_secrets_free(holder->secrets);
        holder->secrets = NULL;
    }
}


/*
 * Runs in every process that is forked from the master, so that only the
 * master keeps the raw secrets: it forks the next worker with them.
 */

ngx_int_t
ngx_http_session_store_keys_init(ngx_http_session_worker_t *worker,
    ngx_http_session_secrets_t *holder, ngx_array_t *realms)
{
    ngx_str_t   *realm;
    ngx_int_t    rc;
    ngx_uint_t   i;

    rc = NGX_OK;

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        goto done;
    }

    rc = NGX_ERROR;
    realm = realms->elts;

    worker->nrealms = realms->nelts;
    worker->keyrings = ngx_calloc(realms->nelts * sizeof(store_keyring_t *),
                                  worker->log);
    worker->realms = ngx_calloc(realms->nelts * sizeof(store_realm_t),
                                worker->log);

    if (worker->keyrings == NULL || worker->realms == NULL) {
        goto done;
    }

    for (i = 0; i < realms->nelts; i++) {
        if (ngx_http_session_store_derive(worker, i, &realm[i],
                                          holder->secrets)
            != NGX_OK)
        {
            goto done;
        }
    }

    worker->nids = store_secrets_count(holder->secrets);

    for (i = 0; i < worker->nids; i++) {
        worker->ids[i] = store_secrets_id(holder->secrets, (unsigned) i);
    }

    rc = NGX_OK;

done:

    ngx_http_session_secrets_cleanup(holder);

    return rc;
}


static ngx_int_t
ngx_http_session_store_derive(ngx_http_session_worker_t *worker, ngx_uint_t i,
    ngx_str_t *realm, store_secrets_t *secrets)
{
    int  rc;

    rc = store_realm_set(&worker->realms[i], (char *) realm->data, realm->len);

    if (rc == STORE_OK) {
        rc = store_keyring_derive(secrets, worker->realms[i].data,
                                  &worker->keyrings[i]);
    }

    if (rc != STORE_OK) {
        ngx_log_error(NGX_LOG_EMERG, worker->log, 0,
                      "session: no keys for realm \"%V\": %s",
                      realm, store_strerror(rc));
        return NGX_ERROR;
    }

    return NGX_OK;
}


ngx_http_session_status_e
ngx_http_session_token_verify(ngx_uint_t realm, ngx_str_t *text,
    u_char id[NGX_HTTP_SESSION_ID_LEN], ngx_uint_t *line)
{
    unsigned  n;

    n = 0;

    switch (store_token_verify(ngx_http_session_worker->keyrings[realm],
                               (char *) text->data, text->len, id, &n))
    {

    case STORE_OK:
        *line = n;
        return NGX_HTTP_SESSION_VALID;

    case STORE_UNKNOWN_KEY:
        return NGX_HTTP_SESSION_UNKNOWN_KEY;

    case STORE_BAD_SIGNATURE:
        return NGX_HTTP_SESSION_BAD_SIGNATURE;

    default:
        return NGX_HTTP_SESSION_MALFORMED;
    }
}


ngx_int_t
ngx_http_session_token_new(time_t now, u_char id[NGX_HTTP_SESSION_ID_LEN])
{
    uint8_t  random[STORE_ID_RANDOM_BYTES];

    if (ngx_http_session_random(random, STORE_ID_RANDOM_BYTES) != NGX_OK) {
        return NGX_ERROR;
    }

    store_token_id(now, random, id);
    store_wipe(random, STORE_ID_RANDOM_BYTES);

    return NGX_OK;
}


void
ngx_http_session_token_sign(ngx_uint_t realm,
    const u_char id[NGX_HTTP_SESSION_ID_LEN], u_char *text)
{
    store_token_sign(ngx_http_session_worker->keyrings[realm], id,
                     (char *) text);
}


void
ngx_http_session_token_key(const u_char id[NGX_HTTP_SESSION_ID_LEN],
    u_char key[NGX_HTTP_SESSION_KEY_LEN])
{
    store_token_key(id, key);
}


ngx_int_t
ngx_http_session_csrf_sign(ngx_uint_t realm, const u_char *id, size_t len,
    u_char *text)
{
    uint8_t  mask[STORE_MAC_BYTES];

    if (ngx_http_session_random(mask, STORE_MAC_BYTES) != NGX_OK) {
        return NGX_ERROR;
    }

    store_csrf_sign(ngx_http_session_worker->keyrings[realm], id, len, mask,
                    (char *) text);

    return NGX_OK;
}


ngx_int_t
ngx_http_session_csrf_verify(ngx_uint_t realm, const u_char *id, size_t len,
    ngx_str_t *text)
{
    if (store_csrf_verify(ngx_http_session_worker->keyrings[realm], id, len,
                          (char *) text->data, text->len)
        != STORE_OK)
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


ngx_int_t
ngx_http_session_pre_new(ngx_uint_t realm,
    u_char id[NGX_HTTP_SESSION_PRE_ID_LEN], u_char *text)
{
    if (ngx_http_session_random(id, NGX_HTTP_SESSION_PRE_ID_LEN) != NGX_OK) {
        return NGX_ERROR;
    }

    store_signed_write(ngx_http_session_worker->keyrings[realm],
                       STORE_LABEL_PRE, id, NGX_HTTP_SESSION_PRE_ID_LEN,
                       (char *) text);

    return NGX_OK;
}


ngx_int_t
ngx_http_session_pre_read(ngx_uint_t realm, ngx_str_t *text,
    u_char id[NGX_HTTP_SESSION_PRE_ID_LEN])
{
    if (store_signed_read(ngx_http_session_worker->keyrings[realm],
                          STORE_LABEL_PRE, (char *) text->data, text->len, id,
                          NGX_HTTP_SESSION_PRE_ID_LEN)
        != STORE_OK)
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


void
ngx_http_session_device_sign(ngx_uint_t realm,
    const u_char user[NGX_HTTP_SESSION_USER_LEN], u_char *text)
{
    store_signed_write(ngx_http_session_worker->keyrings[realm],
                       STORE_LABEL_DEVICE, user, NGX_HTTP_SESSION_USER_LEN,
                       (char *) text);
}


ngx_int_t
ngx_http_session_device_read(ngx_uint_t realm, ngx_str_t *text,
    u_char user[NGX_HTTP_SESSION_USER_LEN])
{
    if (store_signed_read(ngx_http_session_worker->keyrings[realm],
                          STORE_LABEL_DEVICE, (char *) text->data, text->len,
                          user, NGX_HTTP_SESSION_USER_LEN)
        != STORE_OK)
    {
        return NGX_DECLINED;
    }

    return NGX_OK;
}


/*
 * The buffer is the worker's.  Before there is one, in the master, every draw
 * asks the kernel: workers must not start with what the master has drawn.
 */

ngx_int_t
ngx_http_session_random(u_char *buf, size_t n)
{
    int                         rc;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (worker == NULL) {
        return (store_random(buf, n) == STORE_OK) ? NGX_OK : NGX_ERROR;
    }

    rc = STORE_OK;

    if (worker->rng == NULL) {
        rc = store_random_create(&worker->rng);
    }

    if (rc == STORE_OK) {
        rc = store_random_draw(worker->rng, buf, n);
    }

    if (rc != STORE_OK) {
        ngx_http_session_store_failed("get random bytes", rc);
        return NGX_ERROR;
    }

    return NGX_OK;
}


void
ngx_http_session_wipe(void *buf, size_t n)
{
    store_wipe(buf, n);
}


/*
 * The floor is the Password Storage Cheat Sheet's: its combinations cost an
 * attacker the same.
 */

char *
ngx_http_session_hash_check(ngx_uint_t memory_kib, ngx_uint_t passes)
{
    ngx_uint_t  i;

    static const struct {
        ngx_uint_t   memory;
        ngx_uint_t   passes;
    } floor[] = {
        { 47104, 1 },
        { 19456, 2 },
        { 12288, 3 },
        { 9216, 4 },
        { STORE_ARGON2_MEMORY_MIN, 5 },
    };

    if (memory_kib > STORE_ARGON2_MEMORY_MAX) {
        return "memory must not exceed 1024m";
    }

    if (passes > STORE_ARGON2_PASSES_MAX) {
        return "passes must not exceed 16";
    }

    for (i = 0; i < sizeof(floor) / sizeof(floor[0]); i++) {
        if (memory_kib >= floor[i].memory && passes >= floor[i].passes) {
            return NULL;
        }
    }

    return "too cheap to guess: at least memory=46m passes=1, "
           "memory=19m passes=2, memory=12m passes=3, memory=9m passes=4 "
           "or memory=8m passes=5";
}
