/*
 * ngx_http_session_writer.c: all changes of the store, in one thread at a
 * time, many in one transaction.
 */


#include "ngx_http_session_writer.h"

#include <dlfcn.h>


#define NGX_HTTP_SESSION_RETRY        100       /* ms after "queue overflow" */
#define NGX_HTTP_SESSION_EXIT_WAIT    1000      /* ms for a running thread */
#define NGX_HTTP_SESSION_EXIT_DRAIN   2000      /* ms for what is queued */


static void ngx_http_session_writer_pin(ngx_log_t *log);
static void ngx_http_session_writer_drain(ngx_http_session_writer_t *w);
static ngx_uint_t ngx_http_session_writer_ready(ngx_http_session_writer_t *w);
static void ngx_http_session_writer_collect(ngx_http_session_writer_t *w);
static void ngx_http_session_writer_thread(void *data, ngx_log_t *log);
static void ngx_http_session_writer_done(ngx_event_t *ev);
static void ngx_http_session_writer_ended(ngx_http_session_writer_t *w,
    ngx_queue_t *done);
static ngx_uint_t ngx_http_session_writer_undo(ngx_http_session_writer_t *w,
    ngx_http_session_op_t *op);
static void ngx_http_session_writer_gone(ngx_http_session_job_t *job);


ngx_http_session_writer_t  *ngx_http_session_writer;


ngx_int_t
ngx_http_session_writer_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_writer_conf_t *conf)
{
    ngx_http_session_writer_t  *w;

    w = ngx_calloc(sizeof(ngx_http_session_writer_t), cycle->log);
    if (w == NULL) {
        return NGX_ERROR;
    }

    w->pool = conf->pool;
    w->limit = conf->queue;
    w->timeout = conf->timeout;
    w->log = cycle->log;

    ngx_http_session_queue_init(&w->queue);

    ngx_http_session_writer_timers_init(w);

    w->task.handler = ngx_http_session_writer_thread;
    w->task.ctx = w;
    w->task.event.handler = ngx_http_session_writer_done;
    w->task.event.data = w;
    w->task.event.log = cycle->log;

    ngx_http_session_writer = w;

    ngx_http_session_writer_pin(cycle->log);

    return NGX_OK;
}


/*
 * An exiting worker unloads dynamic modules while it destroys the cycle's
 * pool.  A thread that core has not waited for, because the queue of its pool
 * was full, would be left without the code that it runs, here as in
 * ngx_http_session_hash_job.c.  So no worker unloads this module; the master
 * does, as ever.
 */

static void
ngx_http_session_writer_pin(ngx_log_t *log)
{
#if defined(RTLD_NOLOAD) && defined(RTLD_NODELETE)

    Dl_info  info;

    if (dladdr((void *) &ngx_http_session_writer, &info) == 0
        || info.dli_fname == NULL
        || dlopen(info.dli_fname, RTLD_LAZY|RTLD_NOLOAD|RTLD_NODELETE)
           == NULL)
    {
        /* linked into nginx, or loaded under another name */
        ngx_log_debug0(NGX_LOG_DEBUG_CORE, log, 0,
                       "session: the module is not pinned");
    }

#endif
}


/*
 * Pool threads are gone by now as a rule, since core's modules leave first;
 * they are not when the pool's queue was full, and then a thread may be in the
 * store for as long as the disk takes.  Two writers must never be, so nothing
 * is drained unless the task has ended.
 */

void
ngx_http_session_writer_exit_worker(ngx_cycle_t *cycle)
{
    ngx_uint_t                  waited;
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    if (w == NULL || w->exited) {
        return;
    }

    w->exited = 1;

    for (waited = 0; w->running && !w->ended; waited += 10) {

        if (waited >= NGX_HTTP_SESSION_EXIT_WAIT) {
            ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                          "session: the writer is still busy at exit, "
                          "%ui changes are not written",
                          w->queue.nurgent + w->queue.nspare);
            return;
        }

        ngx_msleep(10);
    }

    ngx_memory_barrier();

    ngx_http_session_writer_drain(w);
}


/*
 * Writes what is queued, in this thread.  No client is told any more, so
 * sign-ins are not begun, and those that have just been made are ended.
 */

