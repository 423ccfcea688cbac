#include "store_fixture.h"


static int
end_key(fixture_t *f, unsigned n, store_end_t end, int64_t now)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_END, now);
    fixture_key(op.key, n);
    op.end = end;

    return fixture_apply(f, &op);
}


static int
touch(fixture_t *f, unsigned n, int64_t now)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_TOUCH, now);
    fixture_key(op.key, n);

    return fixture_apply(f, &op);
}


static uint64_t
change_last(fixture_t *f)
{
    store_stat_t  stat;

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);

    return stat.change_last;
}


static uint64_t
live_of(fixture_t *f, const uint8_t id[STORE_USER_BYTES])
{
    size_t            n;
    store_session_t  *list;

    list = malloc(sizeof(store_session_t) * 100);
    assert_non_null(list);
    n = 100;

    assert_int_equal(store_session_list(f->store, id, list, &n), STORE_OK);

    free(list);

    return n;
}


static void
test_sign_in_refused(void **state)
{
    uint8_t      id[STORE_USER_BYTES];
    uint64_t     last;
    fixture_t   *f = *state;
    store_op_t   op;

    fixture_user(f, "ann", id);
    last = change_last(f);

    /* nobody of that id */

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.user[0] ^= 1;
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);

    /* the password changed meanwhile */

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.generation = 2;
    assert_int_equal(fixture_apply(f, &op), STORE_CONFLICT);

    /* out of range */

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.lifetime = 0;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.lifetime = STORE_LIFETIME_MAX + 1;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, 0);
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, -1);
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, STORE_TIME_MAX + 1);
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.agent.data[2] = '\n';
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.actor = (store_actor_t) 9;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.kind = (store_op_kind_t) 99;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op.kind = (store_op_kind_t) 0;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    /* disabled */

    fixture_op(&op, STORE_OP_USER_DISABLE, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW);
    op.generation = 2;
    assert_int_equal(fixture_apply(f, &op), STORE_DISABLED);

    /* none of it left a trace but the disabling */

    assert_int_equal(change_last(f), last + 1);
    assert_int_equal(live_of(f, id), 0);
    fixture_sound(f);
}


/* A key is never used twice, not even once its session is over. */
static void
test_key_taken(void **state)
{
    uint8_t      id[STORE_USER_BYTES];
    fixture_t   *f = *state;

    fixture_user(f, "ann", id);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_EXISTS);

    assert_int_equal(end_key(f, 1, STORE_END_SIGN_OUT, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_EXISTS);

    fixture_sound(f);
}


static void
test_sign_in_upgrades_hash(void **state)
{
    uint8_t       id[STORE_USER_BYTES];
    fixture_t    *f = *state;
    store_op_t    op;
    store_user_t  u;

    fixture_user(f, "ann", id);

    fixture_sign_in_op(&op, id, 1, FIXTURE_NOW + 5);
    assert_int_equal(store_text_set(&op.phc, "$argon2id$new", 13), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_string_equal(u.phc.data, "$argon2id$new");
    assert_int_equal(u.generation, 1);
    assert_int_equal(u.signed_in, FIXTURE_NOW + 5);
    assert_int_equal(u.changed, FIXTURE_NOW);
}


static void
test_old_session_replaced(void **state)
{
    uint8_t          id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);
    fixture_user(f, "bob", other);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    /* another person at the same browser */

    fixture_sign_in_op(&op, other, 2, FIXTURE_NOW + 1);
    op.has_old = 1;
    fixture_key(op.old, 1);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_REPLACED);
    assert_int_equal(s.ended, FIXTURE_NOW + 1);

    /* one that is over, and one that never was */

    fixture_sign_in_op(&op, other, 3, FIXTURE_NOW + 2);
    op.has_old = 1;
    fixture_key(op.old, 1);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 0);

    fixture_sign_in_op(&op, other, 4, FIXTURE_NOW + 2);
    op.has_old = 1;
    fixture_key(op.old, 77);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 0);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.ended, FIXTURE_NOW + 1);
    assert_int_equal(live_of(f, other), 3);

    fixture_sound(f);
}


/* The one that is replaced makes room; nobody else has to go. */
static void
test_old_counts_for_limit(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);

    fixture_sign_in_op(&op, id, 3, FIXTURE_NOW);
    op.limit = 2;
    op.has_old = 1;
    fixture_key(op.old, 2);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);
    assert_int_equal(fixture_get(f, 2, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_REPLACED);
}


