/*
 * ngx_http_session_store_duty.c: what the store needs besides requests.
 *
 *   open        every two seconds until it is open
 *   watch       whether its files are still the ones that are open, as often
 *   keys        which key ids this generation has loaded, for `key promote`
 *   populate    page tables of the mapping, 16 MiB at a time
 *   readers     slots of dead processes, every minute
 *   sweep       sessions that have expired, every minute, in batches, and
 *               events older than 90 days
 *   copy        audit rows into the events environment, every second
 *
 * Every worker opens, watches and populates, its memory being its own; worker
 * 0 does the rest for all.  A duty is one short task in the writer's thread,
 * and the next one is asked for when it is done, so that requests' changes come
 * between any two.  Timers are cancelable and an exiting worker starts no duty
 * but the watch: it may have its store open for long.
 */


#include "ngx_http_session_store.h"
#include "store.h"
#include "ngx_http_session_store_worker.h"
#include "ngx_http_session_job.h"


#define NGX_HTTP_SESSION_DUTY_OPEN      0x01
#define NGX_HTTP_SESSION_DUTY_KEYS      0x02
#define NGX_HTTP_SESSION_DUTY_READERS   0x04
#define NGX_HTTP_SESSION_DUTY_COPY      0x08
#define NGX_HTTP_SESSION_DUTY_SWEEP     0x10
#define NGX_HTTP_SESSION_DUTY_POPULATE  0x20
#define NGX_HTTP_SESSION_DUTY_WATCH     0x40

#define NGX_HTTP_SESSION_OPEN_EVERY     2000    /* ms; watch, too */
#define NGX_HTTP_SESSION_OPEN_WAIT      500     /* ms, for other workers */
#define NGX_HTTP_SESSION_COPY_EVERY     1000    /* ms */
#define NGX_HTTP_SESSION_MINUTE         60      /* copies */

/* rows of one task: some milliseconds, with the sync */
#define NGX_HTTP_SESSION_COPY_MAX       1000
#define NGX_HTTP_SESSION_SWEEP_MAX      500
#define NGX_HTTP_SESSION_TRIM_MAX       1000


typedef struct {
    ngx_uint_t                   pending;       /* bits */
    ngx_uint_t                   current;       /* bit, or 0 */
    ngx_uint_t                   last;          /* bit, or 0 */
    ngx_uint_t                   ticks;
    uint64_t                     lost;          /* rows, as of last report */

    /* of the current one; the thread's while it runs */
    int                          rc;
    int                          more;
    size_t                       at;            /* of populate */
    time_t                       now;
    store_t                     *opened;
    char                         why[STORE_WHY_CHARS];

    ngx_event_t                  tick;
    ngx_connection_t             dumb;          /* names the event's fd: -1 */
} ngx_http_session_duties_t;


static void ngx_http_session_duty_tick(ngx_event_t *ev);
static void ngx_http_session_duty_next(void);
static void ngx_http_session_duty_run(void *data);
static int ngx_http_session_duty_keys(ngx_http_session_worker_t *worker,
    time_t now);
static int ngx_http_session_duty_sweep(ngx_http_session_worker_t *worker,
    time_t now, int *more);
static void ngx_http_session_duty_done(void *data);
static void ngx_http_session_duty_open(void);
static void ngx_http_session_duty_lost(void);
static void ngx_http_session_duty_timer(void);


static ngx_http_session_duties_t  *ngx_http_session_duties;


/* Called in init_process: the worker accepts first, duties come by timer. */

void
ngx_http_session_store_duty_init(ngx_http_session_worker_t *worker)
{
    ngx_http_session_duties_t  *d;

    d = ngx_calloc(sizeof(ngx_http_session_duties_t), worker->log);
    if (d == NULL) {
        return;
    }

    d->dumb.fd = (ngx_socket_t) -1;

    d->tick.handler = ngx_http_session_duty_tick;
    d->tick.data = &d->dumb;
    d->tick.log = worker->log;
    d->tick.cancelable = 1;

    ngx_http_session_duties = d;

    if (worker->store) {
        ngx_http_session_duty_open();
        ngx_add_timer(&d->tick, 1);
        return;
    }

    ngx_http_session_duty_timer();
}