static void
ngx_http_session_writer_drain(ngx_http_session_writer_t *w)
{
    ngx_msec_t              start;
    ngx_uint_t              i;
    ngx_queue_t             done;
    ngx_http_session_op_t  *op;

    ngx_time_update();
    start = ngx_current_msec;

    for ( ;; ) {

        for (i = 0; i < w->n; i++) {
            (void) ngx_http_session_wait_detach(&w->batch[i]->job);
        }

        ngx_http_session_writer_ended(w, &done);
        ngx_http_session_writer_deliver(w, &done);

        while (w->n < NGX_HTTP_SESSION_BATCH_MAX) {

            op = ngx_http_session_queue_pop(&w->queue, w->n);
            if (op == NULL) {
                break;
            }

            if (op->sign_in) {
                (void) ngx_http_session_wait_detach(&op->job);
                ngx_http_session_op_free(op);
                continue;
            }

            w->batch[w->n++] = op;
        }

        if (w->n == 0) {
            return;
        }

        ngx_http_session_store_apply_thread(w->batch, w->n);
        ngx_http_session_store_applied();

        ngx_time_update();

        if (ngx_current_msec - start > NGX_HTTP_SESSION_EXIT_DRAIN) {
            ngx_log_error(NGX_LOG_ERR, w->log, 0,
                          "session: %ui changes are not written at exit: "
                          "the store is too slow",
                          w->queue.nurgent + w->queue.nspare);
            return;
        }
    }
}


ngx_int_t
ngx_http_session_writer_submit(ngx_http_session_op_t *op,
    ngx_http_session_waiter_t *waiter, ngx_uint_t droppable)
{
    ngx_http_session_queue_t   *queue;
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    if (w == NULL || w->exited) {
        ngx_http_session_op_free(op);
        return NGX_DECLINED;
    }

    queue = &w->queue;

    if (op->key && ngx_http_session_queue_touched(queue, op->key)) {
        ngx_http_session_op_free(op);
        return NGX_OK;
    }

    op->droppable = (droppable && waiter == NULL);

    if (queue->nurgent + queue->nspare >= w->limit
        && (op->droppable || !ngx_http_session_queue_drop(queue)))
    {
        ngx_http_session_op_free(op);
        return NGX_DECLINED;
    }

    ngx_http_session_queue_push(queue, op);

    if (waiter) {
        ngx_http_session_wait_attach(waiter, &op->job,
                                     ngx_http_session_writer_gone);
        op->job.deadline = ngx_current_msec + w->timeout;
        w->waiters++;
    }

    ngx_http_session_writer_start(w);
    ngx_http_session_writer_timers(w);

    return NGX_OK;
}


ngx_int_t
ngx_http_session_writer_duty(void (*run)(void *data), void (*done)(void *data),
    void *data)
{
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    if (w == NULL || w->exited || w->duty.run) {
        return NGX_DECLINED;
    }

    w->duty.run = run;
    w->duty.done = done;
    w->duty.data = data;

    ngx_http_session_writer_start(w);
    ngx_http_session_writer_timers(w);

    return NGX_OK;
}


/* Is there anything to write now?  Spare ones alone wait for company. */

static ngx_uint_t
ngx_http_session_writer_ready(ngx_http_session_writer_t *w)
{
    if (w->queue.nurgent
        || w->queue.nspare >= NGX_HTTP_SESSION_BATCH_MAX)
    {
        return 1;
    }

    return w->queue.nspare && (w->spare_due || ngx_exiting);
}


/*
 * Posts a batch or the duty, in turns when there are both.  Where the pool
 * takes no more, everything stays queued and a timer tries again.
 */

void
ngx_http_session_writer_start(ngx_http_session_writer_t *w)
{
    ngx_uint_t  ready;

    if (w->running || w->exited || w->retry.timer_set) {
        return;
    }

    ready = ngx_http_session_writer_ready(w);

    if (!ready && w->duty.run == NULL) {
        return;
    }

    w->on_duty = (w->duty.run && (w->duty_next || !ready));

    if (!w->on_duty) {
        ngx_http_session_writer_collect(w);
    }

    w->ended = 0;

    if (ngx_thread_task_post(w->pool, &w->task) == NGX_OK) {
        w->running = 1;
        w->posted = ngx_current_msec;
        w->duty_next = !w->on_duty;

        return;
    }

    /* core leaves it set when signalling the condition fails */
    w->task.event.active = 0;

    while (w->n) {
        ngx_http_session_queue_unpop(&w->queue, w->batch[--w->n]);
    }

    ngx_add_timer(&w->retry, NGX_HTTP_SESSION_RETRY);
}


static void
ngx_http_session_writer_collect(ngx_http_session_writer_t *w)
{
    ngx_http_session_op_t  *op;

    w->spare_due = 0;

    while (w->n < NGX_HTTP_SESSION_BATCH_MAX) {

        op = ngx_http_session_queue_pop(&w->queue, w->n);
        if (op == NULL) {
            break;
        }

        op->state = NGX_HTTP_SESSION_OP_RUNNING;
        w->batch[w->n++] = op;
    }
}


static void
ngx_http_session_writer_thread(void *data, ngx_log_t *log)
{
    ngx_http_session_writer_t *w = data;

    if (w->on_duty) {
        w->duty.run(w->duty.data);

    } else {
        ngx_http_session_store_apply_thread(w->batch, w->n);
    }

    ngx_memory_barrier();

    w->ended = 1;
}


