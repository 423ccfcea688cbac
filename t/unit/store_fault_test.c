/*
 * Each call of LMDB fails in turn: the n-th alone, all from the n-th on, and
 * all commits from the n-th on, for n = 1 until nothing fails any more.
 * Whatever comes back must be true: a change that was acknowledged is there,
 * one that was not has left nothing, the invariants hold, and the next attempt
 * works.
 *
 * Linked with --wrap for the functions below.
 */

#include "store_fixture.h"


#define FAULTS_MAX  2000

/* what fails beside the n-th */
#define ALONE       0
#define ALL         1
#define COMMITS     2


/* 0: nothing fails */
static unsigned  fault_at;
static unsigned  fault_calls;
static int       fault_on;
static int       fault_hits;


static int
fault(int commit)
{
    if (fault_at == 0 || (fault_on == COMMITS && !commit)) {
        return 0;
    }

    fault_calls++;

    if (fault_calls == fault_at || (fault_on && fault_calls > fault_at)) {
        fault_hits++;
        return 1;
    }

    return 0;
}


static void
fault_arm(unsigned at, int on)
{
    fault_at = at;
    fault_on = on;
    fault_calls = 0;
    fault_hits = 0;
}


static int
fault_disarm(void)
{
    fault_at = 0;

    return fault_hits;
}


#define WRAP(name, parameters, arguments)                                    \
    int __real_##name parameters;                                            \
    int __wrap_##name parameters;                                            \
                                                                             \
    int                                                                      \
    __wrap_##name parameters                                                 \
    {                                                                        \
        return fault(0) ? EIO : __real_##name arguments;                      \
    }

WRAP(mdb_get, (MDB_txn *t, MDB_dbi d, MDB_val *k, MDB_val *v), (t, d, k, v))
WRAP(mdb_put, (MDB_txn *t, MDB_dbi d, MDB_val *k, MDB_val *v, unsigned f),
     (t, d, k, v, f))
WRAP(mdb_del, (MDB_txn *t, MDB_dbi d, MDB_val *k, MDB_val *v), (t, d, k, v))
WRAP(mdb_drop, (MDB_txn *t, MDB_dbi d, int del), (t, d, del))
WRAP(mdb_stat, (MDB_txn *t, MDB_dbi d, MDB_stat *s), (t, d, s))
WRAP(mdb_cursor_open, (MDB_txn *t, MDB_dbi d, MDB_cursor **c), (t, d, c))
WRAP(mdb_cursor_get, (MDB_cursor *c, MDB_val *k, MDB_val *v, MDB_cursor_op o),
     (c, k, v, o))
WRAP(mdb_txn_begin, (MDB_env *e, MDB_txn *p, unsigned f, MDB_txn **t),
     (e, p, f, t))
WRAP(mdb_txn_renew, (MDB_txn *t), (t))
WRAP(mdb_dbi_open, (MDB_txn *t, const char *n, unsigned f, MDB_dbi *d),
     (t, n, f, d))
WRAP(mdb_env_info, (MDB_env *e, MDB_envinfo *i), (e, i))
WRAP(mdb_reader_check, (MDB_env *e, int *d), (e, d))


int __real_mdb_txn_commit(MDB_txn *txn);
int __wrap_mdb_txn_commit(MDB_txn *txn);

/* As LMDB does it: the handle is gone, whatever comes back. */
int
__wrap_mdb_txn_commit(MDB_txn *txn)
{
    if (fault(1)) {
        mdb_txn_abort(txn);
        return ENOSPC;
    }

    return __real_mdb_txn_commit(txn);
}


/* ------------------------------------------------------------ scenarios --- */

typedef struct {
    const char  *name;
    void       (*prepare)(fixture_t *f, store_op_t *op,
                          const uint8_t id[STORE_USER_BYTES]);
    int          again;         /* what the same gives once it is done */
} scenario_t;


static void
prepare_sign_in(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    (void) f;

    /* replaces one, and ends another because of the limit */

    fixture_sign_in_op(op, id, 9, FIXTURE_NOW + 5);
    op->limit = 2;
    op->has_old = 1;
    fixture_key(op->old, 3);
}


static void
prepare_key(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    (void) f;
    (void) id;

    fixture_op(op, STORE_OP_END, FIXTURE_NOW + 5);
    fixture_key(op->key, 1);
    op->end = STORE_END_SIGN_OUT;
}