static void
test_limit_is_exact(void **state)
{
    unsigned         i;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 10; i++) {
        fixture_sign_in_op(&op, id, i, FIXTURE_NOW + i);
        op.limit = 3;
        assert_int_equal(fixture_apply(f, &op), STORE_OK);
        assert_int_equal(op.count, i > 3);
        assert_int_equal(live_of(f, id), i < 3 ? i : 3);
    }

    /* the oldest went, with a reason */

    for (i = 1; i <= 10; i++) {
        assert_int_equal(fixture_get(f, i, &s), STORE_OK);
        assert_int_equal(s.end, i <= 7 ? STORE_END_LIMIT : STORE_END_NONE);
    }

    /* a lower limit takes effect at the next sign-in */

    fixture_sign_in_op(&op, id, 11, FIXTURE_NOW + 11);
    op.limit = 1;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 3);
    assert_int_equal(live_of(f, id), 1);

    fixture_sound(f);
}


static void
test_limit_has_a_hard_bound(void **state)
{
    unsigned     i;
    uint8_t      id[STORE_USER_BYTES];
    fixture_t   *f = *state;
    store_op_t   op;

    fixture_user(f, "ann", id);

    for (i = 1; i <= STORE_USER_SESSIONS_MAX + 6; i++) {
        fixture_sign_in_op(&op, id, i, FIXTURE_NOW + i);
        op.limit = i % 2 ? 0 : 100000;
        assert_int_equal(fixture_apply(f, &op), STORE_OK);
        assert_int_equal(op.count, i > STORE_USER_SESSIONS_MAX);
    }

    assert_int_equal(live_of(f, id), STORE_USER_SESSIONS_MAX);
    fixture_sound(f);
}


/* What has expired unnoticed is not a session, and goes before a good one. */
static void
test_limit_expired_first(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW + 1), STORE_OK);
    assert_int_equal(touch(f, 1, FIXTURE_NOW + 3000), STORE_OK);

    fixture_sign_in_op(&op, id, 3, FIXTURE_NOW + 3700);
    op.limit = 2;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);
    assert_int_equal(fixture_get(f, 2, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_IDLE);

    fixture_sound(f);
}


static void
test_touch(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    uint64_t         last;
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    last = change_last(f);

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 60), STORE_OK);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.seen, FIXTURE_NOW + 60);

    /* never down */

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 30), STORE_OK);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.seen, FIXTURE_NOW + 60);

    /* nothing of it in the feed or the index */

    assert_int_equal(change_last(f), last);
    fixture_sound(f);
}


static void
test_touch_never_revives(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_session_t  s, before;

    fixture_user(f, "ann", id);

    assert_int_equal(touch(f, 9, FIXTURE_NOW), STORE_NOT_FOUND);
    assert_int_equal(fixture_get(f, 9, &s), STORE_NOT_FOUND);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(end_key(f, 1, STORE_END_SIGN_OUT, FIXTURE_NOW + 1),
                     STORE_OK);
    assert_int_equal(fixture_get(f, 1, &before), STORE_OK);

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 2), STORE_REVOKED);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_SIGN_OUT);
    assert_int_equal(s.seen, before.seen);
    assert_int_equal(live_of(f, id), 0);

    /* over, though no sweep has noticed */

    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    assert_int_equal(touch(f, 2, FIXTURE_NOW + 3600), STORE_IDLE);
    assert_int_equal(touch(f, 2, FIXTURE_NOW + 86400), STORE_EXPIRED);
    assert_int_equal(touch(f, 2, FIXTURE_NOW + 3599), STORE_OK);

    fixture_sound(f);
}


static void
test_end(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);

    assert_int_equal(end_key(f, 1, STORE_END_SIGN_OUT, FIXTURE_NOW),
                     STORE_NOT_FOUND);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    /* without a reason, or with one that there is not */

    assert_int_equal(end_key(f, 1, STORE_END_NONE, FIXTURE_NOW),
                     STORE_INVALID);
    assert_int_equal(end_key(f, 1, (store_end_t) 11, FIXTURE_NOW),
                     STORE_INVALID);

    assert_int_equal(end_key(f, 1, STORE_END_UNCERTAIN, FIXTURE_NOW + 4),
                     STORE_OK);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_UNCERTAIN);
    assert_int_equal(s.ended, FIXTURE_NOW + 4);

    /* once is enough, and the first reason stays */

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW + 5);
    fixture_key(op.key, 1);
    op.end = STORE_END_REVOKED;
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);
    assert_int_equal(op.count, 0);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_UNCERTAIN);

    fixture_sound(f);
}


