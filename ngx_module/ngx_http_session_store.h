/*
 * ngx_http_session_store.h: the adapter.  The files ngx_http_session_store*.c
 * are the only ones in this folder that include store.h; the rest of the
 * module sees nginx types.
 *
 * One handle per worker, tied to the cycle: opened in init_process (never in
 * the master, cache manager or loader), retried every two seconds in a pool
 * thread while it is missing, never closed.  A function that needs the store
 * answers NGX_ERROR while it is not open, and the caller denies.
 *
 * Threads: everything here runs on the event thread, except the functions
 * named *_thread, which the writer and the hash pool call and which touch
 * neither requests nor pools nor cached time.
 */

#ifndef NGX_HTTP_SESSION_STORE_H_INCLUDED
#define NGX_HTTP_SESSION_STORE_H_INCLUDED


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>


#define NGX_HTTP_SESSION_ID_LEN      21
#define NGX_HTTP_SESSION_KEY_LEN     16
#define NGX_HTTP_SESSION_USER_LEN    8
#define NGX_HTTP_SESSION_TOKEN_LEN   72
#define NGX_HTTP_SESSION_CSRF_LEN    86
#define NGX_HTTP_SESSION_PRE_LEN     66
#define NGX_HTTP_SESSION_PRE_ID_LEN  16
#define NGX_HTTP_SESSION_DEVICE_LEN  55
#define NGX_HTTP_SESSION_LIMIT_MAX   64


/* $session_status, in the order of ngx_http_session_status_names[] */
typedef enum {
    NGX_HTTP_SESSION_NONE = 0,
    NGX_HTTP_SESSION_VALID,
    NGX_HTTP_SESSION_MALFORMED,
    NGX_HTTP_SESSION_BAD_SIGNATURE,
    NGX_HTTP_SESSION_UNKNOWN_KEY,
    NGX_HTTP_SESSION_REVOKED,
    NGX_HTTP_SESSION_IDLE,
    NGX_HTTP_SESSION_EXPIRED,
    NGX_HTTP_SESSION_DISABLED,
    NGX_HTTP_SESSION_FUTURE,            /* created more than 300 s ahead */
    NGX_HTTP_SESSION_DUPLICATE,
    NGX_HTTP_SESSION_STORE_ERROR,       /* "error" */
    NGX_HTTP_SESSION_STATUSES
} ngx_http_session_status_e;

extern ngx_str_t  ngx_http_session_status_names[];


/* A session as the request sees it; strings live in the pool given. */
typedef struct {
    u_char                     key[NGX_HTTP_SESSION_KEY_LEN];
    u_char                     user[NGX_HTTP_SESSION_USER_LEN];
    uint64_t                   generation;
    time_t                     created;
    time_t                     seen;
    time_t                     authenticated;
    time_t                     expires;
    ngx_str_t                  ref;             /* 12 characters */
    ngx_str_t                  user_id;         /* 16 hex digits */
    ngx_str_t                  login;
    ngx_str_t                  name;
    ngx_str_t                  roles;           /* "admin,auditor" */
    ngx_str_t                  address;
    ngx_str_t                  agent;
} ngx_http_session_record_t;

/* A user as sign-in sees it. */
typedef struct {
    u_char                     user[NGX_HTTP_SESSION_USER_LEN];
    uint64_t                   generation;
    ngx_str_t                  phc;
    unsigned                   disabled:1;
} ngx_http_session_user_t;

/* One line of "recent sign-ins". */
typedef struct {
    time_t                     time;
    ngx_uint_t                 count;
    ngx_str_t                  address;
    ngx_str_t                  agent;
    unsigned                   failed:1;
} ngx_http_session_sign_in_t;


/* ----------------------------------------------------- configuration --- */

/* Reads the keys file (master, while parsing).  The secrets live until the
 * pool of cf is destroyed.  On NGX_ERROR the reason has been logged. */
ngx_int_t ngx_http_session_keys_read(ngx_conf_t *cf, ngx_str_t *file,
    void **secrets);

/* Wipes this process's copy of the secrets: in one that needs no keys. */
void ngx_http_session_keys_wipe(void *secrets);

/* lstat only; logs a warning when the store would not open.  Never fails. */
void ngx_http_session_store_look(ngx_conf_t *cf, ngx_str_t *path);

/* Checks password parameters at configuration: NULL, or what is wrong. */
char *ngx_http_session_hash_check(ngx_uint_t memory_kib, ngx_uint_t passes);


/* ------------------------------------------------------------ worker --- */

typedef struct {
    ngx_str_t                  path;
    size_t                     quota;
    void                      *secrets;         /* from keys_read */
    ngx_array_t               *realms;          /* of ngx_str_t */
    ngx_uint_t                 hash_memory;     /* KiB */
    ngx_uint_t                 hash_passes;
} ngx_http_session_store_conf_t;

