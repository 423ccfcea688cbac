/*
 * ngx_http_session_wait.c: how a content handler waits for a job.
 */


#include "ngx_http_session_wait.h"


static void ngx_http_session_wait_handler(ngx_http_request_t *r);
static void ngx_http_session_wait_cleanup(void *data);


ngx_http_session_waiter_t *
ngx_http_session_wait(ngx_http_request_t *r,
    ngx_http_session_resume_pt resume, void *data)
{
    ngx_http_cleanup_t         *cln;
    ngx_http_session_waiter_t  *w;

    w = ngx_pcalloc(r->pool, sizeof(ngx_http_session_waiter_t));
    if (w == NULL) {
        return NULL;
    }

    /*
     * A request cleanup, not a pool cleanup: a client that goes away while
     * others still hold the request (terminated, but counted) detaches us at
     * once.
     */

    cln = ngx_http_cleanup_add(r, 0);
    if (cln == NULL) {
        return NULL;
    }

    cln->handler = ngx_http_session_wait_cleanup;
    cln->data = w;

    w->request = r;
    w->resume = resume;
    w->data = data;

    return w;
}


void
ngx_http_session_wait_attach(ngx_http_session_waiter_t *w,
    ngx_http_session_job_t *job, ngx_http_session_gone_pt gone)
{
    ngx_http_request_t  *r;

    job->waiter = w;
    job->gone = gone;
    w->job = job;

    /*
     * ngx_http_test_reading() notices a client that closes, without reading
     * what may be the next pipelined request.  The write handler stands there
     * for two reasons: core calls it whenever the socket becomes writable,
     * which means nothing to us, and its address tells whether the request
     * still waits.
     */

    r = w->request;
    r->read_event_handler = ngx_http_test_reading;
    r->write_event_handler = ngx_http_session_wait_handler;
}


ngx_http_session_waiter_t *
ngx_http_session_wait_detach(ngx_http_session_job_t *job)
{
    ngx_http_session_waiter_t  *w;

    w = job->waiter;

    if (w) {
        w->job = NULL;
        job->waiter = NULL;
    }

    return w;
}


void
ngx_http_session_wait_resume(ngx_http_session_waiter_t *w)
{
    ngx_connection_t    *c;
    ngx_http_request_t  *r;

    r = w->request;

    /*
     * post_action takes an aborted request to another location without
     * running its cleanups.  It is not ours to finalize then.
     */

    if (r == NULL || r->write_event_handler != ngx_http_session_wait_handler) {
        return;
    }

    c = r->connection;

    ngx_http_set_log_request(c->log, r);

    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, c->log, 0, "http session resume");

    w->resume(r, w->data);

    ngx_http_run_posted_requests(c);
}


ngx_uint_t
ngx_http_session_wait_late(ngx_http_session_job_t *job)
{
    if (job->waiter == NULL) {
        return 0;
    }

    return (ngx_msec_int_t) (job->deadline - ngx_current_msec) <= 0;
}


static void
ngx_http_session_wait_handler(ngx_http_request_t *r)
{
    ngx_log_debug0(NGX_LOG_DEBUG_HTTP, r->connection->log, 0,
                   "http session wait: writable");
}


static void
ngx_http_session_wait_cleanup(void *data)
{
    ngx_http_session_waiter_t *w = data;

    ngx_http_session_job_t  *job;

    job = w->job;

    w->request = NULL;
    w->job = NULL;

    if (job == NULL) {
        return;
    }

    w->dropped = 1;
    job->waiter = NULL;

    job->gone(job);
}
