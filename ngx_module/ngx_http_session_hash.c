/*
 * ngx_http_session_hash.c: argon2id, a few at a time.
 *
 * At most `concurrent` jobs are in the pool, so that memory and processors are
 * bounded and a shared pool keeps room for others.  The rest wait here, known
 * devices before the others, and give up at their deadline.  A job that has
 * started is waited for, however long it takes.
 */


#include "ngx_http_session_hash_job.h"


#define NGX_HTTP_SESSION_HASH_RETRY   100       /* ms after "queue overflow" */
#define NGX_HTTP_SESSION_HASH_ALIVE   60000     /* ms, armed again and again */
#define NGX_HTTP_SESSION_HASH_GUESS   50        /* ms a hash takes, at first */


typedef struct {
    ngx_http_session_hash_conf_t    conf;
    ngx_log_t                      *log;

    ngx_queue_t                     first;      /* known devices */
    ngx_queue_t                     others;
    ngx_queue_t                     posted;
    ngx_queue_t                     late;
    ngx_uint_t                      waiting;    /* in first and others */
    ngx_uint_t                      running;    /* in posted */
    ngx_msec_t                      average;    /* of a hash */

    ngx_event_t                     alive;
    ngx_event_t                     deadline;
    ngx_event_t                     retry;
    ngx_event_t                     bounce;     /* posted, no timer */
    ngx_connection_t                dumb;       /* names the events' fd: -1 */
} ngx_http_session_hash_t;


static ngx_uint_t ngx_http_session_hash_make_room(ngx_http_session_hash_t *h,
    ngx_uint_t first);
static void ngx_http_session_hash_start(ngx_http_session_hash_t *h);
static void ngx_http_session_hash_done(ngx_event_t *ev);
static void ngx_http_session_hash_gone(ngx_http_session_job_t *job);
static void ngx_http_session_hash_tell(ngx_http_session_hash_job_t *job,
    ngx_uint_t busy);
static void ngx_http_session_hash_expire(ngx_http_session_hash_t *h,
    ngx_queue_t *queue);
static void ngx_http_session_hash_flush(ngx_http_session_hash_t *h);
static void ngx_http_session_hash_timers(ngx_http_session_hash_t *h);
static ngx_msec_t ngx_http_session_hash_left(ngx_http_session_hash_t *h);
static void ngx_http_session_hash_alive_handler(ngx_event_t *ev);
static void ngx_http_session_hash_deadline_handler(ngx_event_t *ev);
static void ngx_http_session_hash_retry_handler(ngx_event_t *ev);
static void ngx_http_session_hash_bounce_handler(ngx_event_t *ev);


static ngx_http_session_hash_t  *ngx_http_session_hash;


ngx_int_t
ngx_http_session_hash_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_hash_conf_t *conf)
{
    ngx_http_session_hash_t  *h;

    /* from the heap: a thread may outlive the cycle's pool */

    h = ngx_calloc(sizeof(ngx_http_session_hash_t), cycle->log);
    if (h == NULL) {
        return NGX_ERROR;
    }

    h->conf = *conf;
    h->log = cycle->log;
    h->average = NGX_HTTP_SESSION_HASH_GUESS;

    ngx_queue_init(&h->first);
    ngx_queue_init(&h->others);
    ngx_queue_init(&h->posted);
    ngx_queue_init(&h->late);

    h->dumb.fd = (ngx_socket_t) -1;

    h->alive.handler = ngx_http_session_hash_alive_handler;
    h->alive.data = &h->dumb;
    h->alive.log = cycle->log;

    h->deadline = h->alive;
    h->deadline.handler = ngx_http_session_hash_deadline_handler;

    h->retry = h->alive;
    h->retry.handler = ngx_http_session_hash_retry_handler;

    h->bounce = h->alive;
    h->bounce.handler = ngx_http_session_hash_bounce_handler;

    ngx_http_session_hash = h;

    return NGX_OK;
}


/* Nobody is told any more; what is left of passwords is wiped. */

