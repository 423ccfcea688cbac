/*
 * What the cache says is what LMDB says, whoever changed it: after each commit,
 * of this process and of another one, all sessions are looked up both ways.
 */

#include <sys/mman.h>

#include "store_fixture.h"

#include "cache.h"


#define TOUCH     60
#define KEYS      48            /* sessions of the random walk */
#define USERS     5
#ifndef ROUNDS
#define ROUNDS    1500
#define RACERS    600           /* sessions that end while they are read */
#endif
#define RACE_USER 50            /* sessions of one user there */
#define RESULTS   2


typedef struct {
    unsigned  ended;            /* atomic: sessions below are over */
    unsigned  failed;
} race_t;


static uint64_t  state = 0x9e3779b97f4a7c15;

/* Keys of the walk start here; those that are over keep theirs for a day. */
static unsigned  base;


/* xorshift64*: the walk is the same each time. */
static unsigned
draw(unsigned n)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;

    return (unsigned) ((state * 0x2545f4914f6cdd1d) >> 33) % n;
}


static int
same(const store_session_t *a, const store_session_t *b)
{
    return memcmp(a->key, b->key, STORE_KEY_BYTES) == 0
           && memcmp(a->user, b->user, STORE_USER_BYTES) == 0
           && a->generation == b->generation && a->created == b->created
           && a->authenticated == b->authenticated && a->ended == b->ended
           && a->idle == b->idle && a->lifetime == b->lifetime
           && a->end == b->end
           && a->realm.len == b->realm.len
           && strcmp(a->realm.data, b->realm.data) == 0
           && a->login.len == b->login.len
           && strcmp(a->login.data, b->login.data) == 0
           && a->name.len == b->name.len
           && strcmp(a->name.data, b->name.data) == 0
           && a->roles.len == b->roles.len
           && strcmp(a->roles.data, b->roles.data) == 0
           && a->address.len == b->address.len
           && strcmp(a->address.data, b->address.data) == 0
           && a->agent.len == b->agent.len
           && strcmp(a->agent.data, b->agent.data) == 0;
}


/* Both ways, and what a request would make of either. */
static int
agree(store_t *store, unsigned n, int64_t now, int64_t touch)
{
    int                     looked, got;
    uint8_t                 key[STORE_KEY_BYTES];
    store_session_t         read;
    const store_session_t  *s;

    fixture_key(key, n);

    looked = store_session_look(store, key, now, touch, &s);
    got = store_session_get(store, key, &read);

    if (looked != got || got != STORE_OK) {
        return looked == got;
    }

    return same(s, &read)
           && store_session_judge(s, "default", 7, now)
              == store_session_judge(&read, "default", 7, now)
           && s->seen <= read.seen
           && (s->seen == read.seen || now - s->seen < touch);
}


/* Twice, as somebody who comes again: now it may be held. */
static const store_session_t *
look(fixture_t *f, unsigned n, int64_t now)
{
    uint8_t                 key[STORE_KEY_BYTES];
    const store_session_t  *s;

    fixture_key(key, n);
    assert_int_equal(store_session_look(f->store, key, now, TOUCH, &s),
                     STORE_OK);
    assert_int_equal(store_session_look(f->store, key, now, TOUCH, &s),
                     STORE_OK);

    return s;
}


/* It would be given without a get. */
static int
held(fixture_t *f, unsigned n)
{
    unsigned            set, way;
    uint8_t             key[STORE_KEY_BYTES];
    store_cache_tag_t  *tag;

    fixture_key(key, n);

    for (set = 0; set < STORE_CACHE_SETS; set++) {
        for (way = 0; way < STORE_CACHE_WAYS; way++) {
            tag = &f->store->cache->tags[set][way];

            if (tag->used && memcmp(tag->key, key, STORE_KEY_BYTES) == 0) {
                return 1;
            }
        }
    }

    return 0;
}


static unsigned
held_all(fixture_t *f)
{
    unsigned  n, set, way;

    n = 0;

    for (set = 0; set < STORE_CACHE_SETS; set++) {
        for (way = 0; way < STORE_CACHE_WAYS; way++) {
            n += f->store->cache->tags[set][way].used;
        }
    }

    return n;
}


