/*
 * ngx_http_session_queue.c: the operations that wait for the writer.
 */


#include "ngx_http_session_queue.h"


static ngx_http_session_op_t **ngx_http_session_queue_link(
    ngx_http_session_queue_t *queue, const u_char *key);


void
ngx_http_session_queue_init(ngx_http_session_queue_t *queue)
{
    ngx_memzero(queue, sizeof(ngx_http_session_queue_t));

    ngx_queue_init(&queue->urgent);
    ngx_queue_init(&queue->spare);
}


void
ngx_http_session_queue_push(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op)
{
    op->state = NGX_HTTP_SESSION_OP_QUEUED;

    if (op->key) {
        op->next = NULL;
        *ngx_http_session_queue_link(queue, op->key) = op;
    }

    if (op->droppable) {
        ngx_queue_insert_tail(&queue->spare, &op->job.queue);
        queue->nspare++;
        return;
    }

    ngx_queue_insert_tail(&queue->urgent, &op->job.queue);
    queue->nurgent++;
}


void
ngx_http_session_queue_unpop(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op)
{
    op->state = NGX_HTTP_SESSION_OP_QUEUED;

    if (op->droppable) {
        ngx_queue_insert_head(&queue->spare, &op->job.queue);
        queue->nspare++;
        return;
    }

    ngx_queue_insert_head(&queue->urgent, &op->job.queue);
    queue->nurgent++;
}


ngx_http_session_op_t *
ngx_http_session_queue_pop(ngx_http_session_queue_t *queue, ngx_uint_t n)
{
    ngx_uint_t              room;
    ngx_queue_t            *q;
    ngx_http_session_op_t  *op;

    /* a flood of sign-ins must not keep touches out for ever */

    room = NGX_HTTP_SESSION_BATCH_MAX - NGX_HTTP_SESSION_SPARE_MIN;

    if (queue->nurgent && (n < room || queue->nspare == 0)) {
        q = ngx_queue_head(&queue->urgent);

    } else if (queue->nspare) {
        q = ngx_queue_head(&queue->spare);

    } else {
        return NULL;
    }

    op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

    ngx_http_session_queue_remove(queue, op);

    return op;
}


void
ngx_http_session_queue_remove(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op)
{
    ngx_queue_remove(&op->job.queue);

    if (op->droppable) {
        queue->nspare--;
        return;
    }

    queue->nurgent--;
}


void
ngx_http_session_queue_late(ngx_http_session_queue_t *queue, ngx_queue_t *late)
{
    ngx_queue_t            *q, *next;
    ngx_http_session_op_t  *op;

    ngx_queue_init(late);

    for (q = ngx_queue_head(&queue->urgent);
         q != ngx_queue_sentinel(&queue->urgent);
         q = next)
    {
        next = ngx_queue_next(q);
        op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

        if (ngx_http_session_wait_late(&op->job)) {
            ngx_http_session_queue_remove(queue, op);
            ngx_queue_insert_tail(late, q);
        }
    }
}


ngx_http_session_op_t *
ngx_http_session_queue_oldest(ngx_http_session_queue_t *queue)
{
    ngx_queue_t            *q;
    ngx_http_session_op_t  *op;

    for (q = ngx_queue_head(&queue->urgent);
         q != ngx_queue_sentinel(&queue->urgent);
         q = ngx_queue_next(q))
    {
        op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

        if (op->job.waiter) {
            return op;
        }
    }

    return NULL;
}


ngx_uint_t
ngx_http_session_queue_drop(ngx_http_session_queue_t *queue)
{
    ngx_queue_t            *q;
    ngx_http_session_op_t  *op;

    if (queue->nspare == 0) {
        return 0;
    }

    q = ngx_queue_head(&queue->spare);
    op = ngx_queue_data(q, ngx_http_session_op_t, job.queue);

    ngx_http_session_queue_remove(queue, op);
    ngx_http_session_queue_untouch(queue, op);
    ngx_http_session_op_free(op);

    return 1;
}


ngx_uint_t
ngx_http_session_queue_touched(ngx_http_session_queue_t *queue,
    const u_char *key)
{
    return *ngx_http_session_queue_link(queue, key) != NULL;
}


void
ngx_http_session_queue_untouch(ngx_http_session_queue_t *queue,
    ngx_http_session_op_t *op)
{
    ngx_http_session_op_t  **link;

    if (op->key == NULL) {
        return;
    }

    link = ngx_http_session_queue_link(queue, op->key);

    if (*link == op) {
        *link = op->next;
    }
}


/* The link that points at the touch of this key, or at the bucket's end. */

static ngx_http_session_op_t **
ngx_http_session_queue_link(ngx_http_session_queue_t *queue,
    const u_char *key)
{
    ngx_uint_t               i;
    ngx_http_session_op_t  **link;

    /* the last bytes of a key are a hash already */

    i = (key[NGX_HTTP_SESSION_KEY_LEN - 2] << 8)
        + key[NGX_HTTP_SESSION_KEY_LEN - 1];

    link = &queue->touches[i & (NGX_HTTP_SESSION_TOUCHES - 1)];

    while (*link
           && ngx_memcmp((*link)->key, key, NGX_HTTP_SESSION_KEY_LEN) != 0)
    {
        link = &(*link)->next;
    }

    return link;
}