void
ngx_http_session_hash_exit_worker(ngx_cycle_t *cycle)
{
    ngx_queue_t                  *q;
    ngx_http_session_hash_t      *h;
    ngx_http_session_hash_job_t  *job;

    h = ngx_http_session_hash;

    if (h == NULL) {
        return;
    }

    ngx_http_session_hash = NULL;

    ngx_queue_add(&h->others, &h->first);
    ngx_queue_add(&h->others, &h->late);

    while (!ngx_queue_empty(&h->others)) {
        q = ngx_queue_head(&h->others);
        ngx_queue_remove(q);

        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

        (void) ngx_http_session_wait_detach(&job->job);
        ngx_http_session_hash_free(job);
    }

    /* those in the pool are the threads' to read and to wipe */

    for (q = ngx_queue_head(&h->posted);
         q != ngx_queue_sentinel(&h->posted);
         q = ngx_queue_next(q))
    {
        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

        (void) ngx_http_session_wait_detach(&job->job);

        if (ngx_atomic_cmp_set(&job->state, NGX_HTTP_SESSION_HASH_POSTED,
                               NGX_HTTP_SESSION_HASH_DROPPED))
        {
            ngx_http_session_wipe(job->password.data, job->password.len);
        }
    }
}


ngx_int_t
ngx_http_session_hash_submit(ngx_http_session_waiter_t *waiter, ngx_str_t *phc,
    ngx_str_t *password, ngx_uint_t first)
{
    ngx_http_session_hash_t      *h;
    ngx_http_session_hash_job_t  *job;

    h = ngx_http_session_hash;

    if (h == NULL || !ngx_http_session_hash_make_room(h, first)) {
        return NGX_DECLINED;
    }

    job = ngx_http_session_hash_create(phc, password, h->conf.nice, h->log);
    if (job == NULL) {
        return NGX_DECLINED;
    }

    job->task.event.handler = ngx_http_session_hash_done;

    waiter->busy = 0;
    waiter->upgraded.len = 0;

    ngx_http_session_wait_attach(waiter, &job->job,
                                 ngx_http_session_hash_gone);
    job->job.deadline = ngx_current_msec + h->conf.timeout;

    ngx_queue_insert_tail(first ? &h->first : &h->others, &job->job.queue);
    h->waiting++;

    ngx_http_session_hash_start(h);
    ngx_http_session_hash_timers(h);

    return NGX_OK;
}


ngx_uint_t
ngx_http_session_hash_retry_after(void)
{
    ngx_msec_t                ms;
    ngx_http_session_hash_t  *h;

    h = ngx_http_session_hash;

    if (h == NULL) {
        return 1;
    }

    ms = (h->waiting + h->running) * h->average / h->conf.concurrent;

    return ngx_min(ms / 1000 + 1, 60);
}


/*
 * The queue is full of strangers when somebody floods the sign-in.  A known
 * device takes the place of the stranger who came last.  He is told from a
 * posted event: a request must not be resumed inside another one's handler.
 */

static ngx_uint_t
ngx_http_session_hash_make_room(ngx_http_session_hash_t *h, ngx_uint_t first)
{
    ngx_queue_t                  *q;
    ngx_http_session_hash_job_t  *job;

    if (h->waiting < h->conf.queue
        || (h->waiting == 0 && h->running < h->conf.concurrent))
    {
        return 1;
    }

    if (!first || ngx_queue_empty(&h->others)) {
        return 0;
    }

    q = ngx_queue_last(&h->others);
    job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

    ngx_queue_remove(q);
    h->waiting--;

    job->state = NGX_HTTP_SESSION_HASH_LATE;
    ngx_queue_insert_tail(&h->late, q);

    ngx_post_event(&h->bounce, &ngx_posted_events);

    return 1;
}


