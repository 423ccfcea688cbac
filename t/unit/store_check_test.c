#include "store_fixture.h"


/* What the check said, all in one. */
typedef struct {
    unsigned  n;
    char      text[8192];
} said_t;

static said_t  said;


static int
say(const char *problem, void *data)
{
    (void) data;

    said.n++;
    (void) snprintf(said.text + strlen(said.text),
                    sizeof(said.text) - strlen(said.text), "%s\n", problem);

    return 0;
}


static int
enough(const char *problem, void *data)
{
    (void) problem;
    (void) data;

    return 42;
}


static uint64_t
check(fixture_t *f)
{
    uint64_t  problems;

    memset(&said, 0, sizeof(said));
    assert_int_equal(store_check(f->store, say, NULL, &problems), STORE_OK);
    assert_int_equal(problems, said.n);

    return problems;
}


static void
begin(fixture_t *f, int events, MDB_txn **txn, const MDB_dbi **db)
{
    store_env_t  *env;

    env = events ? f->store->events : f->store->sessions;
    assert_int_equal(store_write_begin(env, txn), STORE_OK);
    *db = env->db;
}


/* A user, three sessions of which one has ended, and their events. */
static void
fill(fixture_t *f, uint8_t id[STORE_USER_BYTES])
{
    int            more;
    store_op_t     op;
    store_event_t  e;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 3, FIXTURE_NOW), STORE_OK);

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW);
    fixture_key(op.key, 3);
    op.end = STORE_END_SIGN_OUT;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(store_events_copy(f->store, 100, &more), STORE_OK);

    memset(&e, 0, sizeof(e));
    e.type = STORE_EVENT_SIGN_IN_FAILED;
    e.time = FIXTURE_NOW;
    fixture_op(&op, STORE_OP_EVENT, FIXTURE_NOW);
    op.event = &e;
    op.aggregate = 1;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(check(f), 0);
}


static void
expect(fixture_t *f, const char *words)
{
    assert_true(check(f) >= 1);

    if (strstr(said.text, words) == NULL) {
        fail_msg("expected \"%s\" in:\n%s", words, said.text);
    }
}


static void
test_sound(void **state)
{
    uint8_t     id[STORE_USER_BYTES];
    uint64_t    problems;
    fixture_t  *f = *state;

    assert_int_equal(check(f), 0);
    fill(f, id);

    /* without anybody to tell */

    assert_int_equal(store_check(f->store, NULL, NULL, &problems), STORE_OK);
    assert_int_equal(problems, 0);
}


static void
test_session_indexes(void **state)
{
    uint8_t         id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    uint8_t         index[STORE_INDEX_BYTES];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    /* a live one that its user's index does not have */

    begin(f, 0, &txn, &db);
    fixture_key(key, 1);
    store_index_key(index, id, key);
    assert_int_equal(store_db_del(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "live and not in session_by_user");

    /* a tombstone that it has */

    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    fixture_key(key, 3);
    store_index_key(index, id, key);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "ended and still in session_by_user");
    assert_int_equal(said.n, 1);

    /* an entry of another user, and one of nothing */

    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_del(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index)),
                     STORE_OK);
    index[0] ^= 1;
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    fixture_key(key, 77);
    store_index_key(index, id, key);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "belongs to another user");
    expect(f, "session_by_user: no session");
    assert_int_equal(said.n, 2);
}


static void
test_expiry_index(void **state)
{
    uint8_t         id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    uint8_t         index[STORE_INDEX_BYTES];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);
    fixture_key(key, 3);

    begin(f, 0, &txn, &db);
    store_expiry_key(index, FIXTURE_NOW + 3600, key);
    assert_int_equal(store_db_del(txn, db[STORE_SESSION_BY_EXPIRY], index,
                                  sizeof(index)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "not in session_by_expiry");

    begin(f, 0, &txn, &db);
    store_expiry_key(index, FIXTURE_NOW + 3601, key);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_EXPIRY], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    fixture_key(key, 99);
    store_expiry_key(index, FIXTURE_NOW + 3601, key);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_EXPIRY], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "under a wrong time");
    expect(f, "session_by_expiry: no session");

    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_EXPIRY], "short", 5,
                                  NULL, 0, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "session_by_expiry: a key of 5 bytes");
}


