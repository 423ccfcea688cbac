#include "store_fixture.h"


#define EVENTS_MAX  64


typedef struct {
    size_t         n;
    store_event_t  rows[EVENTS_MAX];
} rows_t;


static int
rows_visit(const store_event_t *e, void *data)
{
    rows_t  *rows = data;

    assert_true(rows->n < EVENTS_MAX);
    rows->rows[rows->n++] = *e;

    return 0;
}


static void
events_of(fixture_t *f, rows_t *rows)
{
    rows->n = 0;
    assert_int_equal(store_event_each(f->store, 0, rows_visit, rows),
                     STORE_OK);
}


static void
changes_of(fixture_t *f, rows_t *rows)
{
    rows->n = 0;
    assert_int_equal(store_change_each(f->store, 0, NULL, rows_visit, rows),
                     STORE_OK);
}


static int
add(fixture_t *f, store_event_t *e, int aggregate)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_EVENT, FIXTURE_NOW);
    op.event = e;
    op.aggregate = aggregate != 0;

    return fixture_apply(f, &op);
}


static void
failed_event(store_event_t *e, const char *login, const char *address,
    int64_t time)
{
    memset(e, 0, sizeof(store_event_t));
    e->type = STORE_EVENT_SIGN_IN_FAILED;
    e->actor = STORE_BY_USER;
    e->reason = STORE_BAD_PASSWORD;
    e->time = time;
    assert_int_equal(store_realm_set(&e->realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&e->login, login, strlen(login)),
                     STORE_OK);
    assert_int_equal(store_text_set(&e->address, address, strlen(address)),
                     STORE_OK);
}


static void
copy_all(fixture_t *f)
{
    int  more;

    do {
        assert_int_equal(store_events_copy(f->store, 100, &more), STORE_OK);
    } while (more);
}


/* Every change has its row, in order, and every row that touches a session
 * names it. */
static void
test_feed_of_changes(void **state)
{
    size_t       i;
    uint8_t      id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    rows_t       rows;
    fixture_t   *f = *state;
    store_op_t   op;

    static const struct {
        store_event_type_t  type;
        int                 key;
        store_end_t         end;
        uint64_t            generation;
    } expected[] = {
        { STORE_EVENT_USER_CREATED, 0, STORE_END_NONE, 1 },
        { STORE_EVENT_SIGN_IN, 1, STORE_END_NONE, 1 },
        { STORE_EVENT_SIGN_IN, 2, STORE_END_NONE, 1 },
        { STORE_EVENT_USER_ROLES, 0, STORE_END_NONE, 1 },
        { STORE_EVENT_USER_ROLES, 1, STORE_END_NONE, 1 },
        { STORE_EVENT_USER_ROLES, 2, STORE_END_NONE, 1 },
        { STORE_EVENT_USER_PASSWORD, 0, STORE_END_NONE, 2 },
        { STORE_EVENT_SESSION_END, 1, STORE_END_PASSWORD, 1 },
        { STORE_EVENT_USER_PASSWORD, 2, STORE_END_NONE, 2 },
        { STORE_EVENT_USER_DISABLED, 0, STORE_END_NONE, 3 },
        { STORE_EVENT_SESSION_END, 2, STORE_END_DISABLED, 2 },
        { STORE_EVENT_USER_ENABLED, 0, STORE_END_NONE, 4 },
        { STORE_EVENT_USER_DELETED, 0, STORE_END_NONE, 5 },
    };

    static const store_op_kind_t  kinds[] = {
        STORE_OP_USER_ROLES, STORE_OP_USER_PASSWORD, STORE_OP_USER_DISABLE,
        STORE_OP_USER_ENABLE, STORE_OP_USER_DELETE
    };

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fixture_op(&op, kinds[i], FIXTURE_NOW + 1);
        memcpy(op.user, id, STORE_USER_BYTES);

        if (kinds[i] == STORE_OP_USER_PASSWORD) {
            fixture_key(op.key, 2);
        }

        assert_int_equal(fixture_apply(f, &op), STORE_OK);
    }

    changes_of(f, &rows);
    assert_int_equal(rows.n, sizeof(expected) / sizeof(expected[0]));

    for (i = 0; i < rows.n; i++) {
        memset(key, 0, sizeof(key));

        if (expected[i].key) {
            fixture_key(key, (unsigned) expected[i].key);
        }

        assert_int_equal(rows.rows[i].seq, i + 1);
        assert_int_equal(rows.rows[i].type, expected[i].type);
        assert_int_equal(rows.rows[i].end, expected[i].end);
        assert_int_equal(rows.rows[i].generation, expected[i].generation);
        assert_memory_equal(rows.rows[i].key, key, STORE_KEY_BYTES);
        assert_memory_equal(rows.rows[i].user, id, STORE_USER_BYTES);
        assert_string_equal(rows.rows[i].login.data, "ann");
        assert_string_equal(rows.rows[i].address.data, "192.0.2.7");
        assert_string_equal(rows.rows[i].agent.data, "test/1.0");
    }

    /* the audit has each once, without those for caches */

    copy_all(f);
    events_of(f, &rows);
    assert_int_equal(rows.n, 10);
    fixture_sound(f);
}


