/*
 * ngx_http_session_hash_job.h: one password to verify.
 *
 *   WAITING -> POSTED -> STARTED -> ENDED
 *      |          |
 *      |          +-> DROPPED (deadline, client gone): the thread skips it
 *      +-> LATE (deadline, or bounced by a known device): told and freed
 *
 * Only POSTED is contended: thread and event loop leave it by compare and
 * swap.  From STARTED until the task is done the fields under "out" and the
 * password are the thread's.  A job is one heap block with its own copies; the
 * password in it is wiped by the thread at once, and again wherever a job is
 * freed.
 */

#ifndef NGX_HTTP_SESSION_HASH_JOB_H_INCLUDED
#define NGX_HTTP_SESSION_HASH_JOB_H_INCLUDED


#include "ngx_http_session_wait.h"


#define NGX_HTTP_SESSION_PHC_MAX  192       /* a PHC string, as stored */


typedef enum {
    NGX_HTTP_SESSION_HASH_WAITING = 0,
    NGX_HTTP_SESSION_HASH_POSTED,
    NGX_HTTP_SESSION_HASH_STARTED,
    NGX_HTTP_SESSION_HASH_DROPPED,
    NGX_HTTP_SESSION_HASH_LATE,
    NGX_HTTP_SESSION_HASH_ENDED
} ngx_http_session_hash_state_e;


typedef struct {
    ngx_http_session_job_t          job;        /* must be first */
    ngx_thread_task_t               task;
    ngx_atomic_t                    state;
    ngx_uint_t                      nice;

    ngx_str_t                       phc;
    ngx_str_t                       password;

    /* out */
    ngx_http_session_password_e     result;
    ngx_msec_t                      elapsed;
    ngx_str_t                       upgraded;
    u_char                          buffer[NGX_HTTP_SESSION_PHC_MAX];
} ngx_http_session_hash_job_t;


/* NULL when memory is short.  The caller sets task.event.handler. */
ngx_http_session_hash_job_t *ngx_http_session_hash_create(ngx_str_t *phc,
    ngx_str_t *password, ngx_uint_t nice, ngx_log_t *log);
void ngx_http_session_hash_free(ngx_http_session_hash_job_t *job);


#endif /* NGX_HTTP_SESSION_HASH_JOB_H_INCLUDED */
