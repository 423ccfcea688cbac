#include "store_fixture.h"


#define TOMBSTONE  ((int64_t) STORE_TOMBSTONE_SECONDS)


static uint32_t
sweep(fixture_t *f, int64_t now, uint32_t max)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_SWEEP, now);
    op.actor = STORE_BY_SERVER;
    op.address.len = 0;
    op.agent.len = 0;
    op.max = max;

    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    return op.count;
}


static void
touch(fixture_t *f, unsigned n, int64_t now)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_TOUCH, now);
    fixture_key(op.key, n);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
}


static void
test_nothing_due(void **state)
{
    uint8_t     id[STORE_USER_BYTES];
    fixture_t  *f = *state;

    assert_int_equal(sweep(f, FIXTURE_NOW, 100), 0);

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_int_equal(sweep(f, FIXTURE_NOW + 3599, 100), 0);
    assert_int_equal(sweep(f, FIXTURE_NOW + 3600, 0), 0);
}


static void
test_moves_what_was_seen(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    touch(f, 1, FIXTURE_NOW + 3000);

    assert_int_equal(sweep(f, FIXTURE_NOW + 3600, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);
    fixture_sound(f);

    /* due again at seen and idle */

    assert_int_equal(sweep(f, FIXTURE_NOW + 6599, 100), 0);
    assert_int_equal(sweep(f, FIXTURE_NOW + 6600, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_IDLE);
    assert_int_equal(s.ended, FIXTURE_NOW + 6600);
    fixture_sound(f);
}


static void
test_ends_at_lifetime(void **state)
{
    int64_t          at;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    for (at = FIXTURE_NOW + 3000; at < FIXTURE_NOW + 86400; at += 3000) {
        touch(f, 1, at);
    }

    assert_int_equal(sweep(f, FIXTURE_NOW + 86399, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);

    assert_int_equal(sweep(f, FIXTURE_NOW + 86400, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_EXPIRED);
    fixture_sound(f);
}


/* A day after it would have expired, and not before. */
static void
test_deletes_tombstones(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_stat_t     stat;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW + 10);
    fixture_key(op.key, 1);
    op.end = STORE_END_SIGN_OUT;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(sweep(f, FIXTURE_NOW + 3600, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_SIGN_OUT);
    fixture_sound(f);

    assert_int_equal(sweep(f, FIXTURE_NOW + 3600 + TOMBSTONE - 1, 100), 0);
    assert_int_equal(sweep(f, FIXTURE_NOW + 3600 + TOMBSTONE, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_NOT_FOUND);

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.sessions, 0);
    assert_int_equal(stat.live, 0);
    fixture_sound(f);
}


/* The server was off for long: ended, with its row, and then deleted. */
static void
test_long_overdue(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_stat_t     before, after;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(store_stat(f->store, &before), STORE_OK);

    assert_int_equal(sweep(f, FIXTURE_NOW + 100 * 86400, 1), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_EXPIRED);

    assert_int_equal(store_stat(f->store, &after), STORE_OK);
    assert_int_equal(after.change_last, before.change_last + 1);
    fixture_sound(f);

    assert_int_equal(sweep(f, FIXTURE_NOW + 100 * 86400, 100), 1);
    assert_int_equal(fixture_get(f, 1, &s), STORE_NOT_FOUND);
    fixture_sound(f);
}


static void
test_is_bounded(void **state)
{
    unsigned      i;
    uint8_t       id[STORE_USER_BYTES];
    fixture_t    *f = *state;
    store_stat_t  stat;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 10; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW + i), STORE_OK);
    }

    assert_int_equal(sweep(f, FIXTURE_NOW + 3605, 3), 3);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.live, 7);

    assert_int_equal(sweep(f, FIXTURE_NOW + 3605, 100), 2);
    assert_int_equal(sweep(f, FIXTURE_NOW + 3605, 100), 0);
    assert_int_equal(sweep(f, FIXTURE_NOW + 3610, 100), 5);

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.live, 0);
    assert_int_equal(stat.sessions, 10);
    fixture_sound(f);
}


static int
last_visit(const store_event_t *e, void *data)
{
    store_event_t  *last = data;

    *last = *e;

    return 0;
}


static void
test_row_of_an_end(void **state)
{
    uint8_t        id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    fixture_t     *f = *state;
    store_event_t  e;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(sweep(f, FIXTURE_NOW + 3600, 100), 1);

    assert_int_equal(store_change_each(f->store, 0, NULL, last_visit, &e),
                     STORE_OK);

    fixture_key(key, 1);
    assert_int_equal(e.type, STORE_EVENT_SESSION_END);
    assert_int_equal(e.actor, STORE_BY_SERVER);
    assert_int_equal(e.end, STORE_END_IDLE);
    assert_int_equal(e.time, FIXTURE_NOW + 3600);
    assert_memory_equal(e.user, id, STORE_USER_BYTES);
    assert_memory_equal(e.key, key, STORE_KEY_BYTES);
    assert_string_equal(e.login.data, "ann");
    assert_int_equal(e.address.len, 0);
}


/* A record that does not decode is put off; what stands behind it is swept. */
static void
test_steps_over_damage(void **state)
{
    uint8_t       id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    MDB_txn      *txn;
    fixture_t    *f = *state;
    store_stat_t  stat;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW + 1), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 3, FIXTURE_NOW + 2), STORE_OK);

    assert_int_equal(store_write_begin(f->store->sessions, &txn), STORE_OK);
    fixture_key(key, 1);
    assert_int_equal(store_db_put(txn, f->store->sessions->db[STORE_SESSION],
                                  key, sizeof(key), "junk", 4, 0),
                     STORE_OK);
    fixture_key(key, 2);
    assert_int_equal(store_db_del(txn, f->store->sessions->db[STORE_SESSION],
                                  key, sizeof(key)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_int_equal(sweep(f, FIXTURE_NOW + 4000, 1), 1);
    assert_int_equal(sweep(f, FIXTURE_NOW + 4000, 100), 2);
    assert_int_equal(sweep(f, FIXTURE_NOW + 4000, 100), 0);

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.live, 2);     /* entries of the two damaged ones */
    assert_int_equal(stat.sessions, 2);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_nothing_due),
        with_store(test_moves_what_was_seen),
        with_store(test_ends_at_lifetime),
        with_store(test_deletes_tombstones),
        with_store(test_long_overdue),
        with_store(test_is_bounded),
        with_store(test_row_of_an_end),
        with_store(test_steps_over_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