static void
test_end_ref(void **state)
{
    uint8_t          id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    uint8_t          key[STORE_KEY_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);
    fixture_user(f, "bob", other);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, other, 2, FIXTURE_NOW), STORE_OK);

    /* somebody else's */

    fixture_op(&op, STORE_OP_END_REF, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    op.end = STORE_END_REVOKED;
    fixture_key(key, 2);
    store_key_ref(key, op.ref);
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);
    assert_int_equal(fixture_get(f, 2, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);

    /* not a ref at all */

    memset(op.ref, '%', STORE_REF_CHARS);
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);
    memset(op.ref, 0, sizeof(op.ref));
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);
    memset(op.ref, 'A', sizeof(op.ref));
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);

    fixture_key(key, 1);
    store_key_ref(key, op.ref);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);
    assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);

    fixture_sound(f);
}


static void
test_end_others_and_all(void **state)
{
    unsigned         i;
    uint8_t          id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);
    fixture_user(f, "bob", other);

    for (i = 1; i <= 4; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
    }

    assert_int_equal(fixture_sign_in(f, other, 9, FIXTURE_NOW), STORE_OK);

    fixture_op(&op, STORE_OP_END_OTHERS, FIXTURE_NOW + 1);
    memcpy(op.user, id, STORE_USER_BYTES);
    fixture_key(op.key, 2);
    op.end = STORE_END_REVOKED;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 3);

    assert_int_equal(fixture_get(f, 2, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_NONE);
    assert_int_equal(live_of(f, id), 1);

    op.kind = STORE_OP_END_ALL;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);
    assert_int_equal(live_of(f, id), 0);

    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 0);

    assert_int_equal(live_of(f, other), 1);
    fixture_sound(f);
}


/* A refused operation leaves the others of its batch alone. */
static void
test_batch_with_refusals(void **state)
{
    size_t           i;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       ops[6], *list[6];
    store_session_t  s;

    fixture_user(f, "ann", id);

    fixture_sign_in_op(&ops[0], id, 1, FIXTURE_NOW);
    fixture_sign_in_op(&ops[1], id, 1, FIXTURE_NOW);        /* taken */
    fixture_sign_in_op(&ops[2], id, 2, FIXTURE_NOW);
    ops[2].generation = 8;                                  /* conflict */
    fixture_sign_in_op(&ops[3], id, 3, FIXTURE_NOW);
    fixture_op(&ops[4], STORE_OP_END, FIXTURE_NOW);         /* of this batch */
    fixture_key(ops[4].key, 3);
    ops[4].end = STORE_END_SIGN_OUT;
    fixture_op(&ops[5], STORE_OP_TOUCH, FIXTURE_NOW + 9);
    fixture_key(ops[5].key, 3);                             /* ended above */

    for (i = 0; i < 6; i++) {
        list[i] = &ops[i];
    }

    assert_int_equal(store_batch_apply(f->store, list, 6), STORE_OK);

    assert_int_equal(ops[0].result, STORE_OK);
    assert_int_equal(ops[1].result, STORE_EXISTS);
    assert_int_equal(ops[2].result, STORE_CONFLICT);
    assert_int_equal(ops[3].result, STORE_OK);
    assert_int_equal(ops[4].result, STORE_OK);
    assert_int_equal(ops[5].result, STORE_REVOKED);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(fixture_get(f, 2, &s), STORE_NOT_FOUND);
    assert_int_equal(fixture_get(f, 3, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_SIGN_OUT);

    fixture_sound(f);
}


static void
test_batch_sizes(void **state)
{
    size_t       i;
    fixture_t   *f = *state;
    store_op_t  *ops, *list[STORE_BATCH_MAX + 1];

    assert_int_equal(store_batch_apply(f->store, NULL, 0), STORE_OK);

    ops = calloc(STORE_BATCH_MAX + 1, sizeof(store_op_t));
    assert_non_null(ops);

    for (i = 0; i <= STORE_BATCH_MAX; i++) {
        fixture_op(&ops[i], STORE_OP_TOUCH, FIXTURE_NOW);
        list[i] = &ops[i];
    }

    assert_int_equal(store_batch_apply(f->store, list, STORE_BATCH_MAX + 1),
                     STORE_INVALID);
    assert_int_equal(ops[0].result, STORE_INVALID);
    assert_int_equal(ops[STORE_BATCH_MAX].result, STORE_INVALID);

    assert_int_equal(store_batch_apply(f->store, list, STORE_BATCH_MAX),
                     STORE_OK);
    assert_int_equal(ops[STORE_BATCH_MAX - 1].result, STORE_NOT_FOUND);

    free(ops);
}


static void
test_quota(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op, end, *list[2];
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    f->store->quota = 1;

    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), MDB_MAP_FULL);

    fixture_op(&op, STORE_OP_USER_CREATE, FIXTURE_NOW);
    assert_int_equal(store_realm_set(&op.realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&op.login, "bob", 3), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), MDB_MAP_FULL);

    /* all else goes on, in the same batch too */

    assert_int_equal(touch(f, 1, FIXTURE_NOW + 1), STORE_OK);

    fixture_sign_in_op(&op, id, 3, FIXTURE_NOW);
    fixture_op(&end, STORE_OP_END, FIXTURE_NOW + 2);
    fixture_key(end.key, 1);
    end.end = STORE_END_SIGN_OUT;
    list[0] = &op;
    list[1] = &end;

    assert_int_equal(store_batch_apply(f->store, list, 2), MDB_MAP_FULL);
    assert_int_equal(op.result, MDB_MAP_FULL);
    assert_int_equal(end.result, STORE_OK);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_SIGN_OUT);

    fixture_op(&op, STORE_OP_SWEEP, FIXTURE_NOW + 10 * 86400);
    op.max = 10;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_true(op.count >= 1);

    fixture_sound(f);
}


