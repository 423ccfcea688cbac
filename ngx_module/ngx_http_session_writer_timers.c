/*
 * ngx_http_session_writer_timers.c: when the writer does something by itself.
 *
 *   alive      while a task is in flight or a change is queued; not cancelable,
 *              so a gracefully exiting worker stays in its loop
 *   deadline   the oldest waiter has waited long enough
 *   retry      the pool took no more: try again
 *   pause      touches and audit rows have waited for company
 */


#include "ngx_http_session_writer.h"


#define NGX_HTTP_SESSION_SPARE_PAUSE  200       /* ms: five commits a second */
#define NGX_HTTP_SESSION_ALIVE        60000     /* ms, armed again and again */


static ngx_msec_t ngx_http_session_writer_left(ngx_http_session_writer_t *w);
static void ngx_http_session_writer_alive_handler(ngx_event_t *ev);
static void ngx_http_session_writer_deadline_handler(ngx_event_t *ev);
static void ngx_http_session_writer_retry_handler(ngx_event_t *ev);
static void ngx_http_session_writer_pause_handler(ngx_event_t *ev);


void
ngx_http_session_writer_timers_init(ngx_http_session_writer_t *w)
{
    w->dumb.fd = (ngx_socket_t) -1;

    w->alive.handler = ngx_http_session_writer_alive_handler;
    w->alive.data = &w->dumb;
    w->alive.log = w->log;

    w->deadline = w->alive;
    w->deadline.handler = ngx_http_session_writer_deadline_handler;

    w->retry = w->alive;
    w->retry.handler = ngx_http_session_writer_retry_handler;

    /* what is left of the spare ones at exit is drained without waiting */

    w->pause = w->alive;
    w->pause.handler = ngx_http_session_writer_pause_handler;
    w->pause.cancelable = 1;
}


void
ngx_http_session_writer_timers(ngx_http_session_writer_t *w)
{
    if (w->exited) {
        return;
    }

    if (w->running || w->queue.nurgent) {
        if (!w->alive.timer_set) {
            ngx_add_timer(&w->alive, NGX_HTTP_SESSION_ALIVE);
        }

    } else if (w->alive.timer_set) {
        ngx_del_timer(&w->alive);
    }

    if (w->queue.nspare && !w->spare_due && !w->pause.timer_set) {
        ngx_add_timer(&w->pause, NGX_HTTP_SESSION_SPARE_PAUSE);
    }

    if (w->waiters && !w->deadline.timer_set) {
        ngx_add_timer(&w->deadline, ngx_http_session_writer_left(w));
    }

    if (w->waiters == 0 && w->deadline.timer_set) {
        ngx_del_timer(&w->deadline);
    }
}


/* All wait equally long, so the oldest waiter is the first to give up. */

static ngx_msec_t
ngx_http_session_writer_left(ngx_http_session_writer_t *w)
{
    ngx_uint_t              i;
    ngx_msec_int_t          left;
    ngx_http_session_op_t  *op;

    op = ngx_http_session_queue_oldest(&w->queue);

    /* popped from two queues, so a batch is not quite in order */

    left = op ? (ngx_msec_int_t) (op->job.deadline - ngx_current_msec)
              : (ngx_msec_int_t) w->timeout;

    for (i = 0; i < w->n; i++) {
        op = w->batch[i];

        if (op->job.waiter) {
            left = ngx_min(left, (ngx_msec_int_t) (op->job.deadline
                                                   - ngx_current_msec));
        }
    }

    return (ngx_msec_t) ngx_max(left, 1);
}


static void
ngx_http_session_writer_alive_handler(ngx_event_t *ev)
{
    ngx_http_session_writer_timers(ngx_http_session_writer);
}


static void
ngx_http_session_writer_deadline_handler(ngx_event_t *ev)
{
    ngx_uint_t                  i;
    ngx_queue_t                *q, late;
    ngx_http_session_op_t      *op;
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    ngx_http_session_queue_late(&w->queue, &late);

    for (q = ngx_queue_head(&late);
         q != ngx_queue_sentinel(&late);
         q = ngx_queue_next(q))
    {
        op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

        op->state = NGX_HTTP_SESSION_OP_ENDED;
        op->outcome = NGX_HTTP_SESSION_OP_BUSY;
    }

    /* a disk that hangs, or another process that stands still in a commit */

    if (w->running && !w->stuck
        && ngx_current_msec - w->posted >= w->timeout)
    {
        w->stuck = 1;

        ngx_log_error(NGX_LOG_CRIT, w->log, 0,
                      "session: the store could not be written for %M ms: "
                      "its disk or another process holds it up",
                      ngx_current_msec - w->posted);
    }

    /* the batch neither ends nor changes while the event thread is here */

    for (i = 0; w->running && i < w->n; i++) {
        op = w->batch[i];

        if (ngx_http_session_wait_late(&op->job)) {
            ngx_http_session_writer_resume(w, op, NGX_HTTP_SESSION_OP_UNKNOWN);
        }
    }

    ngx_http_session_writer_deliver(w, &late);
    ngx_http_session_writer_timers(w);
}


static void
ngx_http_session_writer_retry_handler(ngx_event_t *ev)
{
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    ngx_http_session_writer_start(w);
    ngx_http_session_writer_timers(w);
}


static void
ngx_http_session_writer_pause_handler(ngx_event_t *ev)
{
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;
    w->spare_due = 1;

    ngx_http_session_writer_start(w);
    ngx_http_session_writer_timers(w);
}
