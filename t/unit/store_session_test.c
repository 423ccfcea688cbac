#include "store_fixture.h"


static void
session_make(store_session_t *s)
{
    memset(s, 0, sizeof(store_session_t));
    assert_int_equal(store_realm_set(&s->realm, "default", 7), STORE_OK);
    s->created = FIXTURE_NOW;
    s->seen = FIXTURE_NOW + 100;
    s->idle = 3600;
    s->lifetime = 86400;
}


#define judge(s, now)  store_session_judge(s, "default", 7, now)


static void
test_judge_times(void **state)
{
    store_session_t  s;

    (void) state;

    session_make(&s);

    assert_int_equal(judge(&s, FIXTURE_NOW), STORE_OK);
    assert_int_equal(judge(&s, FIXTURE_NOW + 100 + 3599), STORE_OK);
    assert_int_equal(judge(&s, FIXTURE_NOW + 100 + 3600), STORE_IDLE);
    assert_int_equal(judge(&s, FIXTURE_NOW + 86399), STORE_IDLE);
    assert_int_equal(judge(&s, FIXTURE_NOW + 86400), STORE_EXPIRED);

    s.seen = FIXTURE_NOW + 86399;
    assert_int_equal(judge(&s, FIXTURE_NOW + 86399), STORE_OK);
    assert_int_equal(judge(&s, FIXTURE_NOW + 86400), STORE_EXPIRED);

    s.idle = 0;
    s.seen = FIXTURE_NOW;
    assert_int_equal(judge(&s, FIXTURE_NOW + 86399), STORE_OK);
}


static void
test_judge_clock_behind(void **state)
{
    store_session_t  s;

    (void) state;

    session_make(&s);

    assert_int_equal(judge(&s, FIXTURE_NOW - 299), STORE_OK);
    assert_int_equal(judge(&s, FIXTURE_NOW - 300), STORE_OK);
    assert_int_equal(judge(&s, FIXTURE_NOW - 301), STORE_FUTURE);
}


/* Whatever the record may hold after decoding, no sum overflows. */
static void
test_judge_extremes(void **state)
{
    store_session_t  s;

    (void) state;

    session_make(&s);
    s.created = STORE_TIME_MAX;
    s.seen = STORE_TIME_MAX;
    s.lifetime = UINT32_MAX;
    s.idle = UINT32_MAX;

    assert_int_equal(judge(&s, STORE_TIME_MAX), STORE_OK);
    assert_true(store_session_expires(&s) > STORE_TIME_MAX);
    assert_int_equal(judge(&s, 4102444800), STORE_FUTURE);
}


static void
test_judge_realm(void **state)
{
    store_session_t  s;

    (void) state;

    session_make(&s);

    assert_int_equal(store_session_judge(&s, "other", 5, FIXTURE_NOW),
                     STORE_REALM);
    assert_int_equal(store_session_judge(&s, "defaul", 6, FIXTURE_NOW),
                     STORE_REALM);
    assert_int_equal(store_session_judge(&s, "", 0, FIXTURE_NOW), STORE_REALM);

    /* an ended session of another realm says nothing about itself */

    s.end = STORE_END_REVOKED;
    assert_int_equal(store_session_judge(&s, "other", 5, FIXTURE_NOW),
                     STORE_REALM);
}


static void
test_judge_ended(void **state)
{
    size_t           i;
    store_session_t  s;

    static const struct {
        store_end_t  end;
        int          rc;
    } ends[] = {
        { STORE_END_SIGN_OUT, STORE_REVOKED },
        { STORE_END_REVOKED, STORE_REVOKED },
        { STORE_END_REPLACED, STORE_REVOKED },
        { STORE_END_LIMIT, STORE_REVOKED },
        { STORE_END_IDLE, STORE_IDLE },
        { STORE_END_EXPIRED, STORE_EXPIRED },
        { STORE_END_DISABLED, STORE_DISABLED },
        { STORE_END_DELETED, STORE_DISABLED },
        { STORE_END_PASSWORD, STORE_REVOKED },
        { STORE_END_UNCERTAIN, STORE_REVOKED },
        { (store_end_t) 31, STORE_REVOKED },
    };

    (void) state;

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        session_make(&s);
        s.end = ends[i].end;
        s.ended = FIXTURE_NOW;

        assert_int_equal(judge(&s, FIXTURE_NOW), ends[i].rc);

        /* even where the clock went back */
        assert_int_equal(judge(&s, FIXTURE_NOW - 10000), ends[i].rc);
    }
}


static void
test_expires(void **state)
{
    store_session_t  s;

    (void) state;

    session_make(&s);
    assert_int_equal(store_session_expires(&s), FIXTURE_NOW + 3700);

    s.seen = FIXTURE_NOW + 86000;
    assert_int_equal(store_session_expires(&s), FIXTURE_NOW + 86400);

    s.idle = 0;
    s.seen = FIXTURE_NOW;
    assert_int_equal(store_session_expires(&s), FIXTURE_NOW + 86400);
}