static void
ngx_http_session_hash_start(ngx_http_session_hash_t *h)
{
    ngx_queue_t                  *q, *from;
    ngx_http_session_hash_job_t  *job;

    while (h->waiting && h->running < h->conf.concurrent
           && !h->retry.timer_set)
    {
        from = ngx_queue_empty(&h->first) ? &h->others : &h->first;

        q = ngx_queue_head(from);
        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

        ngx_queue_remove(q);

        job->state = NGX_HTTP_SESSION_HASH_POSTED;

        if (ngx_thread_task_post(h->conf.pool, &job->task) != NGX_OK) {

            /* core leaves it set when signalling the condition fails */
            job->task.event.active = 0;

            job->state = NGX_HTTP_SESSION_HASH_WAITING;
            ngx_queue_insert_head(from, q);

            ngx_add_timer(&h->retry, NGX_HTTP_SESSION_HASH_RETRY);

            return;
        }

        ngx_queue_insert_tail(&h->posted, q);

        h->waiting--;
        h->running++;
    }
}


static void
ngx_http_session_hash_done(ngx_event_t *ev)
{
    ngx_http_session_hash_t      *h;
    ngx_http_session_hash_job_t  *job;

    job = ev->data;
    h = ngx_http_session_hash;

    ngx_queue_remove(&job->job.queue);
    h->running--;

    if (job->state == NGX_HTTP_SESSION_HASH_STARTED) {
        h->average = (7 * h->average + job->elapsed) / 8;
    }

    job->state = NGX_HTTP_SESSION_HASH_ENDED;

    /* processors work on the next one while this client is told */

    ngx_http_session_hash_start(h);

    ngx_http_session_hash_tell(job, 0);
    ngx_http_session_hash_free(job);

    ngx_http_session_hash_timers(h);
}


static void
ngx_http_session_hash_gone(ngx_http_session_job_t *data)
{
    ngx_http_session_hash_t      *h;
    ngx_http_session_hash_job_t  *job;

    h = ngx_http_session_hash;
    job = (ngx_http_session_hash_job_t *) data;

    if (job->state == NGX_HTTP_SESSION_HASH_WAITING) {
        ngx_queue_remove(&job->job.queue);
        h->waiting--;

        ngx_http_session_hash_free(job);
        ngx_http_session_hash_timers(h);

        return;
    }

    (void) ngx_atomic_cmp_set(&job->state, NGX_HTTP_SESSION_HASH_POSTED,
                              NGX_HTTP_SESSION_HASH_DROPPED);
}


static void
ngx_http_session_hash_tell(ngx_http_session_hash_job_t *job, ngx_uint_t busy)
{
    u_char                     *p;
    ngx_http_session_waiter_t  *waiter;

    waiter = ngx_http_session_wait_detach(&job->job);

    if (waiter == NULL) {
        return;
    }

    waiter->busy = busy;
    waiter->password = NGX_HTTP_SESSION_PASSWORD_ERROR;

    if (!busy) {
        waiter->password = job->result;
    }

    if (!busy && job->upgraded.len) {
        p = ngx_pnalloc(waiter->request->pool, job->upgraded.len);

        /* without memory it is upgraded another time */

        if (p) {
            ngx_memcpy(p, job->upgraded.data, job->upgraded.len);
            waiter->upgraded.data = p;
            waiter->upgraded.len = job->upgraded.len;
        }
    }

    ngx_http_session_wait_resume(waiter);
}


/* Moves the late ones to `late`; all wait equally long, so they lead. */

static void
ngx_http_session_hash_expire(ngx_http_session_hash_t *h, ngx_queue_t *queue)
{
    ngx_queue_t                  *q;
    ngx_http_session_hash_job_t  *job;

    while (!ngx_queue_empty(queue)) {
        q = ngx_queue_head(queue);
        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

        if (!ngx_http_session_wait_late(&job->job)) {
            return;
        }

        ngx_queue_remove(q);
        h->waiting--;

        job->state = NGX_HTTP_SESSION_HASH_LATE;
        ngx_queue_insert_tail(&h->late, q);
    }
}


/* Tells the late ones; any of them may lose its waiter meanwhile. */