static void
test_change_each_after(void **state)
{
    uint8_t     id[STORE_USER_BYTES];
    rows_t      rows;
    uint64_t    first;
    fixture_t  *f = *state;

    rows.n = 0;
    assert_int_equal(store_change_each(f->store, 0, &first, rows_visit, &rows),
                     STORE_OK);
    assert_int_equal(rows.n, 0);
    assert_int_equal(first, 1);

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_int_equal(store_change_each(f->store, 1, &first, rows_visit, &rows),
                     STORE_OK);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.rows[0].seq, 2);
    assert_int_equal(first, 1);

    assert_int_equal(store_change_each(f->store, 2, NULL, rows_visit, &rows),
                     STORE_OK);
    assert_int_equal(rows.n, 1);
    assert_int_equal(store_change_each(f->store, UINT64_MAX, NULL, rows_visit,
                                       &rows),
                     STORE_OK);
    assert_int_equal(rows.n, 1);
}


static void
test_copy_is_idempotent(void **state)
{
    int            more;
    uint8_t        id[STORE_USER_BYTES];
    rows_t         rows;
    fixture_t     *f = *state;
    store_stat_t   stat;

    assert_int_equal(store_events_copy(f->store, 10, &more), STORE_OK);
    assert_int_equal(more, 0);

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);

    assert_int_equal(store_events_copy(f->store, 2, &more), STORE_OK);
    assert_int_equal(more, 1);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_copied, 2);
    assert_int_equal(stat.events, 2);

    assert_int_equal(store_events_copy(f->store, 2, &more), STORE_OK);
    assert_int_equal(more, 0);
    assert_int_equal(store_events_copy(f->store, 2, &more), STORE_OK);
    assert_int_equal(store_events_copy(f->store, 0, &more), STORE_OK);

    events_of(f, &rows);
    assert_int_equal(rows.n, 3);
    assert_int_equal(rows.rows[2].type, STORE_EVENT_SIGN_IN);
    assert_int_equal(rows.rows[2].seq, 3);
    assert_string_equal(rows.rows[2].address.data, "192.0.2.7");

    fixture_sound(f);
}


static void
test_list_of_a_user(void **state)
{
    size_t         n;
    uint8_t        id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    fixture_t     *f = *state;
    store_event_t  list[8];

    fixture_user(f, "ann", id);
    fixture_user(f, "bob", other);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW + 1), STORE_OK);
    assert_int_equal(fixture_sign_in(f, other, 2, FIXTURE_NOW + 2), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 3, FIXTURE_NOW + 3), STORE_OK);
    copy_all(f);

    n = 8;
    assert_int_equal(store_event_list(f->store, id, 0, list, &n), STORE_OK);
    assert_int_equal(n, 3);
    assert_int_equal(list[0].time, FIXTURE_NOW + 3);
    assert_int_equal(list[1].time, FIXTURE_NOW + 1);
    assert_int_equal(list[2].type, STORE_EVENT_USER_CREATED);

    n = 8;
    assert_int_equal(store_event_list(f->store, id, 1U << STORE_EVENT_SIGN_IN,
                                      list, &n),
                     STORE_OK);
    assert_int_equal(n, 2);

    n = 1;
    assert_int_equal(store_event_list(f->store, id, 0, list, &n), STORE_OK);
    assert_int_equal(n, 1);
    assert_int_equal(list[0].time, FIXTURE_NOW + 3);

    n = 8;
    assert_int_equal(store_event_list(f->store, id,
                                      1U << STORE_EVENT_REFUSED, list, &n),
                     STORE_OK);
    assert_int_equal(n, 0);
}


