/*
 * ngx_http_session_writer.h: the writer's state, for its two files.
 *
 * One task is in flight: a batch of queued operations, or a duty of the store
 * between two batches.  Touches and audit rows wait a little for company.
 *
 * An operation goes QUEUED -> RUNNING -> ENDED, or back to QUEUED when the
 * pool would not take the task.  A client's deadline cancels a queued one
 * (busy) and unties a running one (outcome unknown).  A sign-in that commits
 * with nobody left to tell is undone by the batch after.
 *
 * The state is heap memory that is never freed: at exit a pool thread may
 * still be looking at it after the cycle's pool is gone.
 */

#ifndef NGX_HTTP_SESSION_WRITER_H_INCLUDED
#define NGX_HTTP_SESSION_WRITER_H_INCLUDED


#include "ngx_http_session_queue.h"


typedef struct {
    void                         (*run)(void *data);
    void                         (*done)(void *data);
    void                          *data;
} ngx_http_session_duty_t;


typedef struct {
    ngx_thread_pool_t             *pool;
    ngx_uint_t                     limit;
    ngx_msec_t                     timeout;
    ngx_log_t                     *log;

    ngx_http_session_queue_t       queue;
    ngx_uint_t                     waiters;

    /* the task in flight */
    ngx_thread_task_t              task;
    ngx_http_session_op_t         *batch[NGX_HTTP_SESSION_BATCH_MAX];
    ngx_uint_t                     n;
    ngx_http_session_op_t         *telling;     /* its waiter, now */
    ngx_http_session_duty_t        duty;
    ngx_uint_t                     on_duty;     /* it is the duty */
    ngx_atomic_t                   ended;       /* the thread's last word */
    ngx_msec_t                     posted;

    ngx_event_t                    alive;
    ngx_event_t                    deadline;
    ngx_event_t                    retry;
    ngx_event_t                    pause;
    ngx_connection_t               dumb;        /* names the events' fd: -1 */

    unsigned                       running:1;
    unsigned                       duty_next:1; /* a batch has gone before */
    unsigned                       spare_due:1; /* the pause is over */
    unsigned                       stuck:1;     /* so was said in the log */
    unsigned                       exited:1;
} ngx_http_session_writer_t;


extern ngx_http_session_writer_t  *ngx_http_session_writer;


/* Posts a batch or the duty, if there is one and nothing is in flight. */
void ngx_http_session_writer_start(ngx_http_session_writer_t *w);
/* Tells the waiters of ended operations, and frees the operations. */
void ngx_http_session_writer_deliver(ngx_http_session_writer_t *w,
    ngx_queue_t *done);
/* Tells one; it has a waiter. */
void ngx_http_session_writer_resume(ngx_http_session_writer_t *w,
    ngx_http_session_op_t *op, ngx_http_session_outcome_e outcome);

/* ngx_http_session_writer_timers.c */
void ngx_http_session_writer_timers_init(ngx_http_session_writer_t *w);
/* Brings the timers in line with what there is to do; after every change. */
void ngx_http_session_writer_timers(ngx_http_session_writer_t *w);


#endif /* NGX_HTTP_SESSION_WRITER_H_INCLUDED */
