#include "write.h"


typedef int (*store_apply_pt)(store_write_t *w, store_op_t *op);


static int store_group_apply(store_t *store, int events, store_op_t **ops,
    size_t n);
static int store_group_together(store_t *store, int events, store_op_t **ops,
    size_t n, int *retry);
static void store_group_alone(store_t *store, int events, store_op_t *op);
static int store_group_begin(store_t *store, int events, store_write_t *w);
static int store_group_commit(int events, store_write_t *w);
static int store_group_has(const store_op_t *op, int events);
static int store_op_apply(store_write_t *w, store_op_t *op);


static const store_apply_pt  store_op_kinds[] = {
    [STORE_OP_SIGN_IN] = store_sign_in,
    [STORE_OP_TOUCH] = store_touch,
    [STORE_OP_END] = store_end,
    [STORE_OP_END_REF] = store_end_ref,
    [STORE_OP_END_OTHERS] = store_end_user,
    [STORE_OP_END_ALL] = store_end_user,
    [STORE_OP_USER_CREATE] = store_user_create,
    [STORE_OP_USER_PASSWORD] = store_user_change,
    [STORE_OP_USER_ROLES] = store_user_change,
    [STORE_OP_USER_NAME] = store_user_change,
    [STORE_OP_USER_DISABLE] = store_user_change,
    [STORE_OP_USER_ENABLE] = store_user_change,
    [STORE_OP_USER_DELETE] = store_user_change,
    [STORE_OP_KEYS_LOADED] = store_keys_put,
    [STORE_OP_SWEEP] = store_sweep,
    [STORE_OP_EVENT] = store_event_add,
};


/* Sessions first: a full events environment must not hold up a sign-out. */
int
store_batch_apply(store_t *store, store_op_t **ops, size_t n)
{
    int     rc, failed;
    size_t  i;

    rc = n > STORE_BATCH_MAX ? STORE_INVALID : store_watch(store);

    if (rc != STORE_OK) {

        for (i = 0; i < n; i++) {
            ops[i]->result = rc;
        }

        return rc;
    }

    failed = store_group_apply(store, 0, ops, n);
    rc = store_group_apply(store, 1, ops, n);

    return rc == STORE_OK ? failed : rc;
}


static int
store_group_apply(store_t *store, int events, store_op_t **ops, size_t n)
{
    int     rc, retry;
    size_t  i;

    rc = store_group_together(store, events, ops, n, &retry);

    if (rc == STORE_OK || !retry) {
        return rc;
    }

    /* one of them may be the cause: each gets a transaction of its own */

    rc = STORE_OK;

    for (i = 0; i < n; i++) {

        if (!store_group_has(ops[i], events)) {
            continue;
        }

        store_group_alone(store, events, ops[i]);

        if (!store_expected(ops[i]->result)) {
            rc = ops[i]->result;
        }
    }

    return rc;
}


static int
store_group_together(store_t *store, int events, store_op_t **ops, size_t n,
    int *retry)
{
    int            rc, failed, found;
    size_t         i;
    store_write_t  w;

    *retry = 0;
    failed = STORE_OK;

    for (i = 0, found = 0; i < n && !found; i++) {
        found = store_group_has(ops[i], events);
    }

    if (!found) {
        return STORE_OK;
    }

    rc = store_group_begin(store, events, &w);

    if (rc != STORE_OK) {

        for (i = 0; i < n; i++) {
            if (store_group_has(ops[i], events)) {
                ops[i]->result = rc;
            }
        }

        return rc;
    }

    *retry = 1;

    for (i = 0; i < n; i++) {

        if (!store_group_has(ops[i], events)) {
            continue;
        }

        rc = store_op_apply(&w, ops[i]);
        ops[i]->result = rc;

        if (store_expected(rc)) {
            continue;
        }

        if (!w.over_quota) {
            mdb_txn_abort(w.txn);
            return rc;
        }

        failed = rc;
    }

    rc = store_group_commit(events, &w);
    if (rc != STORE_OK) {
        return rc;
    }

    *retry = 0;

    return failed;
}


static void
store_group_alone(store_t *store, int events, store_op_t *op)
{
    int            rc;
    store_write_t  w;

    rc = store_group_begin(store, events, &w);
    if (rc != STORE_OK) {
        op->result = rc;
        return;
    }

    rc = store_op_apply(&w, op);

    if (rc != STORE_OK) {
        mdb_txn_abort(w.txn);

    } else {
        rc = store_group_commit(events, &w);
    }

    op->result = rc;
}


static int
store_group_begin(store_t *store, int events, store_write_t *w)
{
    int  rc;

    if (events) {
        return store_events_begin(store, w);
    }

    w->store = store;
    w->env = store->sessions;
    w->db = store->sessions->db;
    w->over_quota = 0;

    rc = store_write_begin(w->env, &w->txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_last(w->txn, w->db[STORE_CHANGE], &w->last);
    if (rc != STORE_OK) {
        mdb_txn_abort(w->txn);
        return rc;
    }

    return STORE_OK;
}


/* The transaction is gone afterwards, whatever this returns. */
static int
store_group_commit(int events, store_write_t *w)
{
    if (events) {
        return store_events_commit(w);
    }

    return mdb_txn_commit(w->txn);
}


static int
store_group_has(const store_op_t *op, int events)
{
    return (op->kind == STORE_OP_EVENT) == events;
}


/*
 * A refusal after the first put would commit half an operation.  None is
 * known; should one come, it counts as a failure and undoes everything.
 */
static int
store_op_apply(store_write_t *w, store_op_t *op)
{
    int       rc;
    uint64_t  last;

    op->count = 0;
    w->over_quota = 0;
    last = w->last;

    rc = store_op_check(op);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_op_kinds[op->kind](w, op);

    if (rc != STORE_OK && store_expected(rc) && w->last != last) {
        return MDB_BAD_TXN;
    }

    return rc;
}