static void
put_session(fixture_t *f, unsigned n, void (*change)(store_live_t *live))
{
    size_t          len;
    uint8_t         key[STORE_KEY_BYTES], buf[STORE_RECORD_MAX];
    MDB_txn        *txn;
    MDB_val         value;
    const MDB_dbi  *db;
    store_live_t    live;

    fixture_key(key, n);
    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_get(txn, db[STORE_SESSION], key, sizeof(key),
                                  &value),
                     STORE_OK);
    assert_int_equal(store_session_decode(key, value.mv_data, value.mv_size,
                                          &live.session, &live.indexed),
                     STORE_OK);
    change(&live);
    assert_int_equal(store_session_encode(&live, buf, &len), STORE_OK);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION], key, sizeof(key),
                                  buf, len, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
}


static void
change_roles(store_live_t *live)
{
    live->session.roles.data[0] = 'x';
}


static void
change_generation(store_live_t *live)
{
    live->session.roles.data[0] = 'a';
    live->session.generation = 9;
}


static void
change_user(store_live_t *live)
{
    live->session.user[0] ^= 1;
}


static void
change_text(store_live_t *live)
{
    live->session.agent.data[0] = '\n';
    live->session.lifetime = 0;
}


/* The decision rests on the copies in the session. */
static void
test_session_against_user(void **state)
{
    uint8_t     id[STORE_USER_BYTES];
    fixture_t  *f = *state;

    fill(f, id);

    put_session(f, 1, change_roles);
    expect(f, "roles are not those of its user");

    put_session(f, 1, change_generation);
    expect(f, "live with generation 9 of its user, who has 1");

    put_session(f, 2, change_text);
    expect(f, "not header-safe");
    expect(f, "a lifetime of 0 seconds");

    put_session(f, 2, change_user);
    expect(f, "live without a user");
}