static void
test_list_is_bounded(void **state)
{
    size_t         i, n;
    fixture_t     *f = *state;
    store_op_t    *ops, *batch[STORE_BATCH_MAX];
    store_event_t  e, *list;

    ops = calloc(STORE_BATCH_MAX, sizeof(store_op_t));
    list = calloc(4, sizeof(store_event_t));
    assert_non_null(ops);
    assert_non_null(list);

    failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW);
    memset(e.user, 1, STORE_USER_BYTES);

    for (i = 0; i < STORE_BATCH_MAX; i++) {
        fixture_op(&ops[i], STORE_OP_EVENT, FIXTURE_NOW);
        ops[i].event = &e;
        batch[i] = &ops[i];
    }

    e.type = STORE_EVENT_USER_NAME;
    assert_int_equal(store_batch_apply(f->store, batch, 1), STORE_OK);
    e.type = STORE_EVENT_SIGN_IN_FAILED;

    for (i = 0; i < 3; i++) {
        assert_int_equal(store_batch_apply(f->store, batch, STORE_BATCH_MAX),
                         STORE_OK);
    }

    assert_int_equal(store_batch_apply(f->store, batch, 1000 - 1 - 3 * 256),
                     STORE_OK);

    /* the 1000th row is looked at, the next is not */

    n = 4;
    assert_int_equal(store_event_list(f->store, e.user,
                                      1U << STORE_EVENT_USER_NAME, list, &n),
                     STORE_OK);
    assert_int_equal(n, 1);

    assert_int_equal(store_batch_apply(f->store, batch, 1), STORE_OK);

    n = 4;
    assert_int_equal(store_event_list(f->store, e.user,
                                      1U << STORE_EVENT_USER_NAME, list, &n),
                     STORE_OK);
    assert_int_equal(n, 0);

    free(ops);
    free(list);
}


static void
test_aggregate(void **state)
{
    rows_t         rows;
    fixture_t     *f = *state;
    store_event_t  e;

    failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW - FIXTURE_NOW % 60);
    assert_int_equal(add(f, &e, 1), STORE_OK);

    /* the same minute, account and address */

    e.time += 59;
    assert_int_equal(add(f, &e, 1), STORE_OK);
    e.count = 5;
    assert_int_equal(store_text_set(&e.login, "ANN", 3), STORE_OK);
    assert_int_equal(add(f, &e, 1), STORE_OK);

    events_of(f, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.rows[0].count, 7);
    assert_int_equal(rows.rows[0].time, FIXTURE_NOW - FIXTURE_NOW % 60);

    /* and what makes it another */

    e.count = 1;
    e.time += 1;
    assert_int_equal(add(f, &e, 1), STORE_OK);

    e.reason = STORE_DISABLED;
    assert_int_equal(add(f, &e, 1), STORE_OK);

    assert_int_equal(store_text_set(&e.login, "bob", 3), STORE_OK);
    assert_int_equal(add(f, &e, 1), STORE_OK);

    assert_int_equal(store_realm_set(&e.realm, "other", 5), STORE_OK);
    assert_int_equal(add(f, &e, 1), STORE_OK);

    assert_int_equal(store_text_set(&e.address, "192.0.2.2", 9), STORE_OK);
    assert_int_equal(add(f, &e, 1), STORE_OK);

    e.type = STORE_EVENT_REFUSED;
    assert_int_equal(add(f, &e, 1), STORE_OK);

    events_of(f, &rows);
    assert_int_equal(rows.n, 7);

    /* not asked to be counted together */

    assert_int_equal(add(f, &e, 0), STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 8);

    fixture_sound(f);
}