static int
touch(fixture_t *f, unsigned n, int64_t now)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_TOUCH, now);
    fixture_key(op.key, n);

    return fixture_apply(f, &op);
}


static int
end(fixture_t *f, unsigned n)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW + 1);
    fixture_key(op.key, n);
    op.end = STORE_END_SIGN_OUT;

    return fixture_apply(f, &op);
}


static int
setup(void **data)
{
    int         rc;
    fixture_t  *f;

    rc = fixture_setup(data);
    f = *data;

    assert_int_equal(store_cache_start(f->store), STORE_OK);
    assert_non_null(f->store->cache);

    return rc;
}


/* -------------------------------------------------------- what it holds --- */


static void
test_without(void **data)
{
    uint8_t                 id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    fixture_t              *f = *data;
    const store_session_t  *s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_true(agree(f->store, 1, FIXTURE_NOW, TOUCH));
    assert_null(f->store->cache);

    fixture_key(key, 2);
    assert_int_equal(store_session_look(f->store, key, FIXTURE_NOW, TOUCH, &s),
                     STORE_NOT_FOUND);
}


static void
test_holds(void **data)
{
    uint8_t         id[STORE_USER_BYTES];
    fixture_t      *f = *data;
    store_cache_t  *cache;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_false(held(f, 1));
    (void) look(f, 1, FIXTURE_NOW);
    assert_true(held(f, 1));

    /* asked for once more: nothing changes */

    cache = f->store->cache;
    assert_int_equal(store_cache_start(f->store), STORE_OK);
    assert_ptr_equal(f->store->cache, cache);
    assert_true(held(f, 1));

    /* what is not there, and what is over, is not held */

    assert_true(agree(f->store, 2, FIXTURE_NOW, TOUCH));
    assert_false(held(f, 2));
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    assert_int_equal(look(f, 2, FIXTURE_NOW)->end, STORE_END_NONE);
    assert_true(held(f, 2));

    assert_int_equal(end(f, 2), STORE_OK);
    assert_int_equal(look(f, 2, FIXTURE_NOW)->end, STORE_END_SIGN_OUT);
    assert_false(held(f, 2));
    assert_true(held(f, 1));
}


/* Uses have no rows: `seen` is old until somebody would act on it. */
static void
test_seen(void **data)
{
    uint8_t     id[STORE_USER_BYTES];
    fixture_t  *f = *data;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    (void) look(f, 1, FIXTURE_NOW);

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 50), STORE_OK);
    assert_int_equal(look(f, 1, FIXTURE_NOW + 59)->seen, FIXTURE_NOW);
    assert_true(held(f, 1));
    assert_int_equal(look(f, 1, FIXTURE_NOW + 60)->seen, FIXTURE_NOW + 50);
    assert_int_equal(look(f, 1, FIXTURE_NOW + 59)->seen, FIXTURE_NOW + 50);

    /* a clock that was put back */

    assert_int_equal(look(f, 1, FIXTURE_NOW - 1)->seen, FIXTURE_NOW + 50);
}


/* With touch= longer than a session's own idle time. */
static void
test_idle(void **data)
{
    uint8_t                 id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    fixture_t              *f = *data;
    const store_session_t  *s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    fixture_key(key, 1);
    (void) look(f, 1, FIXTURE_NOW);

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 3000), STORE_OK);

    assert_int_equal(store_session_look(f->store, key, FIXTURE_NOW + 3599,
                                        100000, &s), STORE_OK);
    assert_int_equal(s->seen, FIXTURE_NOW);

    assert_int_equal(store_session_look(f->store, key, FIXTURE_NOW + 3600,
                                        100000, &s), STORE_OK);
    assert_int_equal(s->seen, FIXTURE_NOW + 3000);
    assert_int_equal(store_session_judge(s, "default", 7, FIXTURE_NOW + 3600),
                     STORE_OK);
}


