/*
 * ngx_http_session_store.c: the adapter between nginx and the store: opening
 * it, and what is said when it fails.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"
#include "ngx_http_session_job.h"


#define NGX_HTTP_SESSION_OPEN_WAIT   2000       /* ms, when a worker starts */
#define NGX_HTTP_SESSION_FAILED_MUTE 10         /* s between equal lines */


ngx_http_session_worker_t  *ngx_http_session_worker;


void
ngx_http_session_store_look(ngx_conf_t *cf, ngx_str_t *path)
{
    char    why[STORE_WHY_CHARS], *name;

    name = (char *) ngx_pnalloc(cf->temp_pool, path->len + 1);
    if (name == NULL) {
        return;
    }

    ngx_memcpy(name, path->data, path->len);
    name[path->len] = '\0';

    if (store_look(name, why) != STORE_OK) {
        ngx_conf_log_error(NGX_LOG_WARN, cf, 0, "%s", why);
    }
}


ngx_int_t
ngx_http_session_store_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_store_conf_t *conf)
{
    char                        why[STORE_WHY_CHARS];
    store_t                    *store;
    ngx_http_session_worker_t  *worker;

    worker = ngx_calloc(sizeof(ngx_http_session_worker_t) + conf->path.len + 1,
                        cycle->log);
    if (worker == NULL) {
        return NGX_ERROR;
    }

    worker->log = cycle->log;

    worker->path = (char *) (worker + 1);
    ngx_memcpy(worker->path, conf->path.data, conf->path.len);

    worker->options.path = worker->path;
    worker->options.quota = conf->quota;

    worker->hash.memory = (uint32_t) conf->hash_memory;
    worker->hash.passes = (uint32_t) conf->hash_passes;

    if (ngx_http_session_store_keys_init(worker, conf->secrets, conf->realms)
        != NGX_OK)
    {
        return NGX_ERROR;
    }

    /* the cache manager and the cache loader have no use for the store */

    if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)
    {
        return NGX_OK;
    }

    worker->events = ngx_alloc(NGX_HTTP_SESSION_LIST_MAX
                               * sizeof(store_event_t), cycle->log);
    if (worker->events == NULL) {
        return NGX_ERROR;
    }

    ngx_http_session_worker = worker;

    ngx_http_session_store_leave_init(worker);

    if (ngx_http_session_store_open(worker, NGX_HTTP_SESSION_OPEN_WAIT, &store,
                                    why)
        != STORE_OK)
    {
        store = NULL;
    }

    ngx_http_session_store_opened(store, why);
    ngx_http_session_store_duty_init(worker);

    return NGX_OK;
}


void
ngx_http_session_store_exit_worker(ngx_cycle_t *cycle)
{
    ngx_http_session_writer_exit_worker(cycle);

    /* the kernel closes the store: LMDB would take the others' locks along */
}


int
ngx_http_session_store_open(ngx_http_session_worker_t *worker, int wait_ms,
    store_t **store, char why[STORE_WHY_CHARS])
{
    store_options_t  options;

    options = worker->options;
    options.wait_ms = wait_ms;

    why[0] = '\0';

    return store_open(&options, store, why);
}


void
ngx_http_session_store_opened(store_t *store, const char *why)
{
    int                         rc;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (store) {
        worker->store = store;
        rc = store_cache_start(store);

        if (rc != STORE_OK) {
            ngx_log_error(NGX_LOG_WARN, worker->log, 0,
                          "session store \"%s\": no cache: %s", worker->path,
                          store_strerror(rc));
        }

        if (worker->why.len) {
            ngx_log_error(NGX_LOG_NOTICE, worker->log, 0,
                          "session store \"%s\" is open", worker->path);
        }

        worker->why.len = 0;

        return;
    }

    /* once, and again when the reason is another one */

    if (ngx_strcmp(worker->reason, why) == 0) {
        return;
    }

    ngx_http_session_store_note(why);

    ngx_log_error(NGX_LOG_CRIT, worker->log, 0, "%V", &worker->why);
}


void
ngx_http_session_store_note(const char *why)
{
    size_t                      len;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    len = ngx_min(ngx_strlen(why), STORE_WHY_CHARS - 1);

    ngx_memcpy(worker->reason, why, len);
    worker->reason[len] = '\0';

    worker->why.data = (u_char *) worker->reason;
    worker->why.len = len;
}


ngx_int_t
ngx_http_session_store_up(void)
{
    int  rc;

    if (ngx_http_session_worker == NULL
        || ngx_http_session_worker->store == NULL)
    {
        return 0;
    }

    rc = store_ping(ngx_http_session_worker->store);

    if (rc != STORE_OK) {
        ngx_http_session_store_failed("answer", rc);
        return 0;
    }

    return 1;
}


ngx_str_t *
ngx_http_session_store_why(void)
{
    static ngx_str_t  none = ngx_string("no session store in this process");

    if (ngx_http_session_worker == NULL) {
        return &none;
    }

    return &ngx_http_session_worker->why;
}


void
ngx_http_session_store_failed(const char *what, int rc)
{
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (ngx_http_session_store_is_lost(what, rc)) {
        return;
    }

    if (worker->failed == rc
        && ngx_time() - worker->failed_at < NGX_HTTP_SESSION_FAILED_MUTE)
    {
        return;
    }

    worker->failed = rc;
    worker->failed_at = ngx_time();

    ngx_log_error(NGX_LOG_CRIT, worker->log, 0,
                  "session store \"%s\" could not %s: %s",
                  worker->path, what, store_strerror(rc));

    ngx_http_session_store_note(store_strerror(rc));
}
