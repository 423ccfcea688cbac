/*
 * ngx_http_session_wait.h: what a job and the request that waits for it hold
 * of each other.  Private to wait, writer and hash; everybody else sees
 * ngx_http_session_job.h.
 *
 * Event thread only.  Either side may end first: a request that ends clears
 * job->waiter (and job->gone is told), a job that ends clears waiter->job.  So
 * neither ever holds a pointer to freed memory, and a thread that runs the job
 * looks at neither.
 */

#ifndef NGX_HTTP_SESSION_WAIT_H_INCLUDED
#define NGX_HTTP_SESSION_WAIT_H_INCLUDED


#include "ngx_http_session_job.h"


typedef struct ngx_http_session_job_s  ngx_http_session_job_t;

/* The client went away: job->waiter is NULL already.  May free the job. */
typedef void (*ngx_http_session_gone_pt)(ngx_http_session_job_t *job);

/* The first member of every job. */
struct ngx_http_session_job_s {
    ngx_queue_t                   queue;
    ngx_http_session_waiter_t    *waiter;       /* NULL: nobody waits */
    ngx_http_session_gone_pt      gone;
    ngx_msec_t                    deadline;
};


/* Ties the two together and makes the request wait (again). */
void ngx_http_session_wait_attach(ngx_http_session_waiter_t *waiter,
    ngx_http_session_job_t *job, ngx_http_session_gone_pt gone);

/* Unties: returns the waiter or NULL.  Does not resume it. */
ngx_http_session_waiter_t *ngx_http_session_wait_detach(
    ngx_http_session_job_t *job);

/* Calls resume; afterwards neither waiter nor request may be touched. */
void ngx_http_session_wait_resume(ngx_http_session_waiter_t *waiter);

/* 1 when the job's waiter should wait no longer. */
ngx_uint_t ngx_http_session_wait_late(ngx_http_session_job_t *job);


#endif /* NGX_HTTP_SESSION_WAIT_H_INCLUDED */