static void
prepare_touch(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    (void) f;
    (void) id;

    fixture_op(op, STORE_OP_TOUCH, FIXTURE_NOW + 5);
    fixture_key(op->key, 1);
}


static void
prepare_ref(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    uint8_t  key[STORE_KEY_BYTES];

    (void) f;

    fixture_op(op, STORE_OP_END_REF, FIXTURE_NOW + 5);
    memcpy(op->user, id, STORE_USER_BYTES);
    fixture_key(key, 2);
    store_key_ref(key, op->ref);
    op->end = STORE_END_REVOKED;
}


static void
prepare_others(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    (void) f;

    fixture_op(op, STORE_OP_END_OTHERS, FIXTURE_NOW + 5);
    memcpy(op->user, id, STORE_USER_BYTES);
    fixture_key(op->key, 2);
    op->end = STORE_END_REVOKED;
}


static void
prepare_create(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    (void) f;
    (void) id;

    fixture_op(op, STORE_OP_USER_CREATE, FIXTURE_NOW + 5);
    assert_int_equal(store_realm_set(&op->realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&op->login, "new", 3), STORE_OK);
}


static void
prepare_password(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    (void) f;

    fixture_op(op, STORE_OP_USER_PASSWORD, FIXTURE_NOW + 5);
    memcpy(op->user, id, STORE_USER_BYTES);
    fixture_key(op->key, 2);
    op->generation = 1;
    assert_int_equal(store_text_set(&op->phc, "$x", 2), STORE_OK);
}


static void
prepare_roles(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    (void) f;

    fixture_op(op, STORE_OP_USER_ROLES, FIXTURE_NOW + 5);
    memcpy(op->user, id, STORE_USER_BYTES);
}


static void
prepare_disable(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    (void) f;

    fixture_op(op, STORE_OP_USER_DISABLE, FIXTURE_NOW + 5);
    memcpy(op->user, id, STORE_USER_BYTES);
}


static void
prepare_delete(fixture_t *f, store_op_t *op,
    const uint8_t id[STORE_USER_BYTES])
{
    prepare_disable(f, op, id);
    op->kind = STORE_OP_USER_DELETE;
}


static void
prepare_sweep(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    (void) f;
    (void) id;

    fixture_op(op, STORE_OP_SWEEP, FIXTURE_NOW + 5000);
    op->max = 100;
}


static void
prepare_event(fixture_t *f, store_op_t *op, const uint8_t id[STORE_USER_BYTES])
{
    static store_event_t  e;

    (void) f;

    memset(&e, 0, sizeof(e));
    e.type = STORE_EVENT_SIGN_IN_FAILED;
    e.time = FIXTURE_NOW;
    memcpy(e.user, id, STORE_USER_BYTES);

    fixture_op(op, STORE_OP_EVENT, FIXTURE_NOW + 5);
    op->event = &e;
    op->aggregate = 1;
}


static const scenario_t  scenarios[] = {
    { "sign in", prepare_sign_in, STORE_EXISTS },
    { "end", prepare_key, STORE_NOT_FOUND },
    { "touch", prepare_touch, STORE_OK },
    { "end by ref", prepare_ref, STORE_NOT_FOUND },
    { "end others", prepare_others, STORE_OK },
    { "create", prepare_create, STORE_EXISTS },
    { "password", prepare_password, STORE_CONFLICT },
    { "roles", prepare_roles, STORE_OK },
    { "disable", prepare_disable, STORE_OK },
    { "delete", prepare_delete, STORE_NOT_FOUND },
    { "sweep", prepare_sweep, STORE_OK },
    { "event", prepare_event, STORE_OK },
};


/* The whole store as text: two are equal when nothing has changed. */
static char *
picture(fixture_t *f)
{
    char    *text;
    FILE    *out;
    size_t   n;

    out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_int_equal(store_dump(f->store, out, NULL, NULL), STORE_OK);
    assert_int_equal(fclose(out), 0);

    return text;
}


static int
same(fixture_t *f, const char *before)
{
    int    rc;
    char  *after;

    after = picture(f);
    rc = strcmp(before, after) == 0;
    free(after);

    return rc;
}


static int
sound(fixture_t *f)
{
    uint64_t  problems;

    return store_check(f->store, fixture_problem, NULL, &problems) == STORE_OK
           && problems == 0;
}