/* Three sessions for the two places of one set; to it they are all wanted. */
static void
test_crowded(void **data)
{
    unsigned         i, n;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *data;
    const unsigned   keys[] = { 7, 7 + (1 << 16), 7 + (2 << 16) };

    fixture_user(f, "ann", id);

    for (i = 0; i < 3; i++) {
        assert_int_equal(fixture_sign_in(f, id, keys[i], FIXTURE_NOW),
                         STORE_OK);
    }

    (void) look(f, keys[0], FIXTURE_NOW);

    for (i = 0; i < 100; i++) {
        n = draw(3);
        assert_true(agree(f->store, keys[n], FIXTURE_NOW, TOUCH));
        assert_true(held(f, keys[n]));
        assert_true(held_all(f) <= 2);
    }

    /* the one used last stays */

    (void) look(f, keys[0], FIXTURE_NOW);
    (void) look(f, keys[1], FIXTURE_NOW);
    (void) look(f, keys[0], FIXTURE_NOW);
    (void) look(f, keys[2], FIXTURE_NOW);
    assert_true(held(f, keys[0]));
    assert_false(held(f, keys[1]));
}


/* Who comes once, or with others of the set in between, is not held, and
 * nobody has to go for him. */
static void
test_wanted(void **data)
{
    unsigned         i;
    uint8_t          id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    fixture_t       *f = *data;
    store_op_t       op;
    const unsigned   order[] = { 0, 1, 0, 1, 2, 0, 2, 1, 0, 2, 2 };
    const unsigned   all[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };

    const store_session_t  *s;

    fixture_user(f, "ann", id);

    for (i = 0; i < 3; i++) {
        fixture_sign_in_op(&op, id, i << 16, FIXTURE_NOW);
        op.key[15] = (uint8_t) i;
        assert_int_equal(fixture_apply(f, &op), STORE_OK);
    }

    for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        fixture_key(key, order[i] << 16);
        key[15] = (uint8_t) order[i];

        assert_int_equal(store_session_look(f->store, key, FIXTURE_NOW, TOUCH,
                                            &s), STORE_OK);
        assert_memory_equal(s->key, key, STORE_KEY_BYTES);
        assert_int_equal(held_all(f), all[i]);
    }
}


/* Nothing is left of it in memory, nor of a longer text before. */
static void
test_wiped(void **data)
{
    size_t          i, left;
    uint8_t         id[STORE_USER_BYTES], *p;
    fixture_t      *f = *data;
    store_cache_t  *cache;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 3, FIXTURE_NOW), STORE_OK);
    (void) look(f, 1, FIXTURE_NOW);
    (void) look(f, 2, FIXTURE_NOW);

    cache = f->store->cache;

    assert_int_equal(end(f, 1), STORE_OK);
    (void) look(f, 2, FIXTURE_NOW);
    assert_false(held(f, 1));

    cache->seq--;
    assert_int_equal(end(f, 3), STORE_OK);
    assert_true(agree(f->store, 4, FIXTURE_NOW, TOUCH));
    assert_int_equal(held_all(f), 0);

    p = (uint8_t *) cache->tags;
    left = 0;

    for (i = 0; i < sizeof(cache->tags) + sizeof(cache->places); i++) {
        left += p[i] != 0;
    }

    assert_int_equal(left, 0);
}


/* ----------------------------------------------- where rows do not tell --- */


/* Takes a record away without a row, as nobody does, so that who does not
 * look has the old one. */
static void
spoil(fixture_t *f, unsigned n, MDB_txn **txn)
{
    uint8_t       key[STORE_KEY_BYTES];
    store_env_t  *env;

    env = f->store->sessions;
    fixture_key(key, n);

    assert_int_equal(store_write_begin(env, txn), STORE_OK);
    assert_int_equal(store_db_del(*txn, env->db[STORE_SESSION], key,
                                  STORE_KEY_BYTES), STORE_OK);
}