/*
 * init_process of a worker: derives a keyring per realm, wipes the worker's
 * copy of the secrets, opens the store, starts the timers (retry, minute
 * duties of worker 0: reader check, sweep, audit copy; populate).  NGX_ERROR
 * only when keys cannot be derived; a store that will not open is no error.
 */
ngx_int_t ngx_http_session_store_init_worker(ngx_cycle_t *cycle,
    const ngx_http_session_store_conf_t *conf);

/* exit_process: drains the writer once, bounded; no close. */
void ngx_http_session_store_exit_worker(ngx_cycle_t *cycle);

/* 1 when open and answering: one empty read transaction. */
ngx_int_t ngx_http_session_store_up(void);
/* Why it is not: for the log and the error page of the operator. */
ngx_str_t *ngx_http_session_store_why(void);

/* What stores: "LMDB 0.9.24: (July 24, 2019)", and the format of the files.
 * ngx_http_session_store_engine.c */
const char *ngx_http_session_store_engine(void);
ngx_uint_t ngx_http_session_store_format(void);


/* ------------------------------------------------------------ tokens --- */

/*
 * MAC first: NGX_HTTP_SESSION_VALID (id is set, *line is the number of the
 * secret), MALFORMED, BAD_SIGNATURE or UNKNOWN_KEY.  Reads no store.
 */
ngx_http_session_status_e ngx_http_session_token_verify(ngx_uint_t realm,
    ngx_str_t *text, u_char id[NGX_HTTP_SESSION_ID_LEN], ngx_uint_t *line);
/* Draws a fresh id. */
ngx_int_t ngx_http_session_token_new(time_t now,
    u_char id[NGX_HTTP_SESSION_ID_LEN]);
/* Writes NGX_HTTP_SESSION_TOKEN_LEN characters. */
void ngx_http_session_token_sign(ngx_uint_t realm,
    const u_char id[NGX_HTTP_SESSION_ID_LEN], u_char *text);
void ngx_http_session_token_key(const u_char id[NGX_HTTP_SESSION_ID_LEN],
    u_char key[NGX_HTTP_SESSION_KEY_LEN]);

/* CSRF over a session id (21 bytes) or a pre-session id (16). */
ngx_int_t ngx_http_session_csrf_sign(ngx_uint_t realm, const u_char *id,
    size_t len, u_char *text);
ngx_int_t ngx_http_session_csrf_verify(ngx_uint_t realm, const u_char *id,
    size_t len, ngx_str_t *text);

/* __Host-session-pre and __Host-session-device: NGX_OK or NGX_DECLINED. */
ngx_int_t ngx_http_session_pre_new(ngx_uint_t realm,
    u_char id[NGX_HTTP_SESSION_PRE_ID_LEN], u_char *text);
ngx_int_t ngx_http_session_pre_read(ngx_uint_t realm, ngx_str_t *text,
    u_char id[NGX_HTTP_SESSION_PRE_ID_LEN]);
void ngx_http_session_device_sign(ngx_uint_t realm,
    const u_char user[NGX_HTTP_SESSION_USER_LEN], u_char *text);
ngx_int_t ngx_http_session_device_read(ngx_uint_t realm, ngx_str_t *text,
    u_char user[NGX_HTTP_SESSION_USER_LEN]);

/* n bytes from the worker's buffered CSPRNG; NGX_ERROR: answer 503. */
ngx_int_t ngx_http_session_random(u_char *buf, size_t n);
/* Wipes a password or the like. */
void ngx_http_session_wipe(void *buf, size_t n);


/* ------------------------------------------------------------- reads --- */

/*
 * One get and the judgement.  VALID: *record is allocated from pool.
 * STORE_ERROR: it is NULL.  Any other status: it is NULL or has only key and
 * ref, for the audit, and is no session.
 * A record may be wanted for a realm only: the realm is compared.  Its seen
 * may be older than the store's, if both are younger than `touch` seconds.
 */
ngx_http_session_status_e ngx_http_session_store_get(ngx_pool_t *pool,
    ngx_uint_t realm, const u_char id[NGX_HTTP_SESSION_ID_LEN], time_t now,
    time_t touch, ngx_http_session_record_t **record);

/* NGX_OK, NGX_DECLINED (no such user) or NGX_ERROR. */
ngx_int_t ngx_http_session_store_user(ngx_pool_t *pool, ngx_uint_t realm,
    ngx_str_t *login, ngx_http_session_user_t *user);

/* Live sessions of own's user, newest first, array of record_t.  `own` was
 * read for this request and is not read again. */
ngx_int_t ngx_http_session_store_sessions(ngx_pool_t *pool,
    ngx_uint_t realm, const ngx_http_session_record_t *own, time_t now,
    ngx_array_t *records);