/* Three live sessions of one user. */
static void
fill(fixture_t *f, uint8_t id[STORE_USER_BYTES])
{
    unsigned     i;
    store_op_t   ops[3], *list[3];

    fixture_user(f, "ann", id);

    for (i = 0; i < 3; i++) {
        fixture_sign_in_op(&ops[i], id, i + 1, FIXTURE_NOW);
        list[i] = &ops[i];
    }

    assert_int_equal(store_batch_apply(f->store, list, 3), STORE_OK);
}


/* One child a fault, since a store is never closed.  100: no fault came. */
static int
in_child(int (*run)(fixture_t *f, const scenario_t *s, unsigned at, int on),
    const scenario_t *s, unsigned at, int on)
{
    int        status;
    pid_t      pid;
    fixture_t  f;

    fixture_directory(&f);
    f.options.map_size = (size_t) 4 << 20;
    (void) fflush(NULL);

    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        _exit(run(&f, s, at, on));
    }

    assert_int_equal(waitpid(pid, &status, 0), pid);
    fixture_remove(&f);

    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}


static void
every_fault(int (*run)(fixture_t *f, const scenario_t *s, unsigned at, int on),
    const scenario_t *s)
{
    int       on, rc;
    unsigned  at;

    for (on = ALONE; on <= COMMITS; on++) {

        for (at = 1; at < FAULTS_MAX; at++) {
            rc = in_child(run, s, at, on);

            if (rc == 100) {
                break;
            }

            if (rc != 0) {
                fail_msg("%s, call %u, mode %d: %d", s ? s->name : "", at, on,
                         rc);
            }
        }

        assert_true((at > 2 || on == COMMITS) && at < FAULTS_MAX);
    }
}


static void
ready(fixture_t *f, uint8_t id[STORE_USER_BYTES])
{
    if (store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) != STORE_OK
        || store_open(&f->options, &f->store, f->why) != STORE_OK)
    {
        _exit(90);
    }

    fill(f, id);
}


static int
run_operation(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int          rc, hits;
    char        *before;
    uint8_t      id[STORE_USER_BYTES];
    store_op_t   op, *list[1];

    ready(f, id);
    before = picture(f);

    s->prepare(f, &op, id);
    list[0] = &op;

    fault_arm(at, on);
    rc = store_batch_apply(f->store, list, 1);
    hits = fault_disarm();

    if (!sound(f)) {
        return 1;
    }

    if ((rc == STORE_OK) != (op.result == STORE_OK)) {
        return 2;
    }

    if (op.result == STORE_OK) {

        if (same(f, before)) {
            return 3;
        }

        if (fixture_apply(f, &op) != s->again) {
            return 4;
        }

    } else {

        if (op.result != EIO && op.result != ENOSPC) {
            return 5;
        }

        if (!same(f, before)) {
            return 6;
        }

        if (fixture_apply(f, &op) != STORE_OK) {
            return 7;
        }
    }

    free(before);

    /* a single fault is made up for by the second attempt, unless there was
     * no first: the transaction did not even begin */

    if (!on && hits && rc != STORE_OK && at > 4) {
        return 8;
    }

    return sound(f) ? (hits ? 0 : 100) : 9;
}


static void
test_operations(void **state)
{
    size_t  i;

    (void) state;

    for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        every_fault(run_operation, &scenarios[i]);
    }
}


/* Several in a batch, an event among them: each result is true by itself. */
static int
run_batch(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int              rc, hits;
    uint8_t          id[STORE_USER_BYTES];
    store_op_t       end, in, event, *list[3];
    store_stat_t     stat;
    store_session_t  session;

    (void) s;

    ready(f, id);

    prepare_key(f, &end, id);
    prepare_event(f, &event, id);
    fixture_sign_in_op(&in, id, 9, FIXTURE_NOW);
    list[0] = &end;
    list[1] = &event;
    list[2] = &in;

    fault_arm(at, on);
    rc = store_batch_apply(f->store, list, 3);
    hits = fault_disarm();

    if ((rc == STORE_OK) != (end.result == STORE_OK && in.result == STORE_OK
                             && event.result == STORE_OK))
    {
        return 5;
    }

    if (!sound(f)) {
        return 1;
    }

    if (fixture_get(f, 1, &session) != STORE_OK
        || (session.end == STORE_END_SIGN_OUT) != (end.result == STORE_OK))
    {
        return 2;
    }

    if ((fixture_get(f, 9, &session) == STORE_OK) != (in.result == STORE_OK)) {
        return 3;
    }

    if (store_stat(f->store, &stat) != STORE_OK
        || (stat.events == 1) != (event.result == STORE_OK))
    {
        return 4;
    }

    return hits ? 0 : 100;
}