static void
ngx_http_session_duty_tick(ngx_event_t *ev)
{
    ngx_http_session_duties_t  *d;

    d = ngx_http_session_duties;

    if (ngx_http_session_worker->store == NULL) {
        if (ngx_http_session_worker->lost == STORE_LOST_ALL || ngx_exiting) {
            return;
        }

        d->pending |= NGX_HTTP_SESSION_DUTY_OPEN;
        goto next;
    }

    d->pending |= NGX_HTTP_SESSION_DUTY_WATCH;

    if (ngx_worker == 0 && !ngx_exiting) {
        d->pending |= NGX_HTTP_SESSION_DUTY_COPY;

        if (d->ticks++ % NGX_HTTP_SESSION_MINUTE == 0) {
            d->pending |= NGX_HTTP_SESSION_DUTY_READERS
                          | NGX_HTTP_SESSION_DUTY_SWEEP;

            ngx_http_session_duty_lost();
        }
    }

next:

    ngx_http_session_duty_next();
    ngx_http_session_duty_timer();
}


static void
ngx_http_session_duty_timer(void)
{
    ngx_http_session_duties_t  *d;

    d = ngx_http_session_duties;

    if (d->tick.timer_set) {
        return;
    }

    ngx_add_timer(&d->tick, (ngx_http_session_worker->store && ngx_worker == 0)
                            ? NGX_HTTP_SESSION_COPY_EVERY
                            : NGX_HTTP_SESSION_OPEN_EVERY);
}


/*
 * In turns, so that none that always has more to do keeps the others waiting.
 * What the writer will not take comes by timer.
 */

static void
ngx_http_session_duty_next(void)
{
    ngx_uint_t                  bit, later;
    ngx_http_session_duties_t  *d;

    d = ngx_http_session_duties;

    if (ngx_exiting) {
        d->pending &= NGX_HTTP_SESSION_DUTY_WATCH;
    }

    if (ngx_http_session_worker->store == NULL) {
        d->pending &= NGX_HTTP_SESSION_DUTY_OPEN;
    }

    if (d->current || d->pending == 0) {
        return;
    }

    later = d->pending & ~((d->last << 1) - 1);

    for (bit = 1; !((later ? later : d->pending) & bit); bit <<= 1) {
        /* void */
    }

    d->current = bit;
    d->now = ngx_time();
    d->more = 0;
    d->opened = NULL;

    if (ngx_http_session_writer_duty(ngx_http_session_duty_run,
                                     ngx_http_session_duty_done, d)
        != NGX_OK)
    {
        d->current = 0;
        return;
    }

    d->pending &= ~bit;
    d->last = bit;
}


static void
ngx_http_session_duty_run(void *data)
{
    ngx_http_session_duties_t *d = data;

    int                         dead;
    ngx_http_session_worker_t  *worker;

    worker = ngx_http_session_worker;

    if (worker->store == NULL && d->current != NGX_HTTP_SESSION_DUTY_OPEN) {

        /* lost while it waited for its turn */

        d->rc = STORE_OK;
        return;
    }

    switch (d->current) {

    case NGX_HTTP_SESSION_DUTY_OPEN:
        d->rc = ngx_http_session_store_open(worker,
                                            NGX_HTTP_SESSION_OPEN_WAIT,
                                            &d->opened, d->why);
        break;

    case NGX_HTTP_SESSION_DUTY_KEYS:
        d->rc = ngx_http_session_duty_keys(worker, d->now);
        break;

    case NGX_HTTP_SESSION_DUTY_READERS:
        d->rc = store_reader_check(worker->store, &dead);
        break;

    case NGX_HTTP_SESSION_DUTY_COPY:
        d->rc = store_events_copy(worker->store, NGX_HTTP_SESSION_COPY_MAX,
                                  &d->more);
        break;

    case NGX_HTTP_SESSION_DUTY_SWEEP:
        d->rc = ngx_http_session_duty_sweep(worker, d->now, &d->more);
        break;

    case NGX_HTTP_SESSION_DUTY_WATCH:
        d->rc = store_watch(worker->store);
        break;

    default: /* NGX_HTTP_SESSION_DUTY_POPULATE */
        d->rc = store_populate(worker->store, &d->at);
        d->more = (d->rc == STORE_OK);

        if (d->rc == STORE_NOT_FOUND) {
            d->rc = STORE_OK;
        }
    }
}