static void
ngx_http_session_writer_done(ngx_event_t *ev)
{
    ngx_queue_t                 done;
    ngx_http_session_duty_t     duty;
    ngx_http_session_writer_t  *w;

    w = ev->data;
    w->running = 0;

    if (w->stuck) {
        w->stuck = 0;
        ngx_log_error(NGX_LOG_NOTICE, w->log, 0,
                      "session: the store is written again");
    }

    if (w->on_duty) {
        duty = w->duty;
        ngx_memzero(&w->duty, sizeof(ngx_http_session_duty_t));

        duty.done(duty.data);

    } else {
        ngx_http_session_writer_ended(w, &done);
        ngx_http_session_store_applied();

        /* the disk works on the next batch while these clients are told */

        ngx_http_session_writer_start(w);
        ngx_http_session_writer_deliver(w, &done);
    }

    ngx_http_session_writer_start(w);
    ngx_http_session_writer_timers(w);
}


/* Moves the batch to `done`; sign-ins nobody waits for are undone next. */

static void
ngx_http_session_writer_ended(ngx_http_session_writer_t *w, ngx_queue_t *done)
{
    ngx_uint_t              i;
    ngx_http_session_op_t  *op;

    ngx_queue_init(done);

    for (i = 0; i < w->n; i++) {
        op = w->batch[i];
        op->state = NGX_HTTP_SESSION_OP_ENDED;

        ngx_http_session_queue_untouch(&w->queue, op);

        if (op->job.waiter || !ngx_http_session_writer_undo(w, op)) {
            ngx_queue_insert_tail(done, &op->job.queue);
        }
    }

    w->n = 0;
}


/*
 * Tells the waiters.  What a waiter does may end requests that wait for other
 * operations in `done` (streams of one HTTP/2 connection): these are found
 * without a waiter when their turn comes.
 */

void
ngx_http_session_writer_deliver(ngx_http_session_writer_t *w,
    ngx_queue_t *done)
{
    ngx_queue_t            *q;
    ngx_http_session_op_t  *op;

    while (!ngx_queue_empty(done)) {
        q = ngx_queue_head(done);
        ngx_queue_remove(q);

        op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

        if (op->job.waiter) {
            w->telling = op;
            ngx_http_session_writer_resume(w, op, op->outcome);
            w->telling = NULL;

        } else {
            op->untold = 1;
        }

        if (!op->untold || !ngx_http_session_writer_undo(w, op)) {
            ngx_http_session_op_free(op);
        }
    }
}


void
ngx_http_session_writer_resume(ngx_http_session_writer_t *w,
    ngx_http_session_op_t *op, ngx_http_session_outcome_e outcome)
{
    ngx_http_session_waiter_t  *waiter;

    waiter = ngx_http_session_wait_detach(&op->job);

    waiter->outcome = outcome;
    waiter->count = (op->state == NGX_HTTP_SESSION_OP_ENDED) ? op->count : 0;

    w->waiters--;

    ngx_http_session_wait_resume(waiter);
}


/*
 * 1 when the operation is in the queue again and must not be freed.  An undo
 * that fails, for want of memory as a rule, is tried again with what is not
 * urgent; a process that leaves has no later.
 */

static ngx_uint_t
ngx_http_session_writer_undo(ngx_http_session_writer_t *w,
    ngx_http_session_op_t *op)
{
    if (op->undo && op->outcome == NGX_HTTP_SESSION_OP_FAILED) {

        op->undo = (ngx_exiting || w->exited) ? 0 : op->undo - 1;

        if (op->undo == 0) {
            ngx_log_error(NGX_LOG_ERR, w->log, 0,
                          "session: a sign-in that was not answered cannot be "
                          "undone: its session stays until it expires");
            return 0;
        }

        op->droppable = 1;

        ngx_http_session_queue_push(&w->queue, op);

        return 1;
    }

    if (!op->sign_in || op->outcome != NGX_HTTP_SESSION_OP_OK) {
        return 0;
    }

    ngx_http_session_op_undo(op, ngx_time());

    /* one for one: the queue grows beyond its limit by a batch at most */

    ngx_http_session_queue_push(&w->queue, op);

    return 1;
}


void
ngx_http_session_writer_untold(void)
{
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;

    if (w->telling) {
        w->telling->untold = 1;
    }
}


/*
 * The client went away.  A sign-in that has not started is forgotten: nobody
 * would ever hold its cookie.  Everything else is done all the same, a
 * sign-out above all.
 */

static void
ngx_http_session_writer_gone(ngx_http_session_job_t *job)
{
    ngx_http_session_op_t      *op;
    ngx_http_session_writer_t  *w;

    w = ngx_http_session_writer;
    op = (ngx_http_session_op_t *) job;

    w->waiters--;

    if (op->sign_in && op->state == NGX_HTTP_SESSION_OP_QUEUED) {
        ngx_http_session_queue_remove(&w->queue, op);
        ngx_http_session_op_free(op);
    }

    ngx_http_session_writer_timers(w);
}