static void
test_aggregate_addresses(void **state)
{
    size_t         i;
    rows_t         rows;
    fixture_t     *f = *state;
    store_event_t  e;

    static const struct {
        const char  *address;
        size_t       n;         /* rows there are then */
    } steps[] = {
        { "2001:db8:1:2::1", 1 },
        { "2001:db8:1:2:ffff::9", 1 },          /* the same /64 */
        { "2001:db8:1:3::1", 2 },
        { "192.0.2.1", 3 },
        { "192.0.2.2", 4 },
        { "::ffff:192.0.2.1", 4 },              /* the same IPv4 */
        { "unix:", 5 },
        { "unix:", 5 },
        { "", 6 },
        { "", 6 },
    };

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        failed_event(&e, "ann", steps[i].address, FIXTURE_NOW);
        assert_int_equal(add(f, &e, 1), STORE_OK);
        events_of(f, &rows);
        assert_int_equal(rows.n, steps[i].n);
    }
}


static void
test_aggregate_saturates(void **state)
{
    rows_t         rows;
    fixture_t     *f = *state;
    store_event_t  e;

    failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW);
    e.count = UINT32_MAX - 1;
    assert_int_equal(add(f, &e, 1), STORE_OK);
    e.count = 5;
    assert_int_equal(add(f, &e, 1), STORE_OK);

    events_of(f, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.rows[0].count, UINT32_MAX);
}


static void
test_event_refused(void **state)
{
    rows_t         rows;
    fixture_t     *f = *state;
    store_event_t  e;

    assert_int_equal(add(f, NULL, 0), STORE_INVALID);

    failed_event(&e, "ann", "192.0.2.1", -5);
    assert_int_equal(add(f, &e, 0), STORE_INVALID);

    failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW);
    e.type = 0;
    assert_int_equal(add(f, &e, 0), STORE_INVALID);
    assert_int_equal(add(f, &e, 1), STORE_INVALID);

    events_of(f, &rows);
    assert_int_equal(rows.n, 0);
}


static void
test_trim(void **state)
{
    unsigned       i;
    rows_t         rows;
    fixture_t     *f = *state;
    store_event_t  e;

    for (i = 0; i < 10; i++) {
        failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW + 1000 - 60 * i);
        memset(e.user, 1, i % 2 ? STORE_USER_BYTES : 0);
        assert_int_equal(add(f, &e, i < 5), STORE_OK);
    }

    assert_int_equal(store_events_trim(f->store, 0, 100), STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 10);

    /* by time, not by sequence; bounded; what has that very time stays */

    assert_int_equal(store_events_trim(f->store, FIXTURE_NOW + 700, 2),
                     STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 8);
    fixture_sound(f);

    assert_int_equal(store_events_trim(f->store, FIXTURE_NOW + 700, 100),
                     STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 6);
    assert_int_equal(rows.rows[5].time, FIXTURE_NOW + 700);
    fixture_sound(f);

    assert_int_equal(store_events_trim(f->store, FIXTURE_NOW + 5000, 100),
                     STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 0);
    fixture_sound(f);

    /* sequences go on, groups begin anew */

    failed_event(&e, "ann", "192.0.2.1", FIXTURE_NOW + 1000);
    assert_int_equal(add(f, &e, 1), STORE_OK);
    events_of(f, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.rows[0].seq, 11);
    assert_int_equal(rows.rows[0].count, 1);
    fixture_sound(f);
}


/* Of the rows that were copied some stay; of the others all do. */
static void
test_retention(void **state)
{
    int            more;
    unsigned       i;
    uint8_t        id[STORE_USER_BYTES];
    rows_t         rows;
    uint64_t       first;
    fixture_t     *f = *state;
    store_stat_t   stat;

    f->store->change_keep = 4;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 9; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
    }

    assert_int_equal(store_events_copy(f->store, 3, &more), STORE_OK);
    assert_int_equal(more, 1);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_first, 4);
    assert_int_equal(stat.change_last, 10);
    assert_int_equal(stat.change_lost, 0);

    copy_all(f);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_first, 7);
    assert_int_equal(stat.change_lost, 0);

    rows.n = 0;
    assert_int_equal(store_change_each(f->store, 0, &first, rows_visit, &rows),
                     STORE_OK);
    assert_int_equal(rows.n, 4);
    assert_int_equal(first, 7);

    events_of(f, &rows);
    assert_int_equal(rows.n, 10);
    fixture_sound(f);
}