static void
test_batch(void **state)
{
    (void) state;

    every_fault(run_batch, NULL);
}


static int
ignore_event(const store_event_t *e, void *data)
{
    unsigned  *n = data;

    (void) e;
    (*n)++;

    return 0;
}


static int
ignore_session(const store_session_t *s, void *data)
{
    unsigned  *n = data;

    (void) s;
    (*n)++;

    return 0;
}


static int
run_copy(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int           rc, hits, more;
    uint8_t       id[STORE_USER_BYTES];
    unsigned      n;
    store_stat_t  stat;

    (void) s;

    ready(f, id);
    f->store->change_keep = 1;

    fault_arm(at, on);
    rc = store_events_copy(f->store, 100, &more);
    hits = fault_disarm();

    if (hits && rc == STORE_OK) {
        return 1;
    }

    if (!sound(f)) {
        return 2;
    }

    if (store_events_copy(f->store, 100, &more) != STORE_OK || more
        || store_events_copy(f->store, 100, &more) != STORE_OK)
    {
        return 3;
    }

    n = 0;

    if (store_event_each(f->store, 0, ignore_event, &n) != STORE_OK || n != 4)
    {
        return 4;
    }

    if (store_stat(f->store, &stat) != STORE_OK || stat.change_first != 4
        || stat.change_lost != 0)
    {
        return 5;
    }

    fault_arm(at, on);
    rc = store_events_trim(f->store, FIXTURE_NOW + 1, 2);

    if (fault_disarm()) {
        hits++;

        if (rc == STORE_OK) {
            return 7;
        }
    }

    if (!sound(f) || store_stat(f->store, &stat) != STORE_OK
        || stat.events != (rc == STORE_OK ? 2U : 4U))
    {
        return 6;
    }

    return hits ? 0 : 100;
}


static void
test_copy_and_trim(void **state)
{
    (void) state;

    every_fault(run_copy, NULL);
}


static int
run_reads(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int              i, rc, hits;
    size_t           n;
    uint8_t          id[STORE_USER_BYTES], own[STORE_KEY_BYTES];
    uint64_t         problems;
    unsigned         count;
    store_user_t     u;
    store_stat_t     stat;
    store_event_t    events[4];
    store_session_t  session, list[4];

    (void) s;

    ready(f, id);
    fixture_key(own, 99);

    for (i = 0, hits = 0; i < 9; i++) {
        n = 4;
        count = 0;
        rc = 1;

        fault_arm(at, on);

        switch (i) {
        case 0: rc = fixture_get(f, 1, &session); break;
        case 1: rc = store_session_list(f->store, id, list, &n); break;
        case 2: rc = store_user_find(f->store, "default", 7, "ann", 3, &u);
                break;
        case 3: rc = store_event_list(f->store, id, 0, events, &n); break;
        case 4: rc = store_change_each(f->store, 0, NULL, ignore_event,
                                       &count);
                break;
        case 5: rc = store_stat(f->store, &stat); break;
        case 6: rc = store_check(f->store, fixture_problem, NULL, &problems);
                break;
        case 7: rc = store_ping(f->store); break;
        case 8: rc = store_session_others(f->store, id, own, ignore_session,
                                          &count);
                break;
        }

        if (fault_disarm()) {
            hits++;

            if (rc == STORE_OK) {
                return i + 10;
            }

            if (rc != EIO) {
                return i + 20;
            }
        }

        if (fixture_get(f, 1, &session) != STORE_OK) {
            return i + 30;
        }
    }

    return hits ? 0 : 100;
}


static void
test_reads(void **state)
{
    (void) state;

    every_fault(run_reads, NULL);
}


/* 0: what is said is right. */
static int
look(fixture_t *f, unsigned n, store_end_t end)
{
    int                     rc;
    uint8_t                 key[STORE_KEY_BYTES];
    const store_session_t  *s;

    fixture_key(key, n);
    rc = store_session_look(f->store, key, FIXTURE_NOW, 3600, &s);

    return rc != EIO && (rc != STORE_OK || s->end != end);
}


/* A cache that could not read what has changed does not say what was before,
 * then and after it. */