static void
test_disabled_user(void **state)
{
    size_t          n;
    uint8_t         id[STORE_USER_BYTES], buf[STORE_RECORD_MAX];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    store_user_t    u;
    const MDB_dbi  *db;

    fill(f, id);
    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    u.flags = STORE_USER_DISABLED;
    assert_int_equal(store_user_encode(&u, buf, &n), STORE_OK);

    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_put(txn, db[STORE_USER], id, sizeof(id), buf, n,
                                  0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    expect(f, "live and its user is disabled");
}


static void
test_records_that_do_not_decode(void **state)
{
    uint8_t         id[STORE_USER_BYTES], key[STORE_KEY_BYTES], seq[8];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    begin(f, 0, &txn, &db);
    fixture_key(key, 1);
    store_be64_put(seq, 2);
    assert_int_equal(store_db_put(txn, db[STORE_SESSION], key, sizeof(key),
                                  "junk", 4, 0),
                     STORE_OK);
    assert_int_equal(store_db_put(txn, db[STORE_USER], id, sizeof(id), "junk",
                                  4, 0),
                     STORE_OK);
    assert_int_equal(store_db_put(txn, db[STORE_CHANGE], seq, sizeof(seq),
                                  "junk", 4, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    begin(f, 1, &txn, &db);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT], seq, sizeof(seq),
                                  "junk", 4, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    expect(f, "session ");
    expect(f, "user ");
    expect(f, "change 2: ");
    expect(f, "event 2: ");
    assert_int_equal(said.n, 4);
}


static void
test_user_indexes(void **state)
{
    size_t          n;
    uint8_t         id[STORE_USER_BYTES], key[STORE_LOGIN_KEY_MAX];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    begin(f, 0, &txn, &db);
    n = store_login_key(key, "default", 7, "ann", 3);
    assert_int_equal(store_db_del(txn, db[STORE_USER_BY_LOGIN], key, n),
                     STORE_OK);
    n = store_login_key(key, "default", 7, "bob", 3);
    assert_int_equal(store_db_put(txn, db[STORE_USER_BY_LOGIN], key, n, id,
                                  sizeof(id), 0),
                     STORE_OK);
    n = store_login_key(key, "default", 7, "eve", 3);
    assert_int_equal(store_db_put(txn, db[STORE_USER_BY_LOGIN], key, n,
                                  "12345678", 8, 0),
                     STORE_OK);
    n = store_login_key(key, "default", 7, "joe", 3);
    assert_int_equal(store_db_put(txn, db[STORE_USER_BY_LOGIN], key, n, "123",
                                  3, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    expect(f, "not in user_by_login");
    expect(f, "has another login");
    expect(f, "user_by_login: no user 3132333435363738");
    expect(f, "user_by_login: an entry of 3 bytes");
    assert_int_equal(said.n, 4);
}


static void
test_gap_in_the_feed(void **state)
{
    uint8_t         id[STORE_USER_BYTES], seq[8];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    begin(f, 0, &txn, &db);
    store_be64_put(seq, 2);
    assert_int_equal(store_db_del(txn, db[STORE_CHANGE], seq, sizeof(seq)),
                     STORE_OK);
    store_be64_put(seq, 3);
    assert_int_equal(store_db_del(txn, db[STORE_CHANGE], seq, sizeof(seq)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    expect(f, "change: rows 2 to 3 are missing");
    assert_int_equal(said.n, 1);
}


static void
test_event_indexes(void **state)
{
    uint8_t         id[STORE_USER_BYTES], time[8], seq[8];
    uint8_t         index[STORE_EVENT_INDEX_BYTES];
    MDB_txn        *txn;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    begin(f, 1, &txn, &db);
    store_be64_put(time, (uint64_t) FIXTURE_NOW);
    store_event_key(index, time, 1);
    assert_int_equal(store_db_del(txn, db[STORE_EVENT_BY_TIME], index,
                                  sizeof(index)),
                     STORE_OK);
    store_event_key(index, id, 2);
    assert_int_equal(store_db_del(txn, db[STORE_EVENT_BY_USER], index,
                                  sizeof(index)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);
    expect(f, "event 1: not in event_by_time");
    expect(f, "event 2: not in event_by_user");
    assert_int_equal(said.n, 2);

    begin(f, 1, &txn, &db);
    store_be64_put(time, (uint64_t) FIXTURE_NOW + 1);
    store_event_key(index, time, 1);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT_BY_TIME], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    store_event_key(index, "somebody", 2);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    store_event_key(index, id, 1000);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT_BY_USER], index,
                                  sizeof(index), NULL, 0, 0),
                     STORE_OK);
    store_be64_put(seq, 1);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT_BY_GROUP],
                                  "------------------------", 24, seq,
                                  sizeof(seq), 0),
                     STORE_OK);
    assert_int_equal(store_db_put(txn, db[STORE_EVENT_BY_GROUP],
                                  "++++++++++++++++++++++++", 24, seq, 3, 0),
                     STORE_OK);
    assert_int_equal(store_meta_put(txn, db[STORE_META], "last", 5), STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    expect(f, "event_by_time: event 1 has another time");
    expect(f, "event_by_user: event 2 is of another user");
    expect(f, "event_by_user: no event 1000");
    expect(f, "event_by_group: event 1 is of another group");
    expect(f, "event_by_group: an entry of 3 bytes");
    expect(f, "event 6: beyond the last, 5");
}


static void
test_visitor_ends_it(void **state)
{
    uint8_t         id[STORE_USER_BYTES];
    MDB_txn        *txn;
    uint64_t        problems;
    fixture_t      *f = *state;
    const MDB_dbi  *db;

    fill(f, id);

    begin(f, 0, &txn, &db);
    assert_int_equal(store_db_del(txn, db[STORE_USER], id, sizeof(id)),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_int_equal(store_check(f->store, enough, NULL, &problems), 42);
    assert_int_equal(problems, 1);

    /* the transaction has ended all the same */

    assert_int_equal(store_ping(f->store), STORE_OK);
    assert_true(check(f) >= 2);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_sound),
        with_store(test_session_indexes),
        with_store(test_expiry_index),
        with_store(test_session_against_user),
        with_store(test_disabled_user),
        with_store(test_records_that_do_not_decode),
        with_store(test_user_indexes),
        with_store(test_gap_in_the_feed),
        with_store(test_event_indexes),
        with_store(test_visitor_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