/* A small quota is for sessions, not for their history. */
static void
test_retention_follows_quota(void **state)
{
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    f.options.quota = 1 << 20;

    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_OK);
    assert_int_equal(store_open(&f.options, &f.store, f.why), STORE_OK);
    assert_int_equal(f.store->change_keep, 512);
    assert_int_equal(f.store->change_hard_max, 2048);

    fixture_remove(&f);
}


/* The events cannot be written for long: the feed is cut, and says so. */
static void
test_hard_bound(void **state)
{
    int           more;
    unsigned      i;
    uint8_t       id[STORE_USER_BYTES];
    rows_t        rows;
    fixture_t    *f = *state;
    store_stat_t  stat;

    f->store->change_hard_max = 5;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 9; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
    }

    /* none is copied, as when they cannot be */

    assert_int_equal(store_events_copy(f->store, 0, &more), STORE_OK);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_first, 6);
    assert_int_equal(stat.change_last, 10);
    assert_int_equal(stat.change_lost, 5);

    assert_int_equal(store_events_copy(f->store, 0, &more), STORE_OK);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_lost, 5);

    /* those that are left come through */

    copy_all(f);
    events_of(f, &rows);
    assert_int_equal(rows.n, 5);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_copied, 10);
    fixture_sound(f);
}


/* However little may be kept, sequences are never given out twice. */
static void
test_last_row_stays(void **state)
{
    int           more;
    unsigned      i;
    uint8_t       id[STORE_USER_BYTES];
    fixture_t    *f = *state;
    store_stat_t  stat;

    f->store->change_keep = 0;
    f->store->change_hard_max = 0;
    fixture_user(f, "ann", id);

    for (i = 1; i <= 4; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
        assert_int_equal(store_events_copy(f->store, i % 2 * 100, &more),
                         STORE_OK);

        assert_int_equal(store_stat(f->store, &stat), STORE_OK);
        assert_int_equal(stat.change_last, i + 1);
        assert_int_equal(stat.change_first, i + 1);
    }
}


/* The sessions were put back to a backup and the events were not. */
static void
test_feed_went_back(void **state)
{
    int           more;
    uint8_t       id[STORE_USER_BYTES];
    rows_t        rows;
    fixture_t    *f = *state;
    MDB_txn      *txn;
    store_stat_t  stat;

    fixture_user(f, "ann", id);

    assert_int_equal(store_write_begin(f->store->events, &txn), STORE_OK);
    assert_int_equal(store_meta_put(txn, f->store->events->db[STORE_META],
                                    "copied", 50),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_int_equal(store_events_copy(f->store, 10, &more), STORE_OK);
    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.change_copied, 1);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(store_events_copy(f->store, 10, &more), STORE_OK);

    events_of(f, &rows);
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.rows[0].type, STORE_EVENT_SIGN_IN);
}


static void
test_stat(void **state)
{
    uint8_t       id[STORE_USER_BYTES];
    fixture_t    *f = *state;
    store_stat_t  stat;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    copy_all(f);

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.sessions, 1);
    assert_int_equal(stat.live, 1);
    assert_int_equal(stat.users, 1);
    assert_int_equal(stat.change_first, 1);
    assert_int_equal(stat.change_last, 2);
    assert_int_equal(stat.change_copied, 2);
    assert_int_equal(stat.events, 2);
    assert_true(stat.sessions_bytes >= 7 * 4096);
    assert_true(stat.events_bytes >= 4 * 4096);
    assert_int_equal(stat.map_bytes, FIXTURE_MAP);
    assert_int_equal(stat.readers_max, STORE_READERS_MAX);
    assert_true(stat.readers >= 1 && stat.readers <= 2);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_feed_of_changes),
        with_store(test_change_each_after),
        with_store(test_copy_is_idempotent),
        with_store(test_list_of_a_user),
        with_store(test_list_is_bounded),
        with_store(test_aggregate),
        with_store(test_aggregate_addresses),
        with_store(test_aggregate_saturates),
        with_store(test_event_refused),
        with_store(test_trim),
        with_store(test_retention),
        cmocka_unit_test(test_retention_follows_quota),
        with_store(test_hard_bound),
        with_store(test_last_row_stays),
        with_store(test_feed_went_back),
        with_store(test_stat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
