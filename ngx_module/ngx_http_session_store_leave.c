/*
 * ngx_http_session_store_leave.c: a store that this process can use no more.
 *
 * LMDB never gets over some failures, and a file must not be opened twice in
 * one process.  So the worker answers 503 and ends itself, as SIGQUIT ends it,
 * and the master starts another one, which opens the store afresh.
 *
 * What has befallen the events alone is no reason for 503: their worker goes on
 * until it is half a minute old.
 *
 * Until it has ended, nobody accepts in its place, so what it serves gets five
 * seconds: worker_shutdown_timeout, unless that is less.  A worker that has
 * only just been started stays for five seconds first, because the master
 * starts another one at once, however often.  Without a master there is nobody
 * to start one, so the process stays and answers 503.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"


/* ms after the start; where only the audit waits there is time */
#define NGX_HTTP_SESSION_LEAVE_AFTER         5000
#define NGX_HTTP_SESSION_LEAVE_AFTER_EVENTS  30000

#define NGX_HTTP_SESSION_LEAVE_TIMEOUT       5000   /* ms for what is served */


static void ngx_http_session_store_leave_timer(
    ngx_http_session_worker_t *worker);
static void ngx_http_session_store_leave(ngx_event_t *ev);


void
ngx_http_session_store_leave_init(ngx_http_session_worker_t *worker)
{
    ngx_event_t  *ev;

    worker->dumb.fd = (ngx_socket_t) -1;
    worker->started = ngx_current_msec;

    ev = &worker->leave;

    ev->handler = ngx_http_session_store_leave;
    ev->data = &worker->dumb;
    ev->log = worker->log;
    ev->cancelable = 1;
}


ngx_int_t
ngx_http_session_store_is_lost(const char *what, int rc)
{
    store_lost_t                lost;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (worker->lost == STORE_LOST_ALL) {
        return 1;
    }

    lost = worker->store ? store_lost(worker->store, rc) : STORE_LOST_NOT;

    if (lost == STORE_LOST_NOT) {
        return 0;
    }

    if (lost <= worker->lost) {
        return 1;
    }

    worker->lost = lost;

    ngx_log_error(NGX_LOG_CRIT, worker->log, 0,
                  "session store \"%s\" could not %s: %s; %s",
                  worker->path, what, store_strerror(rc),
                  ngx_process != NGX_PROCESS_SINGLE
                  ? "this worker ends, and the next one opens it again"
                  : lost == STORE_LOST_ALL
                  ? "all that needs it is answered 503 until nginx is started "
                    "again"
                  : "its audit waits until nginx is started again");

    if (lost == STORE_LOST_ALL) {
        ngx_http_session_store_note(store_strerror(rc));
    }

    if (ngx_process != NGX_PROCESS_SINGLE) {
        ngx_http_session_store_leave_timer(worker);
    }

    return 1;
}


static void
ngx_http_session_store_leave_timer(ngx_http_session_worker_t *worker)
{
    ngx_msec_t  age, after;

    age = ngx_current_msec - worker->started;

    after = (worker->lost == STORE_LOST_ALL)
            ? NGX_HTTP_SESSION_LEAVE_AFTER
            : NGX_HTTP_SESSION_LEAVE_AFTER_EVENTS;

    if (worker->leave.timer_set) {
        ngx_del_timer(&worker->leave);
    }

    ngx_add_timer(&worker->leave,
                  (ngx_exiting || age >= after) ? 1 : after - age);
}


/* Between two tasks: the writer's thread must not find it gone half-way. */

void
ngx_http_session_store_settle(void)
{
    if (ngx_http_session_worker->lost == STORE_LOST_ALL) {
        ngx_http_session_worker->store = NULL;
    }
}


static void
ngx_http_session_store_leave(ngx_event_t *ev)
{
    ngx_core_conf_t  *ccf;

    /* this process's copy; nobody reads it but what ends the process */

    ccf = (ngx_core_conf_t *) ngx_get_conf(ngx_cycle->conf_ctx,
                                           ngx_core_module);

    if (ccf->shutdown_timeout == 0
        || ccf->shutdown_timeout > NGX_HTTP_SESSION_LEAVE_TIMEOUT)
    {
        ccf->shutdown_timeout = NGX_HTTP_SESSION_LEAVE_TIMEOUT;
    }

    if (ngx_exiting) {
        ngx_set_shutdown_timer((ngx_cycle_t *) ngx_cycle);
        return;
    }

    if (raise(ngx_signal_value(NGX_SHUTDOWN_SIGNAL)) != 0) {
        ngx_log_error(NGX_LOG_ALERT, ev->log, ngx_errno, "raise() failed");
    }
}