static void
put_row(fixture_t *f, MDB_txn *txn, uint64_t seq, store_event_type_t type,
    size_t cut)
{
    size_t         n;
    uint8_t        key[8], buf[STORE_RECORD_MAX];
    store_event_t  event;

    memset(&event, 0, sizeof(event));
    event.seq = seq;
    event.type = type;
    event.time = FIXTURE_NOW + 77;

    assert_int_equal(store_event_encode(&event, buf, &n), STORE_OK);
    store_be64_put(key, seq);
    assert_int_equal(store_db_put(txn, f->store->sessions->db[STORE_CHANGE],
                                  key, sizeof(key), buf, n - cut, 0),
                     STORE_OK);
}


static void
prepare(fixture_t *f)
{
    uint8_t  id[STORE_USER_BYTES];

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    (void) look(f, 1, FIXTURE_NOW);
    (void) look(f, 2, FIXTURE_NOW);
    assert_int_equal(held_all(f), 2);
}


/* How the next four differ from this: here a record that went without a row is
 * still held, so those can fail. */
static void
test_no_row(void **data)
{
    MDB_txn    *txn;
    fixture_t  *f = *data;

    prepare(f);
    spoil(f, 1, &txn);
    put_row(f, txn, f->store->cache->seq + 1, STORE_EVENT_USER_ENABLED, 0);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_false(agree(f->store, 1, FIXTURE_NOW, TOUCH));
    assert_int_equal(held_all(f), 2);
}


static void
test_odd_row(void **data)
{
    unsigned    i;
    MDB_txn    *txn;
    uint64_t    seq;
    fixture_t  *f = *data;

    static const struct {
        int                 ahead;
        size_t              cut;
        store_event_type_t  type;
    } rows[] = {
        { 1, 0, STORE_EVENT_RESTORED },
        { 1, 1, STORE_EVENT_USER_ENABLED },     /* does not decode */
        { 2, 0, STORE_EVENT_USER_ENABLED },     /* leaves one out */
        { 0, 0, STORE_EVENT_USER_CREATED },     /* another one in its place */
    };

    prepare(f);

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(look(f, 2, FIXTURE_NOW)->end, STORE_END_NONE);
        assert_true(held(f, 2));

        seq = f->store->cache->seq + (uint64_t) rows[i].ahead;

        assert_int_equal(store_write_begin(f->store->sessions, &txn),
                         STORE_OK);
        put_row(f, txn, seq, rows[i].type, rows[i].cut);
        assert_int_equal(mdb_txn_commit(txn), 0);

        assert_true(agree(f->store, 3, FIXTURE_NOW, TOUCH));
        assert_int_equal(held_all(f), 0);
        assert_int_equal(f->store->cache->seq, seq);
    }
}


/* As after a file of yesterday has come to the place of today's. */
static void
test_older(void **data)
{
    MDB_txn    *txn;
    fixture_t  *f = *data;

    prepare(f);
    f->store->cache->txn += 1000;
    spoil(f, 1, &txn);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_true(agree(f->store, 1, FIXTURE_NOW, TOUCH));
    assert_int_equal(held_all(f), 0);
}


static void
test_trimmed(void **data)
{
    int          more;
    unsigned     i;
    uint8_t      id[STORE_USER_BYTES];
    store_op_t   op;
    fixture_t   *f = *data;

    prepare(f);
    fixture_user(f, "eve", id);
    f->store->change_keep = 3;

    assert_int_equal(end(f, 1), STORE_OK);

    for (i = 0; i < 10; i++) {
        fixture_op(&op, i % 2 ? STORE_OP_USER_ENABLE : STORE_OP_USER_DISABLE,
                   FIXTURE_NOW);
        memcpy(op.user, id, STORE_USER_BYTES);
        assert_int_equal(fixture_apply(f, &op), STORE_OK);
    }

    assert_int_equal(store_events_copy(f->store, 100, &more), STORE_OK);

    assert_true(agree(f->store, 1, FIXTURE_NOW, TOUCH));
    assert_int_equal(held_all(f), 0);
    assert_true(agree(f->store, 2, FIXTURE_NOW, TOUCH));
    assert_true(held(f, 2));
}