/* No more sign-ins fit, and everybody can sign out. */
static void
test_full_map(void **state)
{
    int              rc;
    unsigned         i, n;
    uint8_t          id[STORE_USER_BYTES];
    char             login[16];
    fixture_t        fixture, *f = &fixture;
    store_op_t      *ops, *list[STORE_BATCH_MAX];
    store_session_t  s;

    (void) state;

    fixture_directory(f);
    f->options.map_size = (size_t) 1 << 20;
    assert_int_equal(store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why),
                     STORE_OK);
    fixture_open(f);

    ops = calloc(50, sizeof(store_op_t));
    assert_non_null(ops);

    /* while creating users passes, so that sign-ins are what is refused */

    f->store->quota -= (size_t) 200 << 10;

    for (n = 0, rc = STORE_OK; rc == STORE_OK && n < 5000; n += 50) {
        (void) snprintf(login, sizeof(login), "user%u", n);
        f->store->quota += (size_t) 100 << 10;
        fixture_user(f, login, id);
        f->store->quota -= (size_t) 100 << 10;

        for (i = 0; i < 50; i++) {
            fixture_sign_in_op(&ops[i], id, n + i, FIXTURE_NOW);
            ops[i].limit = 64;
            list[i] = &ops[i];
        }

        rc = store_batch_apply(f->store, list, 50);
    }

    assert_int_equal(rc, MDB_MAP_FULL);
    assert_int_equal(ops[49].result, MDB_MAP_FULL);
    assert_true(n > 200);

    for (i = 0; i < n; i++) {
        fixture_op(&ops[i % 50], STORE_OP_END, FIXTURE_NOW + 1);
        fixture_key(ops[i % 50].key, i);
        ops[i % 50].end = STORE_END_SIGN_OUT;

        if (i % 50 == 49) {
            assert_int_equal(store_batch_apply(f->store, list, 50), STORE_OK);
        }
    }

    for (i = 0; i < n - 50; i++) {
        assert_int_equal(fixture_get(f, i, &s), STORE_OK);
        assert_int_equal(s.end, STORE_END_SIGN_OUT);
    }

    free(ops);
    fixture_sound(f);
    fixture_remove(f);
}


static void
test_keys_loaded(void **state)
{
    int64_t      when;
    uint8_t      ids[STORE_SECRETS_MAX];
    unsigned     n;
    fixture_t   *f = *state;
    store_op_t   op;

    assert_int_equal(store_keys_loaded(f->store, ids, &n, &when),
                     STORE_NOT_FOUND);
    assert_int_equal(n, 0);

    fixture_op(&op, STORE_OP_KEYS_LOADED, FIXTURE_NOW);
    op.ids[0] = 7;
    op.ids[1] = 9;
    op.max = 2;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(store_keys_loaded(f->store, ids, &n, &when), STORE_OK);
    assert_int_equal(n, 2);
    assert_int_equal(ids[0], 7);
    assert_int_equal(ids[1], 9);
    assert_int_equal(when, FIXTURE_NOW);

    op.max = STORE_SECRETS_MAX + 1;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op.max = 0;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(store_keys_loaded(f->store, ids, &n, &when), STORE_OK);
    assert_int_equal(n, 0);
}


