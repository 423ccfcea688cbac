/*
 * ngx_http_session_store_worker.h: the worker's one handle of the store, for
 * the adapter's files alone.
 *
 * It is made in init_process and stays until the process ends.  It comes from
 * the heap and holds copies, since pool threads may look at it while the
 * cycle's pool is destroyed.
 *
 * Who writes what: `store` is set by the event thread, between tasks; `applied`
 * and `duty` are written by the writer's thread and read by the event thread
 * after the task.  Everything else is constant once made.
 */

#ifndef NGX_HTTP_SESSION_STORE_WORKER_H_INCLUDED
#define NGX_HTTP_SESSION_STORE_WORKER_H_INCLUDED


#include "ngx_http_session_store.h"


#ifndef STORE_H_INCLUDED
#error include store.h first: only the adapter may
#endif


/* What the secrets' pages are reached through while the cycle lives. */
typedef struct {
    store_secrets_t             *secrets;       /* NULL: wiped */
} ngx_http_session_secrets_t;


#define NGX_HTTP_SESSION_LIST_MAX  100          /* sign-ins of one answer */


typedef struct {
    store_t                     *store;         /* NULL: not open */
    ngx_log_t                   *log;

    store_options_t              options;
    char                        *path;
    ngx_str_t                    why;           /* it is not open */
    char                         reason[STORE_WHY_CHARS];

    /* by number of the realm */
    store_keyring_t            **keyrings;
    store_realm_t               *realms;
    ngx_uint_t                   nrealms;

    uint8_t                      ids[STORE_SECRETS_MAX];
    unsigned                     nids;

    store_event_t               *events;        /* room for LIST_MAX */

    store_random_t              *rng;
    store_hash_params_t          hash;

    int                          applied;       /* worst result of a batch */

    /* ngx_http_session_store_leave.c */
    store_lost_t                 lost;          /* to this process for ever */
    ngx_msec_t                   started;
    ngx_event_t                  leave;
    ngx_connection_t             dumb;          /* names the event's fd: -1 */

    /* what was logged last, and when: a broken disk must not fill another */
    int                          failed;
    time_t                       failed_at;
} ngx_http_session_worker_t;


extern ngx_http_session_worker_t  *ngx_http_session_worker;


/* Opens; in the event thread only from init_process. */
int ngx_http_session_store_open(ngx_http_session_worker_t *worker,
    int wait_ms, store_t **store, char why[STORE_WHY_CHARS]);
/* Makes an open store the worker's, or notes why it is not. */
void ngx_http_session_store_opened(store_t *store, const char *why);

/* Starts timers and duties.  ngx_http_session_store_duty.c */
void ngx_http_session_store_duty_init(ngx_http_session_worker_t *worker);

/* Derives the keyrings and wipes the secrets. */
ngx_int_t ngx_http_session_store_keys_init(ngx_http_session_worker_t *worker,
    ngx_http_session_secrets_t *secrets, ngx_array_t *realms);

/* One crit line: what the store could not do.  Where this process will never
 * use it again, that is said instead, and the worker ends itself. */
void ngx_http_session_store_failed(const char *what, int rc);
void ngx_http_session_store_note(const char *why);

/* ngx_http_session_store_leave.c */
void ngx_http_session_store_leave_init(ngx_http_session_worker_t *worker);
/* 1 when this result, or one before, was the end of it. */
ngx_int_t ngx_http_session_store_is_lost(const char *what, int rc);
/* Lets go of a store that is lost; between tasks. */
void ngx_http_session_store_settle(void);


#endif /* NGX_HTTP_SESSION_STORE_WORKER_H_INCLUDED */