/* So many that the event loop would wait for them. */
static void
test_many_rows(void **data)
{
    unsigned    i, rows;
    MDB_txn    *txn;
    fixture_t  *f = *data;

    prepare(f);

    for (rows = STORE_CACHE_ROWS - 1; rows <= STORE_CACHE_ROWS; rows++) {
        assert_int_equal(look(f, 2, FIXTURE_NOW)->end, STORE_END_NONE);
        assert_int_equal(store_write_begin(f->store->sessions, &txn),
                         STORE_OK);

        for (i = 1; i <= rows; i++) {
            put_row(f, txn, f->store->cache->seq + i,
                    STORE_EVENT_USER_ENABLED, 0);
        }

        assert_int_equal(mdb_txn_commit(txn), 0);

        assert_true(agree(f->store, 3, FIXTURE_NOW, TOUCH));
        assert_int_equal(held(f, 2), rows < STORE_CACHE_ROWS);
    }
}


/* -------------------------------------------------------- two processes --- */


/* Does what it is told, in a process of its own; the answer is the operation
 * after it. */
static int
writer(fixture_t *f, int in, int out)
{
    int          more;
    store_op_t   op, *ops[1];

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 1;
    }

    f->store->change_keep = 30;
    ops[0] = &op;

    while (read(in, &op, sizeof(op)) == (ssize_t) sizeof(op)) {

        if (op.kind == 0) {
            op.result = store_events_copy(f->store, 100, &more);

        } else if (store_batch_apply(f->store, ops, 1) != STORE_OK) {
            return 2;
        }

        if (write(out, &op, sizeof(op)) != (ssize_t) sizeof(op)) {
            return 3;
        }
    }

    return 0;
}


/* In both processes, so that either sees the other's changes and its own. */
static void
apply(fixture_t *f, const int to[2], store_op_t *op)
{
    int          more;
    store_op_t  *ops[1];

    if (draw(3)) {
        assert_int_equal(write(to[1], op, sizeof(*op)), sizeof(*op));
        assert_int_equal(read(to[0], op, sizeof(*op)), sizeof(*op));

    } else if (op->kind == 0) {
        op->result = store_events_copy(f->store, 100, &more);

    } else {
        ops[0] = op;
        assert_int_equal(store_batch_apply(f->store, ops, 1), STORE_OK);
    }

    assert_true(store_expected(op->result));
}


static void
random_sign_in(store_op_t *op, const store_op_t *user, int64_t now)
{
    unsigned  n;

    n = base + draw(KEYS);

    fixture_sign_in_op(op, user->user, n, now);
    op->generation = user->generation;
    op->idle = draw(2) ? 100 + draw(500) : 0;
    op->lifetime = 500 + draw(5000);
    op->limit = 3 + draw(12);
    op->has_old = draw(8) == 0;
    fixture_key(op->old, base + draw(KEYS));
}


/* Any operation on anything; kind 0 is the copy of the feed. */
static void
random_op(store_op_t *op, store_op_t *users, int64_t now)
{
    unsigned     n;
    char         text[32];
    size_t       len;
    store_op_t  *user;

    static const store_op_kind_t  kinds[] = {
        0, STORE_OP_TOUCH, STORE_OP_TOUCH, STORE_OP_TOUCH, STORE_OP_END,
        STORE_OP_END, STORE_OP_END_REF, STORE_OP_END_OTHERS, STORE_OP_END_ALL,
        STORE_OP_USER_PASSWORD, STORE_OP_USER_ROLES, STORE_OP_USER_ROLES,
        STORE_OP_USER_NAME, STORE_OP_USER_DISABLE, STORE_OP_USER_ENABLE,
        STORE_OP_USER_ENABLE, STORE_OP_USER_DELETE, STORE_OP_KEYS_LOADED,
        STORE_OP_SWEEP
    };

    user = &users[draw(USERS)];
    n = draw(sizeof(kinds) / sizeof(kinds[0]) + 20);

    if (n >= sizeof(kinds) / sizeof(kinds[0])) {
        random_sign_in(op, user, now);
        return;
    }

    fixture_op(op, kinds[n], now);
    memcpy(op->user, user->user, STORE_USER_BYTES);
    fixture_key(op->key, base + draw(KEYS));
    op->end = STORE_END_REVOKED;
    op->max = kinds[n] == STORE_OP_SWEEP ? 1 + draw(20) : 0;
    store_key_ref(op->key, op->ref);

    len = (size_t) snprintf(text, sizeof(text), "r%u", draw(1000));
    assert_int_equal(store_text_set(&op->name, text, len), STORE_OK);
    assert_int_equal(store_roles_set(&op->roles, text, len), STORE_OK);
    assert_int_equal(store_text_set(&op->phc, "$argon2id$fake", 14), STORE_OK);

    if (kinds[n] == STORE_OP_USER_PASSWORD && draw(2)) {
        memset(op->key, 0, STORE_KEY_BYTES);
    }
}