/* One record that no longer decodes must not keep its owner from being shut
 * out. */
static void
test_end_all_beside_damage(void **state)
{
    uint8_t          id[STORE_USER_BYTES], key[STORE_KEY_BYTES];
    MDB_txn         *txn;
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 3, FIXTURE_NOW), STORE_OK);

    fixture_key(key, 2);
    assert_int_equal(store_write_begin(f->store->sessions, &txn), STORE_OK);
    assert_int_equal(store_db_put(txn, f->store->sessions->db[STORE_SESSION],
                                  key, sizeof(key), "junk", 4, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    assert_int_equal(end_key(f, 2, STORE_END_REVOKED, FIXTURE_NOW),
                     STORE_CORRUPT);

    fixture_op(&op, STORE_OP_USER_DISABLE, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 2);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_DISABLED);
    assert_int_equal(fixture_get(f, 2, &s), STORE_CORRUPT);
    assert_int_equal(fixture_get(f, 3, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_DISABLED);
    assert_int_equal(live_of(f, id), 0);
}


/* More than anybody should have, as a damaged or a later store might hold:
 * shutting out and rewriting reach them all. */
static void
test_more_than_the_bound(void **state)
{
    size_t           n;
    uint8_t          id[STORE_USER_BYTES], index[STORE_INDEX_BYTES];
    uint8_t          buf[STORE_RECORD_MAX];
    MDB_txn         *txn;
    unsigned         i;
    fixture_t       *f = *state;
    store_op_t       op;
    store_live_t     live;
    const MDB_dbi   *db;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_get(f, 1, &live.session), STORE_OK);
    live.indexed = store_session_expires(&live.session);
    db = f->store->sessions->db;

    assert_int_equal(store_write_begin(f->store->sessions, &txn), STORE_OK);

    for (i = 2; i <= 150; i++) {
        fixture_key(live.session.key, i);
        assert_int_equal(store_session_encode(&live, buf, &n), STORE_OK);
        assert_int_equal(store_db_put(txn, db[STORE_SESSION], live.session.key,
                                      STORE_KEY_BYTES, buf, n, 0),
                         STORE_OK);
        store_index_key(index, id, live.session.key);
        assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_USER], index,
                                      sizeof(index), NULL, 0, 0),
                         STORE_OK);
        store_expiry_key(index, live.indexed, live.session.key);
        assert_int_equal(store_db_put(txn, db[STORE_SESSION_BY_EXPIRY], index,
                                      sizeof(index), NULL, 0, 0),
                         STORE_OK);
    }

    assert_int_equal(mdb_txn_commit(txn), 0);

    fixture_op(&op, STORE_OP_USER_ROLES, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    for (i = 1; i <= 150; i++) {
        assert_int_equal(fixture_get(f, i, &s), STORE_OK);
        assert_int_equal(s.roles.len, 0);
    }

    fixture_op(&op, STORE_OP_END_OTHERS, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    fixture_key(op.key, 64);
    op.end = STORE_END_REVOKED;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 149);
    assert_int_equal(live_of(f, id), 1);

    fixture_op(&op, STORE_OP_USER_DISABLE, FIXTURE_NOW);
    memcpy(op.user, id, STORE_USER_BYTES);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);
    fixture_sound(f);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_sign_in_refused),
        with_store(test_key_taken),
        with_store(test_sign_in_upgrades_hash),
        with_store(test_old_session_replaced),
        with_store(test_old_counts_for_limit),
        with_store(test_limit_is_exact),
        with_store(test_limit_has_a_hard_bound),
        with_store(test_limit_expired_first),
        with_store(test_touch),
        with_store(test_touch_never_revives),
        with_store(test_end),
        with_store(test_end_ref),
        with_store(test_end_others_and_all),
        with_store(test_batch_with_refusals),
        with_store(test_batch_sizes),
        with_store(test_quota),
        cmocka_unit_test(test_full_map),
        with_store(test_keys_loaded),
        with_store(test_end_all_beside_damage),
        with_store(test_more_than_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