static void
test_get_absent(void **state)
{
    fixture_t       *f = *state;
    store_session_t  s;

    assert_int_equal(fixture_get(f, 1, &s), STORE_NOT_FOUND);
    assert_int_equal(store_ping(f->store), STORE_OK);
}


static void
test_record_of_sign_in(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_user_t     u;
    store_session_t  s, out;

    fixture_user(f, "ann", id);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW + 10);
    op.session = &out;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    memset(&s, 0, sizeof(s));
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);

    assert_memory_equal(s.key, op.key, STORE_KEY_BYTES);
    assert_memory_equal(s.user, id, STORE_USER_BYTES);
    assert_int_equal(s.generation, 1);
    assert_int_equal(s.created, FIXTURE_NOW + 10);
    assert_int_equal(s.seen, FIXTURE_NOW + 10);
    assert_int_equal(s.authenticated, FIXTURE_NOW + 10);
    assert_int_equal(s.ended, 0);
    assert_int_equal(s.end, STORE_END_NONE);
    assert_int_equal(s.idle, 3600);
    assert_int_equal(s.lifetime, 86400);
    assert_string_equal(s.realm.data, "default");
    assert_string_equal(s.login.data, "ann");
    assert_string_equal(s.name.data, "Ann Example");
    assert_string_equal(s.roles.data, "admin");
    assert_string_equal(s.address.data, "192.0.2.7");
    assert_string_equal(s.agent.data, "test/1.0");
    assert_string_equal(out.login.data, "ann");
    assert_memory_equal(out.key, s.key, STORE_KEY_BYTES);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.signed_in, FIXTURE_NOW + 10);
    assert_string_equal(u.phc.data, "$argon2id$fake");
}


/* what store_session_others() visits: the key of a session, zeros for own */
typedef struct {
    size_t   n;
    size_t   stop;                      /* at this visit */
    uint8_t  keys[8][STORE_KEY_BYTES];
} others_t;


static int
others_visit(const store_session_t *s, void *data)
{
    others_t  *others = data;

    assert_true(others->n < 8);
    memset(others->keys[others->n], 0, STORE_KEY_BYTES);

    if (s != NULL) {
        memcpy(others->keys[others->n], s->key, STORE_KEY_BYTES);
    }

    return ++others->n == others->stop ? 55 : 0;
}


static void
test_list_newest_first(void **state)
{
    size_t           i, n;
    uint8_t          id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    uint8_t          key[STORE_KEY_BYTES];
    others_t         others;
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  list[8];

    fixture_user(f, "ann", id);
    fixture_user(f, "bob", other);

    for (i = 1; i <= 5; i++) {
        assert_int_equal(fixture_sign_in(f, id, (unsigned) i, FIXTURE_NOW),
                         STORE_OK);
        assert_int_equal(fixture_sign_in(f, other, 100 + (unsigned) i,
                                         FIXTURE_NOW),
                         STORE_OK);
    }

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW);
    fixture_key(op.key, 3);
    op.end = STORE_END_REVOKED;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    n = 8;
    assert_int_equal(store_session_list(f->store, id, list, &n), STORE_OK);
    assert_int_equal(n, 4);

    for (i = 0; i < n; i++) {
        static const unsigned  order[] = { 5, 4, 2, 1 };

        fixture_key(key, order[i]);
        assert_memory_equal(list[i].key, key, STORE_KEY_BYTES);
        assert_memory_equal(list[i].user, id, STORE_USER_BYTES);
    }

    others = (others_t) { 0 };
    fixture_key(key, 4);
    assert_int_equal(store_session_others(f->store, id, key, others_visit,
                                          &others),
                     STORE_OK);
    assert_int_equal(others.n, 4);
    memset(list[1].key, 0, STORE_KEY_BYTES);

    for (i = 0; i < n; i++) {
        assert_memory_equal(others.keys[i], list[i].key, STORE_KEY_BYTES);
    }

    for (others.stop = 1; others.stop <= 4; others.stop++) {
        others.n = 0;
        assert_int_equal(store_session_others(f->store, id, key, others_visit,
                                              &others),
                         55);
        assert_int_equal(others.n, others.stop);
    }

    n = 2;
    assert_int_equal(store_session_list(f->store, id, list, &n), STORE_OK);
    assert_int_equal(n, 2);
    fixture_key(key, 5);
    assert_memory_equal(list[0].key, key, STORE_KEY_BYTES);

    n = 0;
    assert_int_equal(store_session_list(f->store, id, list, &n), STORE_OK);
    assert_int_equal(n, 0);

    memset(id, 0xff, sizeof(id));
    n = 8;
    assert_int_equal(store_session_list(f->store, id, list, &n), STORE_OK);
    assert_int_equal(n, 0);
}