static void
make_user(fixture_t *f, const int to[2], store_op_t *user, int64_t now)
{
    int              len;
    char             login[32];
    static unsigned  made;

    fixture_op(user, STORE_OP_USER_CREATE, now);
    len = snprintf(login, sizeof(login), "u%u", made++);

    assert_int_equal(store_realm_set(&user->realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&user->login, login, (size_t) len),
                     STORE_OK);

    apply(f, to, user);
    assert_int_equal(user->result, STORE_OK);
}


/* The generation that the next sign-in must name; a new user for one that was
 * deleted. */
static void
refresh(fixture_t *f, const int to[2], store_op_t *users, int64_t now)
{
    int           rc;
    unsigned      i;
    store_user_t  u;

    for (i = 0; i < USERS; i++) {
        rc = store_user_get(f->store, users[i].user, &u);

        if (rc == STORE_NOT_FOUND) {
            make_user(f, to, &users[i], now);
            rc = store_user_get(f->store, users[i].user, &u);
        }

        assert_int_equal(rc, STORE_OK);
        users[i].generation = u.generation;
    }
}


static pid_t
start(fixture_t *f, int to[2])
{
    int    there[2], back[2];
    pid_t  pid;

    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    (void) fflush(NULL);

    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        (void) close(there[1]);
        (void) close(back[0]);
        _exit(writer(f, there[0], back[1]));
    }

    (void) close(there[0]);
    (void) close(back[1]);

    to[0] = back[0];
    to[1] = there[1];

    return pid;
}


static int
child_init(fixture_t *f)
{
    return store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why);
}


static void
test_two_processes(void **data)
{
    int          to[2], status;
    pid_t        pid;
    int64_t      now, about;
    unsigned     i, round, hits;
    fixture_t    f;
    store_op_t   op, users[USERS];

    (void) data;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    pid = start(&f, to);
    fixture_open(&f);
    f.store->change_keep = 30;
    assert_int_equal(store_cache_start(f.store), STORE_OK);

    now = FIXTURE_NOW;
    hits = 0;

    for (i = 0; i < USERS; i++) {
        make_user(&f, to, &users[i], now);
    }

    for (round = 0; round < ROUNDS; round++) {
        now += draw(20) == 0 ? draw(300) : draw(3);
        now += round % 500 == 499 ? 2 * STORE_TOMBSTONE_SECONDS : 0;
        base = round / 6;
        refresh(&f, to, users, now);
        random_op(&op, users, now);
        apply(&f, to, &op);

        /* seldom all of them: a position that falls behind is trimmed */

        about = draw(3) ? TOUCH : draw(2) ? 5 : 0;

        for (i = 0; i < KEYS; i++) {

            if (round % 100 > 80 && round % 100 < 99) {
                continue;
            }

            hits += (unsigned) held(&f, base + i);

            if (!agree(f.store, base + i, now, about)) {
                fail_msg("round %u, operation %d, session %u", round, op.kind,
                         base + i);
            }
        }
    }

    assert_true(hits > ROUNDS);

    (void) close(to[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);

    fixture_sound(&f);
    fixture_remove(&f);
}


/* -------------------------------------------------------------- at once --- */


/* Ends one session after the other, and uses the rest. */
static int
ender(fixture_t *f, race_t *race)
{
    unsigned     n;
    store_op_t   ops[2], *list[2];

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 1;
    }

    list[0] = &ops[0];
    list[1] = &ops[1];

    for (n = 0; n < RACERS; n++) {
        fixture_op(&ops[0], STORE_OP_END, FIXTURE_NOW + 10);
        fixture_key(ops[0].key, n);
        ops[0].end = STORE_END_REVOKED;

        fixture_op(&ops[1], STORE_OP_TOUCH, FIXTURE_NOW + n % 40);
        fixture_key(ops[1].key, RACERS - 1 - n / 2);

        if (store_batch_apply(f->store, list, 2) != STORE_OK
            || ops[0].result != STORE_OK)
        {
            return 2;
        }

        __atomic_store_n(&race->ended, n + 1, __ATOMIC_RELEASE);
    }

    return 0;
}