static int
run_look(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int          i, hits;
    uint8_t      id[STORE_USER_BYTES];
    store_op_t   op;

    (void) s;

    ready(f, id);

    if (store_cache_start(f->store) != STORE_OK) {
        return 1;
    }

    for (i = 0; i < 2; i++) {
        if (look(f, 1, STORE_END_NONE) || look(f, 2, STORE_END_NONE)) {
            return 2;
        }
    }

    prepare_key(f, &op, id);

    if (fixture_apply(f, &op) != STORE_OK) {
        return 3;
    }

    fault_arm(at, on);

    if (look(f, 1, STORE_END_SIGN_OUT) || look(f, 2, STORE_END_NONE)) {
        return 4;
    }

    hits = fault_disarm();

    if (look(f, 1, STORE_END_SIGN_OUT) || look(f, 2, STORE_END_NONE)
        || look(f, 2, STORE_END_NONE))
    {
        return 5;
    }

    prepare_ref(f, &op, id);

    if (fixture_apply(f, &op) != STORE_OK || look(f, 2, STORE_END_REVOKED)) {
        return 6;
    }

    return hits ? 0 : 100;
}


static void
test_look(void **state)
{
    (void) state;

    every_fault(run_look, NULL);
}


static int
run_open(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int      rc, hits;
    uint8_t  id[STORE_USER_BYTES];

    (void) s;

    /* init, whose faults the next init makes up for */

    fault_arm(at, on);
    rc = store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why);
    hits = fault_disarm();

    if (hits && (rc == STORE_OK || f->why[0] == '\0')) {
        return 1;
    }

    /* what was made so far is no store, or is one */

    if (rc != STORE_OK) {
        rc = store_open(&f->options, &f->store, f->why);

        if (rc == STORE_OK) {
            return 2;
        }
    }

    fault_arm(at, on);
    rc = store_open(&f->options, &f->store, f->why);

    if (fault_disarm()) {
        hits++;

        if (rc == STORE_OK || f->why[0] == '\0') {
            return 3;
        }
    }

    if (rc != STORE_OK) {
        rc = store_open(&f->options, &f->store, f->why);
    }

    if (rc == STORE_OK) {
        fill(f, id);
        return sound(f) ? (hits ? 0 : 100) : 4;
    }

    return hits ? 0 : 5;
}


static void
test_open(void **state)
{
    (void) state;

    every_fault(run_open, NULL);
}


static int
run_restore(fixture_t *f, const scenario_t *s, unsigned at, int on)
{
    int           rc, hits;
    char         *text;
    FILE         *in;
    uint8_t       id[STORE_USER_BYTES];
    fixture_t     g;
    store_stat_t  stat;

    (void) s;

    ready(f, id);
    text = picture(f);

    g = *f;
    (void) strcat(g.path, "/in");
    g.options.path = g.path;

    if (store_init(&g.options, (uid_t) -1, (gid_t) -1, g.why) != STORE_OK) {
        return 1;
    }

    in = fmemopen(text, strlen(text), "r");
    assert_non_null(in);

    fault_arm(at, on);
    rc = store_restore(&g.options, in, STORE_RESTORE_SESSIONS, NULL, NULL,
                       g.why);
    hits = fault_disarm();

    if (hits && (rc == STORE_OK || g.why[0] == '\0')) {
        return 2;
    }

    if (rc != STORE_OK) {
        rewind(in);
        rc = store_restore(&g.options, in, STORE_RESTORE_SESSIONS, NULL, NULL,
                           g.why);

        if (rc != STORE_OK) {
            return 3;
        }
    }

    (void) fclose(in);
    free(text);

    if (store_open(&g.options, &g.store, g.why) != STORE_OK) {
        return 4;
    }

    if (store_stat(g.store, &stat) != STORE_OK || stat.users != 1
        || stat.live != 3 || stat.events != 4 || !sound(&g))
    {
        return 5;
    }

    fixture_remove(&g);

    return hits ? 0 : 100;
}


static void
test_restore(void **state)
{
    (void) state;

    every_fault(run_restore, NULL);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_copy_and_trim),
        cmocka_unit_test(test_reads),
        cmocka_unit_test(test_look),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_restore),
    };

    /* hundreds of stores: where syncing costs nothing, if there is such a
     * place and nobody has said otherwise */

    if (access("/dev/shm", W_OK) == 0) {
        (void) setenv("TMPDIR", "/dev/shm", 0);
    }

    return cmocka_run_group_tests(tests, NULL, NULL);
}
