/*
 * ngx_http_session_queue.h: the operations that wait for the writer.
 *
 * Two queues: `urgent`, which clients wait for or which end sessions, and
 * `spare` (touches, audit rows), which is dropped first.  A touch also stands
 * in a hash of keys from push until untouch, so that the many requests of one
 * browser make one write.
 */

#ifndef NGX_HTTP_SESSION_QUEUE_H_INCLUDED
#define NGX_HTTP_SESSION_QUEUE_H_INCLUDED


#include "ngx_http_session_op.h"


#define NGX_HTTP_SESSION_TOUCHES    1024    /* buckets, a power of two */
#define NGX_HTTP_SESSION_SPARE_MIN  32      /* places of a full batch that
                                             * spare ones get all the same */

typedef struct {
    ngx_queue_t              urgent;
    ngx_queue_t              spare;
    ngx_uint_t               nurgent;
    ngx_uint_t               nspare;
    ngx_http_session_op_t   *touches[NGX_HTTP_SESSION_TOUCHES];
} ngx_http_session_queue_t;


void ngx_http_session_queue_init(ngx_http_session_queue_t *queue);

/* At the end of its queue; op->droppable says which. */
void ngx_http_session_queue_push(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op);
/* At the front: it had been popped, and could not be run. */
void ngx_http_session_queue_unpop(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op);
/* The n-th operation of a batch, or NULL. */
ngx_http_session_op_t *ngx_http_session_queue_pop(
    ngx_http_session_queue_t *queue, ngx_uint_t n);
void ngx_http_session_queue_remove(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op);

/* Moves urgent ones whose client has waited too long to `late`. */
void ngx_http_session_queue_late(ngx_http_session_queue_t *queue,
    ngx_queue_t *late);
/* The urgent one that has a client and has waited longest, or NULL. */
ngx_http_session_op_t *ngx_http_session_queue_oldest(
    ngx_http_session_queue_t *queue);

/* Gives up the oldest spare one: 1 when there was one. */
ngx_uint_t ngx_http_session_queue_drop(ngx_http_session_queue_t *queue);

/* 1 when a touch of this key is queued or running already. */
ngx_uint_t ngx_http_session_queue_touched(ngx_http_session_queue_t *queue,
    const u_char *key);
/* The operation has ended; does nothing for other kinds than touches. */
void ngx_http_session_queue_untouch(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op);


#endif /* NGX_HTTP_SESSION_QUEUE_H_INCLUDED */