static void
ngx_http_session_hash_flush(ngx_http_session_hash_t *h)
{
    ngx_queue_t                  *q;
    ngx_http_session_hash_job_t  *job;

    while (!ngx_queue_empty(&h->late)) {
        q = ngx_queue_head(&h->late);
        ngx_queue_remove(q);

        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

        ngx_http_session_hash_tell(job, 1);
        ngx_http_session_hash_free(job);
    }
}


/*
 * Brings the timers in line with what there is to do.  The one that is not
 * cancelable keeps a gracefully exiting worker until its hashes are done.
 */

static void
ngx_http_session_hash_timers(ngx_http_session_hash_t *h)
{
    if (h->waiting || h->running) {

        if (!h->alive.timer_set) {
            ngx_add_timer(&h->alive, NGX_HTTP_SESSION_HASH_ALIVE);
        }

        if (!h->deadline.timer_set) {
            ngx_add_timer(&h->deadline, ngx_http_session_hash_left(h));
        }

        return;
    }

    if (h->alive.timer_set) {
        ngx_del_timer(&h->alive);
    }

    if (h->deadline.timer_set) {
        ngx_del_timer(&h->deadline);
    }
}


/* Until the first of those that have not started gives up. */

static ngx_msec_t
ngx_http_session_hash_left(ngx_http_session_hash_t *h)
{
    ngx_uint_t                    i;
    ngx_queue_t                  *q, *queues[3];
    ngx_msec_int_t                left;
    ngx_http_session_hash_job_t  *job;

    queues[0] = &h->first;
    queues[1] = &h->others;
    queues[2] = &h->posted;

    left = (ngx_msec_int_t) h->conf.timeout;

    for (i = 0; i < 3; i++) {

        for (q = ngx_queue_head(queues[i]);
             q != ngx_queue_sentinel(queues[i]);
             q = ngx_queue_next(q))
        {
            job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);

            /* a thread may be starting it at this very moment */

            if (job->job.waiter
                && ngx_atomic_fetch_add(&job->state, 0)
                   != NGX_HTTP_SESSION_HASH_STARTED)
            {
                left = ngx_min(left, (ngx_msec_int_t) (job->job.deadline
                                                       - ngx_current_msec));
                break;
            }
        }
    }

    return (ngx_msec_t) ngx_max(left, 1);
}


static void
ngx_http_session_hash_alive_handler(ngx_event_t *ev)
{
    ngx_http_session_hash_timers(ngx_http_session_hash);
}


static void
ngx_http_session_hash_deadline_handler(ngx_event_t *ev)
{
    ngx_queue_t                  *q;
    ngx_http_session_hash_t      *h;
    ngx_http_session_hash_job_t  *job;

    h = ngx_http_session_hash;

    ngx_http_session_hash_expire(h, &h->first);
    ngx_http_session_hash_expire(h, &h->others);

    /*
     * A pool that is stuck has not started those it was given.  They stay in
     * it until it moves again, without their clients.
     */

    q = ngx_queue_head(&h->posted);

    while (q != ngx_queue_sentinel(&h->posted)) {
        job = ngx_queue_data(q, ngx_http_session_hash_job_t, job.queue);
        q = ngx_queue_next(q);

        if (ngx_http_session_wait_late(&job->job)
            && ngx_atomic_cmp_set(&job->state, NGX_HTTP_SESSION_HASH_POSTED,
                                  NGX_HTTP_SESSION_HASH_DROPPED))
        {
            ngx_http_session_hash_tell(job, 1);
        }
    }

    ngx_http_session_hash_flush(h);
    ngx_http_session_hash_timers(h);
}


static void
ngx_http_session_hash_retry_handler(ngx_event_t *ev)
{
    ngx_http_session_hash_start(ngx_http_session_hash);
    ngx_http_session_hash_timers(ngx_http_session_hash);
}


static void
ngx_http_session_hash_bounce_handler(ngx_event_t *ev)
{
    ngx_http_session_hash_flush(ngx_http_session_hash);
    ngx_http_session_hash_timers(ngx_http_session_hash);
}