/* Recent sign-ins and failures of a user, newest first, at most max. */
ngx_int_t ngx_http_session_store_sign_ins(ngx_pool_t *pool,
    const u_char user[NGX_HTTP_SESSION_USER_LEN], ngx_uint_t max,
    ngx_array_t *sign_ins);


/* ----------------------------------------------------------- changes --- */

/*
 * An operation is a heap object that the writer owns from submit() on and
 * frees after `handler` has run.  The handler runs on the event thread, once,
 * with the outcome, after commit; it does not run when the waiter has been
 * detached (ngx_http_session_job.h).
 */
typedef struct ngx_http_session_op_s  ngx_http_session_op_t;

typedef enum {
    NGX_HTTP_SESSION_OP_OK = 0,
    NGX_HTTP_SESSION_OP_GONE,           /* no such session or user */
    NGX_HTTP_SESSION_OP_EXISTS,         /* key taken: draw again */
    NGX_HTTP_SESSION_OP_CONFLICT,       /* user changed meanwhile */
    NGX_HTTP_SESSION_OP_DISABLED,
    NGX_HTTP_SESSION_OP_BUSY,           /* queue full or deadline: 503 */
    NGX_HTTP_SESSION_OP_UNKNOWN,        /* outcome unknown: 503 */
    NGX_HTTP_SESSION_OP_FAILED          /* ENOSPC, EIO, map full...: 503 */
} ngx_http_session_outcome_e;

/* Each returns NULL when memory is short.  Strings are copied. */
ngx_http_session_op_t *ngx_http_session_op_touch(
    const u_char key[NGX_HTTP_SESSION_KEY_LEN], time_t now);

typedef struct {
    u_char                     id[NGX_HTTP_SESSION_ID_LEN];
    u_char                     user[NGX_HTTP_SESSION_USER_LEN];
    uint64_t                   generation;
    time_t                     idle;
    time_t                     lifetime;
    ngx_uint_t                 limit;
    ngx_str_t                  address;
    ngx_str_t                  agent;
    ngx_str_t                  phc;             /* upgraded hash or empty */
    const u_char              *old_key;         /* or NULL */
} ngx_http_session_sign_in_args_t;

ngx_http_session_op_t *ngx_http_session_op_sign_in(
    const ngx_http_session_sign_in_args_t *args, time_t now);

typedef enum {
    NGX_HTTP_SESSION_END_SIGN_OUT = 0,  /* this one, reason sign_out */
    NGX_HTTP_SESSION_END_ONE,           /* by ref, reason revoked */
    NGX_HTTP_SESSION_END_OTHERS,        /* all but this, revoked */
    NGX_HTTP_SESSION_END_ALL
} ngx_http_session_end_e;

ngx_http_session_op_t *ngx_http_session_op_end(ngx_http_session_end_e what,
    const ngx_http_session_record_t *by, ngx_str_t *ref,
    ngx_str_t *address, ngx_str_t *agent, time_t now);

/* Audit rows that are no change of the store: aggregated failed sign-ins and
 * refusals of MAC-valid tokens.  Droppable when the queue is full.  A refusal
 * that was audited this minute in this worker gives NULL, too. */
ngx_http_session_op_t *ngx_http_session_op_failed_sign_in(ngx_uint_t realm,
    ngx_str_t *login, const u_char *user, ngx_str_t *address,
    ngx_str_t *agent, time_t now);
ngx_http_session_op_t *ngx_http_session_op_refused(ngx_uint_t realm,
    const u_char key[NGX_HTTP_SESSION_KEY_LEN],
    ngx_http_session_status_e status, ngx_str_t *address, time_t now);

/* How many sessions an END operation ended; valid in the handler. */
ngx_uint_t ngx_http_session_op_count(ngx_http_session_op_t *op);
/* Frees an operation that was never submitted. */
void ngx_http_session_op_free(ngx_http_session_op_t *op);


/* --------------------------------------- called from pool threads only --- */

/* Applies a batch; outcomes are in the operations afterwards. */
void ngx_http_session_store_apply_thread(ngx_http_session_op_t **ops,
    ngx_uint_t n);

typedef enum {
    NGX_HTTP_SESSION_PASSWORD_OK = 0,
    NGX_HTTP_SESSION_PASSWORD_BAD,
    NGX_HTTP_SESSION_PASSWORD_ERROR
} ngx_http_session_password_e;

/*
 * Verifies; phc.len == 0 burns the same time on a hash that matches nothing.
 * On success with outdated parameters, *upgraded receives a new PHC string
 * (capacity 192), else upgraded->len is 0.
 */
ngx_http_session_password_e ngx_http_session_password_thread(ngx_str_t *phc,
    ngx_str_t *password, ngx_str_t *upgraded);


#endif /* NGX_HTTP_SESSION_STORE_H_INCLUDED */
