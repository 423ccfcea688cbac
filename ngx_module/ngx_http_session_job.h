/*
 * ngx_http_session_job.h: the two ways off the event loop.  Nobody else posts
 * thread tasks.
 *
 *   writer   all changes of the store.  Operations queue up in the worker; one
 *            batch is in flight; it commits in one transaction and completes
 *            every waiter.  ngx_http_session_writer.c
 *   hash     argon2id.  At most `concurrent` jobs are posted, others wait in a
 *            bounded queue with a deadline.  ngx_http_session_hash.c
 *
 * A job is heap-owned and holds copies of its inputs.  A request that waits is
 * reached only through a waiter, which lives in the request's pool and is
 * detached by a request cleanup, so a client that goes away frees the request
 * at once while the job runs to its end alone.  That is why neither r->blocked
 * nor r->aio is touched, and why nginx 1.22, which has no `terminated` flag,
 * needs no other code than newer ones (docs/threads.md).
 *
 * A non-cancelable timer runs while jobs are in flight, so a gracefully
 * exiting worker stays until they are done.
 */

#ifndef NGX_HTTP_SESSION_JOB_H_INCLUDED
#define NGX_HTTP_SESSION_JOB_H_INCLUDED


#include "ngx_http_session_store.h"


/*
 * How a content handler waits.  It holds a count on the request (from
 * ngx_http_read_client_request_body or r->main->count++) and has returned
 * NGX_DONE; ngx_http_session_wait() registers the cleanup and sets
 * read_event_handler to ngx_http_test_reading and write_event_handler to one
 * that ignores writability.  When the job ends, `resume` is called on the
 * event thread with the request's log context set; it must finalize the
 * request or start the next job.  ngx_http_run_posted_requests() is called
 * after it.
 */
typedef struct ngx_http_session_waiter_s  ngx_http_session_waiter_t;

typedef void (*ngx_http_session_resume_pt)(ngx_http_request_t *r, void *data);

struct ngx_http_session_waiter_s {
    ngx_http_request_t           *request;      /* NULL: detached */
    ngx_http_session_resume_pt    resume;
    void                         *data;
    void                         *job;          /* back pointer, or NULL */
    ngx_http_session_outcome_e    outcome;      /* writer */
    ngx_http_session_password_e   password;     /* hash */
    ngx_str_t                     upgraded;     /* hash; in r->pool */
    ngx_uint_t                    count;        /* writer: sessions ended */
    unsigned                      busy:1;       /* hash: queue or deadline */
    unsigned                      dropped:1;    /* the job must not start */
};

/* NULL when memory is short.  One waiter per request serves all its jobs. */
ngx_http_session_waiter_t *ngx_http_session_wait(ngx_http_request_t *r,
    ngx_http_session_resume_pt resume, void *data);


/* ------------------------------------------------------------ writer --- */

typedef struct {
    ngx_thread_pool_t            *pool;
    ngx_uint_t                    queue;        /* operations, 4096 */
    ngx_msec_t                    timeout;      /* waiters' deadline */
} ngx_http_session_writer_conf_t;

ngx_int_t ngx_http_session_writer_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_writer_conf_t *conf);
void ngx_http_session_writer_exit_worker(ngx_cycle_t *cycle);

/*
 * Takes the operation, always: on NGX_DECLINED (queue full after dropping
 * touches) it has been freed and the caller answers 503.  waiter may be NULL
 * (touches, audit): nobody is told.
 */
ngx_int_t ngx_http_session_writer_submit(ngx_http_session_op_t *op,
    ngx_http_session_waiter_t *waiter, ngx_uint_t droppable);

/*
 * For the resume() of a sign-in, before it finalizes the request: the answer
 * could not be sent, so the session that has been made is ended.
 */
void ngx_http_session_writer_untold(void);

/*
 * Work of the store itself that belongs in the writer thread (open, populate,
 * reader check, sweep, audit copy) runs between batches, one at a time.
 * run(data) is called in the thread, done(data) on the event thread.
 * NGX_DECLINED when one is under way already.
 */
ngx_int_t ngx_http_session_writer_duty(void (*run)(void *data),
    void (*done)(void *data), void *data);


/* -------------------------------------------------------------- hash --- */

typedef struct {
    ngx_thread_pool_t            *pool;
    ngx_uint_t                    concurrent;
    ngx_uint_t                    queue;
    ngx_msec_t                    timeout;
    unsigned                      nice:1;       /* a pool of its own */
} ngx_http_session_hash_conf_t;

ngx_int_t ngx_http_session_hash_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_hash_conf_t *conf);
void ngx_http_session_hash_exit_worker(ngx_cycle_t *cycle);

/*
 * Queues a verification; phc empty: dummy.  The password is copied and the
 * copy wiped in every case.  first: known devices go ahead of the others.
 * NGX_OK: resume will be called.  NGX_DECLINED: queue full, nothing will be.
 */
ngx_int_t ngx_http_session_hash_submit(ngx_http_session_waiter_t *waiter,
    ngx_str_t *phc, ngx_str_t *password, ngx_uint_t first);

/* Seconds a refused client should stay away, for Retry-After. */
ngx_uint_t ngx_http_session_hash_retry_after(void);


#endif /* NGX_HTTP_SESSION_JOB_H_INCLUDED */