static int
ngx_http_session_duty_keys(ngx_http_session_worker_t *worker, time_t now)
{
    int          rc;
    store_op_t   op, *ops;

    ngx_memzero(&op, sizeof(store_op_t));

    op.kind = STORE_OP_KEYS_LOADED;
    op.actor = STORE_BY_SERVER;
    op.now = now;
    op.max = worker->nids;

    ngx_memcpy(op.ids, worker->ids, worker->nids);

    ops = &op;
    rc = store_batch_apply(worker->store, &ops, 1);

    return (rc != STORE_OK) ? rc : op.result;
}


static int
ngx_http_session_duty_sweep(ngx_http_session_worker_t *worker, time_t now,
    int *more)
{
    int          rc;
    store_op_t   op, *ops;

    ngx_memzero(&op, sizeof(store_op_t));

    op.kind = STORE_OP_SWEEP;
    op.actor = STORE_BY_SERVER;
    op.now = now;
    op.max = NGX_HTTP_SESSION_SWEEP_MAX;

    ops = &op;
    rc = store_batch_apply(worker->store, &ops, 1);

    if (rc == STORE_OK) {
        rc = op.result;
    }

    *more = (rc == STORE_OK && op.count >= op.max);

    if (rc != STORE_OK) {
        return rc;
    }

    return store_events_trim(worker->store, now - STORE_EVENT_KEEP,
                             NGX_HTTP_SESSION_TRIM_MAX);
}


static void
ngx_http_session_duty_done(void *data)
{
    ngx_http_session_duties_t *d = data;

    ngx_uint_t  bit;

    static const char  *what[] = {
        "open", "record the loaded keys", "check its readers",
        "copy its audit", "sweep", "populate its mapping", "stay open"
    };

    bit = d->current;
    d->current = 0;

    if (bit == NGX_HTTP_SESSION_DUTY_OPEN) {
        ngx_http_session_store_opened(d->rc == STORE_OK ? d->opened : NULL,
                                      d->why);

        if (ngx_http_session_worker->store) {
            ngx_http_session_duty_open();
        }

    } else if (d->more) {
        d->pending |= bit;

    /* memory that cannot be populated is read from disk when it is needed */

    } else if (d->rc != STORE_OK && bit != NGX_HTTP_SESSION_DUTY_POPULATE) {
        ngx_http_session_store_failed(what[__builtin_ctzl(bit)], d->rc);
    }

    ngx_http_session_store_settle();

    ngx_http_session_duty_next();
    ngx_http_session_duty_timer();
}


static void
ngx_http_session_duty_open(void)
{
    ngx_http_session_duties_t  *d;

    d = ngx_http_session_duties;

    d->at = 0;
    d->pending |= NGX_HTTP_SESSION_DUTY_POPULATE;

    if (ngx_worker == 0) {
        d->pending |= NGX_HTTP_SESSION_DUTY_KEYS;
    }
}


/* Rows of the audit that were given up because nobody could copy them. */

static void
ngx_http_session_duty_lost(void)
{
    store_stat_t                stat;
    ngx_http_session_duties_t  *d;

    d = ngx_http_session_duties;

    if (store_stat(ngx_http_session_worker->store, &stat) != STORE_OK) {
        return;
    }

    if (stat.change_lost > d->lost) {
        ngx_log_error(NGX_LOG_CRIT, ngx_http_session_worker->log, 0,
                      "session store \"%s\": %uL rows of the audit are lost: "
                      "they could not be copied",
                      ngx_http_session_worker->path,
                      (uint64_t) stat.change_lost);
    }

    d->lost = stat.change_lost;
}
