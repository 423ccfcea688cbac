/*
 * write.h: what the operations of a batch are made of.
 *
 * An operation reads and checks all it needs, then puts.  A function here that
 * puts says so; after the first put only operating failures may come back,
 * and those undo the whole transaction.
 */

#ifndef STORE_WRITE_H_INCLUDED
#define STORE_WRITE_H_INCLUDED


#include "env.h"


/* One write transaction of either environment. */
typedef struct {
    store_t        *store;
    store_env_t    *env;
    const MDB_dbi  *db;
    MDB_txn        *txn;
    uint64_t        last;       /* sequence of the newest row in change, or
                                 * the last one given out for an event */
    int             over_quota; /* MDB_MAP_FULL is a refusal, not a failure */
} store_write_t;


/* operations, by kind */
int store_sign_in(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_touch(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_end(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_end_ref(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_end_user(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_user_create(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_user_change(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_keys_put(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_sweep(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;
int store_event_add(store_write_t *w, store_op_t *op) STORE_CHECK_RESULT;


/*
 * live.c: sessions inside a write transaction.
 */

/* Any session, ended ones too. */
int store_live_get(store_write_t *w, const uint8_t key[STORE_KEY_BYTES],
    store_live_t *live) STORE_CHECK_RESULT;
/* Puts the record alone. */
int store_live_put(store_write_t *w, const store_live_t *live)
    STORE_CHECK_RESULT;
/* Puts: end, index, change row.  The session must be live. */
int store_live_end(store_write_t *w, const store_op_t *op, store_live_t *live,
    store_end_t end, store_actor_t actor) STORE_CHECK_RESULT;

/* Reads up to STORE_USER_SESSIONS_MAX of a user's index entries above `after`
 * (NULL: all), oldest first, into store->room. */
int store_live_room(store_write_t *w, const uint8_t user[STORE_USER_BYTES],
    const uint8_t *after, size_t *n) STORE_CHECK_RESULT;
/* Puts: forgets an index entry whose record cannot be used. */
int store_live_drop(store_write_t *w, const uint8_t user[STORE_USER_BYTES],
    const uint8_t key[STORE_KEY_BYTES]) STORE_CHECK_RESULT;
/* Puts: ends all of a user's but `except` (NULL: none); adds to op->count. */
int store_live_end_all(store_write_t *w, store_op_t *op,
    const uint8_t *except, store_end_t end) STORE_CHECK_RESULT;


/*
 * change.c: rows of the feed.  Puts.
 */
void store_change_start(store_event_t *event, const store_op_t *op,
    store_event_type_t type);
int store_change_put(store_write_t *w, store_event_t *event)
    STORE_CHECK_RESULT;
int store_change_user(store_write_t *w, const store_op_t *op,
    const store_user_t *user, store_event_type_t type) STORE_CHECK_RESULT;
/* A row that only says that the record of this session was rewritten: for
 * caches.  It is not copied to the events. */
int store_change_session(store_write_t *w, const store_op_t *op,
    const store_session_t *session, store_event_type_t type)
    STORE_CHECK_RESULT;
int store_change_rewritten(const store_event_t *event);


/*
 * event.c: the events environment.  Puts.
 */
int store_event_put(store_write_t *w, const store_event_t *event,
    int aggregate) STORE_CHECK_RESULT;
/* Minute and hash under which equal events are counted together. */
#define STORE_GROUP_BYTES  24
void store_event_group(const store_event_t *event,
    uint8_t group[STORE_GROUP_BYTES]);
int store_events_begin(store_t *store, store_write_t *w) STORE_CHECK_RESULT;
int store_events_commit(store_write_t *w) STORE_CHECK_RESULT;


/* op.c: checks of what the caller gave. */
int store_op_check(const store_op_t *op) STORE_CHECK_RESULT;
int store_op_text(const char *data, size_t n, size_t max) STORE_CHECK_RESULT;
/* Over the quota: sets w->over_quota and returns MDB_MAP_FULL. */
int store_quota_check(store_write_t *w) STORE_CHECK_RESULT;

/* user_write.c */
int store_user_read(store_write_t *w, const uint8_t id[STORE_USER_BYTES],
    store_user_t *user) STORE_CHECK_RESULT;
int store_user_put(store_write_t *w, const store_user_t *user)
    STORE_CHECK_RESULT;


#endif /* STORE_WRITE_H_INCLUDED */