static int
child_racers(fixture_t *f)
{
    unsigned     n;
    uint8_t      id[STORE_USER_BYTES];
    char         login[32];
    store_op_t   op;

    if (child_init(f) != STORE_OK
        || store_open(&f->options, &f->store, f->why) != STORE_OK)
    {
        return 1;
    }

    for (n = 0; n < RACERS; n++) {

        if (n % RACE_USER == 0) {
            (void) snprintf(login, sizeof(login), "u%u", n);
            fixture_user(f, login, id);
        }

        fixture_sign_in_op(&op, id, n, FIXTURE_NOW);
        op.limit = 0;

        if (fixture_apply(f, &op) != STORE_OK) {
            return 2;
        }
    }

    return 0;
}


/* No lookup that begins after a change was committed finds what was before,
 * at whatever moment of whatever next commit it is made. */
static void
test_at_once(void **data)
{
    int                     rc, status;
    pid_t                   pid;
    race_t                 *race;
    uint8_t                 key[STORE_KEY_BYTES];
    unsigned                n, before, after, wrong, live, over;
    fixture_t               f;
    const store_session_t  *s;

    (void) data;

    race = mmap(NULL, sizeof(race_t), PROT_READ|PROT_WRITE,
                MAP_SHARED|MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(race, MAP_FAILED);

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_racers, &f), 0);

    (void) fflush(NULL);
    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        _exit(ender(&f, race));
    }

    fixture_open(&f);
    assert_int_equal(store_cache_start(f.store), STORE_OK);
    wrong = live = over = 0;

    do {
        before = __atomic_load_n(&race->ended, __ATOMIC_ACQUIRE);

        /* mostly one that has just ended, or is about to */

        n = draw(2) ? draw(RACERS) : (before + RACERS - 2 + draw(4)) % RACERS;
        fixture_key(key, n);

        rc = store_session_look(f.store, key, FIXTURE_NOW + 20, TOUCH, &s);
        assert_int_equal(rc, STORE_OK);
        after = __atomic_load_n(&race->ended, __ATOMIC_ACQUIRE);

        if (n < before) {
            wrong += s->end != STORE_END_REVOKED;
            over++;

        } else if (n > after) {
            wrong += s->end != STORE_END_NONE;
            live++;
        }

    } while (before < RACERS && waitpid(pid, &status, WNOHANG) == 0);

    assert_int_equal(wrong, 0);
    assert_int_equal(waitpid(pid, &status, 0) == pid ? status : status, 0);
    assert_int_equal(__atomic_load_n(&race->ended, __ATOMIC_ACQUIRE), RACERS);
    assert_true(live > RACERS && over > RACERS);

    fixture_remove(&f);
    (void) munmap(race, sizeof(race_t));
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_without, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_holds, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_seen, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_idle, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_crowded, setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_wanted, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_wiped, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_no_row, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_odd_row, setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_older, setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_trimmed, setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_many_rows, setup,
                                        fixture_teardown),
        cmocka_unit_test(test_two_processes),
        cmocka_unit_test(test_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