static int
count_visit(const store_session_t *s, void *data)
{
    unsigned  *n = data;

    (void) s;

    return ++*n == 1000 ? 55 : 0;
}


static int
order_visit(const store_session_t *s, void *data)
{
    uint8_t  *last = data;

    if (memcmp(last, s->key, STORE_KEY_BYTES) >= 0) {
        return 1;
    }

    memcpy(last, s->key, STORE_KEY_BYTES);

    return 0;
}


static void
test_each_over_many(void **state)
{
    unsigned     i, n;
    uint8_t      id[STORE_USER_BYTES], last[STORE_KEY_BYTES] = { 0 };
    char         login[16];
    fixture_t   *f = *state;
    store_op_t  *all, *ops[STORE_BATCH_MAX];

    /* more than one part of a walk, and not a multiple of it */

    all = calloc(STORE_BATCH_MAX, sizeof(store_op_t));
    assert_non_null(all);

    for (i = 0; i < 300; i++) {

        if (i % 60 == 0) {
            (void) snprintf(login, sizeof(login), "user%u", i);
            fixture_user(f, login, id);
        }

        fixture_sign_in_op(&all[i % STORE_BATCH_MAX], id, i + 1, FIXTURE_NOW);
        all[i % STORE_BATCH_MAX].limit = 64;
        ops[i % STORE_BATCH_MAX] = &all[i % STORE_BATCH_MAX];

        if (i % STORE_BATCH_MAX == STORE_BATCH_MAX - 1 || i == 299) {
            assert_int_equal(store_batch_apply(f->store, ops,
                                               i % STORE_BATCH_MAX + 1),
                             STORE_OK);
        }
    }

    free(all);

    n = 0;
    assert_int_equal(store_session_each(f->store, count_visit, &n), STORE_OK);
    assert_int_equal(n, 300);

    assert_int_equal(store_session_each(f->store, order_visit, last),
                     STORE_OK);

    /* a visitor that has had enough */

    n = 990;
    assert_int_equal(store_session_each(f->store, count_visit, &n), 55);
    assert_int_equal(n, 1000);
}


static void
test_find_by_ref(void **state)
{
    char             ref[STORE_REF_CHARS + 1];
    uint8_t          id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);

    fixture_key(key, 2);
    store_key_ref(key, ref);

    assert_int_equal(store_session_find(f->store, ref, STORE_REF_CHARS, &s),
                     STORE_OK);
    assert_memory_equal(s.key, key, STORE_KEY_BYTES);

    fixture_key(key, 3);
    store_key_ref(key, ref);
    assert_int_equal(store_session_find(f->store, ref, STORE_REF_CHARS, &s),
                     STORE_NOT_FOUND);
    assert_int_equal(store_session_find(f->store, ref, STORE_REF_CHARS - 1,
                                        &s),
                     STORE_MALFORMED);
    assert_int_equal(store_session_find(f->store, "!!!!!!!!!!!!",
                                        STORE_REF_CHARS, &s),
                     STORE_MALFORMED);
}


/* LMDB hands out what the disk has; a flipped bit there must not let in. */
static void
test_damaged_record(void **state)
{
    size_t           i;
    uint8_t          id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    uint8_t          buf[STORE_RECORD_MAX];
    unsigned         n;
    MDB_txn         *txn;
    MDB_val          value;
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    fixture_key(key, 1);

    assert_int_equal(store_write_begin(f->store->sessions, &txn), STORE_OK);
    assert_int_equal(store_db_get(txn, f->store->sessions->db[STORE_SESSION],
                                  key, sizeof(key), &value),
                     STORE_OK);
    i = value.mv_size;
    memcpy(buf, value.mv_data, i);
    buf[10] ^= 4;
    assert_int_equal(store_db_put(txn, f->store->sessions->db[STORE_SESSION],
                                  key, sizeof(key), buf, i, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_int_equal(fixture_get(f, 1, &s), STORE_CORRUPT);
    assert_int_equal(fixture_get(f, 2, &s), STORE_OK);

    /* a walk tells, and shows the others all the same */

    n = 0;
    fixture_key(key, 99);
    assert_int_equal(store_session_others(f->store, id, key, count_visit, &n),
                     STORE_CORRUPT);
    assert_int_equal(n, 1);

    n = 0;
    assert_int_equal(store_session_each(f->store, count_visit, &n),
                     STORE_CORRUPT);
    assert_int_equal(n, 1);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_judge_times),
        cmocka_unit_test(test_judge_clock_behind),
        cmocka_unit_test(test_judge_extremes),
        cmocka_unit_test(test_judge_realm),
        cmocka_unit_test(test_judge_ended),
        cmocka_unit_test(test_expires),
        cmocka_unit_test_setup_teardown(test_get_absent, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_record_of_sign_in, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_list_newest_first, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_each_over_many, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_find_by_ref, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_damaged_record, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
