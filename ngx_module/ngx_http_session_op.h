/*
 * ngx_http_session_op.h: the part of an operation that the writer sees.  The
 * adapter (ngx_http_session_store_ops.c) makes operations and keeps what the
 * store is to do behind this head.
 *
 * An operation is one heap block.  It belongs to its maker until submit, to
 * the writer until it has ended; while `state` is RUNNING a thread writes
 * outcome and count, and the event thread leaves both alone.
 */

#ifndef NGX_HTTP_SESSION_OP_H_INCLUDED
#define NGX_HTTP_SESSION_OP_H_INCLUDED


#include "ngx_http_session_wait.h"


#define NGX_HTTP_SESSION_BATCH_MAX  256     /* the store's own bound */

/* ten seconds of the five commits a second that are not urgent */
#define NGX_HTTP_SESSION_UNDO_MAX   50


typedef enum {
    NGX_HTTP_SESSION_OP_QUEUED = 0,
    NGX_HTTP_SESSION_OP_RUNNING,
    NGX_HTTP_SESSION_OP_ENDED
} ngx_http_session_op_state_e;


struct ngx_http_session_op_s {
    ngx_http_session_job_t          job;        /* must be first */
    ngx_http_session_op_state_e     state;
    ngx_http_session_outcome_e      outcome;    /* out */
    ngx_uint_t                      count;      /* out */

    const u_char                   *key;        /* touches only: one queued
                                                 * for a key is enough */
    ngx_http_session_op_t          *next;       /* touches in one bucket */

    ngx_uint_t                      droppable;
    ngx_uint_t                      sign_in;
    ngx_uint_t                      untold;     /* its answer failed */
    ngx_uint_t                      undo;       /* how often it may fail */
};


/*
 * Makes of a committed sign-in the operation that ends its session, because
 * its client was never told: reason "uncertain".  Needs no memory, since the
 * want of it may be why.
 */
void ngx_http_session_op_undo(ngx_http_session_op_t *op, time_t now);

/* Logs what went wrong in the last batch, if anything; event thread. */
void ngx_http_session_store_applied(void);


#endif /* NGX_HTTP_SESSION_OP_H_INCLUDED */
