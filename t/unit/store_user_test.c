#include "store_fixture.h"


static int
change(fixture_t *f, store_op_t *op, store_op_kind_t kind,
    const uint8_t id[STORE_USER_BYTES], int64_t now)
{
    fixture_op(op, kind, now);
    memcpy(op->user, id, STORE_USER_BYTES);

    return kind == STORE_OP_USER_DISABLE || kind == STORE_OP_USER_ENABLE
           || kind == STORE_OP_USER_DELETE ? fixture_apply(f, op) : 0;
}


static int
create(fixture_t *f, const char *realm, const char *login)
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_USER_CREATE, FIXTURE_NOW);
    assert_int_equal(store_realm_set(&op.realm, realm, strlen(realm)),
                     STORE_OK);
    assert_int_equal(store_text_set(&op.login, login, strlen(login)),
                     STORE_OK);

    return fixture_apply(f, &op);
}


static int
find(fixture_t *f, const char *realm, const char *login, store_user_t *u)
{
    return store_user_find(f->store, realm, strlen(realm), login,
                           strlen(login), u);
}


static void
test_create_and_find(void **state)
{
    uint8_t       id[STORE_USER_BYTES];
    fixture_t    *f = *state;
    store_user_t  u, v;

    fixture_user(f, "Ann@Example.ORG", id);

    assert_int_equal(find(f, "default", "ann@example.org", &u), STORE_OK);
    assert_memory_equal(u.id, id, STORE_USER_BYTES);
    assert_string_equal(u.login.data, "Ann@Example.ORG");
    assert_string_equal(u.realm.data, "default");
    assert_string_equal(u.name.data, "Ann Example");
    assert_string_equal(u.roles.data, "admin");
    assert_string_equal(u.phc.data, "$argon2id$fake");
    assert_int_equal(u.generation, 1);
    assert_int_equal(u.flags, 0);
    assert_int_equal(u.created, FIXTURE_NOW);
    assert_int_equal(u.changed, FIXTURE_NOW);
    assert_int_equal(u.signed_in, 0);

    assert_int_equal(find(f, "default", "ANN@EXAMPLE.org", &v), STORE_OK);
    assert_int_equal(store_user_get(f->store, id, &v), STORE_OK);
    assert_string_equal(v.login.data, "Ann@Example.ORG");

    assert_int_equal(find(f, "default", "ann", &v), STORE_NOT_FOUND);
    assert_int_equal(find(f, "default", "", &v), STORE_NOT_FOUND);
    assert_int_equal(find(f, "other", "ann@example.org", &v),
                     STORE_NOT_FOUND);

    memset(id, 0, sizeof(id));
    assert_int_equal(store_user_get(f->store, id, &v), STORE_NOT_FOUND);

    fixture_sound(f);
}


static void
test_find_too_long(void **state)
{
    char          text[STORE_LOGIN_MAX + 2];
    fixture_t    *f = *state;
    store_user_t  u;

    memset(text, 'a', sizeof(text));

    assert_int_equal(store_user_find(f->store, "default", 7, text,
                                     STORE_LOGIN_MAX + 1, &u),
                     STORE_NOT_FOUND);
    assert_int_equal(store_user_find(f->store, text, STORE_REALM_MAX + 1, text,
                                     1, &u),
                     STORE_NOT_FOUND);
    assert_int_equal(store_user_find(f->store, text, STORE_REALM_MAX, text,
                                     STORE_LOGIN_MAX, &u),
                     STORE_NOT_FOUND);
}


/* The same login in two realms is two people; in one it is one, in any case
 * of ASCII letters, and only of those. */
static void
test_login_is_unique_in_realm(void **state)
{
    fixture_t  *f = *state;

    assert_int_equal(create(f, "a", "ann"), STORE_OK);
    assert_int_equal(create(f, "a", "ann"), STORE_EXISTS);
    assert_int_equal(create(f, "a", "ANN"), STORE_EXISTS);
    assert_int_equal(create(f, "b", "ann"), STORE_OK);

    assert_int_equal(create(f, "a", "\xc3\x84nn"), STORE_OK);
    assert_int_equal(create(f, "a", "\xc3\xa4nn"), STORE_OK);
    assert_int_equal(create(f, "a", "0"), STORE_OK);
    assert_int_equal(create(f, "a", "00"), STORE_OK);
    assert_int_equal(create(f, "a", "@"), STORE_OK);
    assert_int_equal(create(f, "a", "`"), STORE_OK);

    fixture_sound(f);
}


static void
test_create_refused(void **state)
{
    fixture_t     *f = *state;
    store_op_t     op, good;
    store_stat_t   stat;

    fixture_op(&good, STORE_OP_USER_CREATE, FIXTURE_NOW);
    assert_int_equal(store_realm_set(&good.realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&good.login, "ann", 3), STORE_OK);
    assert_int_equal(store_roles_set(&good.roles, "a,b", 3), STORE_OK);

    op = good;
    op.realm.len = 0;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    op.realm.data[0] = 'D';
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    op.login.len = 0;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    op.login.data[1] = '\0';
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    op.login.len = STORE_LOGIN_MAX + 1;
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    memcpy(op.roles.data, "b,a", 3);
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    op = good;
    op.name.len = 1;
    op.name.data[0] = '\x7f';
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    assert_int_equal(store_stat(f->store, &stat), STORE_OK);
    assert_int_equal(stat.users, 0);
    assert_int_equal(stat.change_last, 0);

    assert_int_equal(fixture_apply(f, &good), STORE_OK);
}


static void
test_password_ends_sessions(void **state)
{
    unsigned         i;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_user_t     u;
    store_session_t  s;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 3; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
    }

    /* from a page that was read before another change */

    change(f, &op, STORE_OP_USER_PASSWORD, id, FIXTURE_NOW + 1);
    op.generation = 7;
    assert_int_equal(fixture_apply(f, &op), STORE_CONFLICT);

    /* in session 2 */

    change(f, &op, STORE_OP_USER_PASSWORD, id, FIXTURE_NOW + 1);
    op.generation = 1;
    fixture_key(op.key, 2);
    assert_int_equal(store_text_set(&op.phc, "$new", 4), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 2);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_string_equal(u.phc.data, "$new");
    assert_int_equal(u.generation, 2);
    assert_int_equal(u.changed, FIXTURE_NOW + 1);

    for (i = 1; i <= 3; i++) {
        assert_int_equal(fixture_get(f, i, &s), STORE_OK);
        assert_int_equal(s.end,
                         i == 2 ? STORE_END_NONE : STORE_END_PASSWORD);
    }

    /* who verified the old one comes too late */

    assert_int_equal(fixture_sign_in(f, id, 9, FIXTURE_NOW + 2),
                     STORE_CONFLICT);
    fixture_sound(f);

    /* from outside: all */

    change(f, &op, STORE_OP_USER_PASSWORD, id, FIXTURE_NOW + 3);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.phc.len, 0);
    assert_int_equal(u.generation, 3);
    fixture_sound(f);
}


static void
test_roles_and_name_reach_sessions(void **state)
{
    unsigned         i;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_user_t     u;
    store_session_t  s;

    fixture_user(f, "ann", id);

    for (i = 1; i <= 64; i++) {
        fixture_sign_in_op(&op, id, i, FIXTURE_NOW);
        op.limit = 64;
        assert_int_equal(fixture_apply(f, &op), STORE_OK);
    }

    change(f, &op, STORE_OP_USER_ROLES, id, FIXTURE_NOW + 1);
    assert_int_equal(store_roles_set(&op.roles, "auditor", 7), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    change(f, &op, STORE_OP_USER_NAME, id, FIXTURE_NOW + 2);
    assert_int_equal(store_text_set(&op.name, "Ann B.", 6), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    for (i = 1; i <= 64; i++) {
        assert_int_equal(fixture_get(f, i, &s), STORE_OK);
        assert_int_equal(s.end, STORE_END_NONE);
        assert_string_equal(s.roles.data, "auditor");
        assert_string_equal(s.name.data, "Ann B.");
        assert_int_equal(s.generation, 1);
    }

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_string_equal(u.roles.data, "auditor");
    assert_string_equal(u.name.data, "Ann B.");
    assert_int_equal(u.generation, 1);
    assert_int_equal(u.changed, FIXTURE_NOW + 2);

    /* no roles, no name */

    change(f, &op, STORE_OP_USER_ROLES, id, FIXTURE_NOW + 3);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(fixture_get(f, 64, &s), STORE_OK);
    assert_int_equal(s.roles.len, 0);

    change(f, &op, STORE_OP_USER_ROLES, id, FIXTURE_NOW + 3);
    op.roles.len = 2;
    memcpy(op.roles.data, "a,", 3);
    assert_int_equal(fixture_apply(f, &op), STORE_INVALID);

    fixture_sound(f);
}


static void
test_disable_and_enable(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_user_t     u;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_int_equal(change(f, &op, STORE_OP_USER_ENABLE, id, FIXTURE_NOW),
                     STORE_OK);
    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.generation, 1);

    assert_int_equal(change(f, &op, STORE_OP_USER_DISABLE, id, FIXTURE_NOW),
                     STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.flags, STORE_USER_DISABLED);
    assert_int_equal(u.generation, 2);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(store_session_judge(&s, "default", 7, FIXTURE_NOW),
                     STORE_DISABLED);

    /* twice is once */

    assert_int_equal(change(f, &op, STORE_OP_USER_DISABLE, id, FIXTURE_NOW),
                     STORE_OK);
    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.generation, 2);

    assert_int_equal(change(f, &op, STORE_OP_USER_ENABLE, id, FIXTURE_NOW),
                     STORE_OK);
    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    assert_int_equal(u.flags, 0);
    assert_int_equal(u.generation, 3);

    /* it does not bring sessions back */

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_DISABLED);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW), STORE_CONFLICT);

    fixture_sound(f);
}


static void
test_delete(void **state)
{
    uint8_t          id[STORE_USER_BYTES], again[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_user_t     u;
    store_session_t  s;

    fixture_user(f, "ann", id);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);

    assert_int_equal(change(f, &op, STORE_OP_USER_DELETE, id, FIXTURE_NOW + 1),
                     STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_NOT_FOUND);
    assert_int_equal(find(f, "default", "ann", &u), STORE_NOT_FOUND);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(s.end, STORE_END_DELETED);

    assert_int_equal(change(f, &op, STORE_OP_USER_DELETE, id, FIXTURE_NOW + 1),
                     STORE_NOT_FOUND);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW + 1),
                     STORE_NOT_FOUND);

    /* the login is free, the new one is somebody else */

    fixture_user(f, "ann", again);
    assert_memory_not_equal(id, again, STORE_USER_BYTES);

    fixture_sound(f);
}


static void
test_change_of_nobody(void **state)
{
    size_t       i;
    uint8_t      id[STORE_USER_BYTES] = { 1 };
    fixture_t   *f = *state;
    store_op_t   op;

    static const store_op_kind_t  kinds[] = {
        STORE_OP_USER_PASSWORD, STORE_OP_USER_ROLES, STORE_OP_USER_NAME,
        STORE_OP_USER_DISABLE, STORE_OP_USER_ENABLE, STORE_OP_USER_DELETE
    };

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        change(f, &op, kinds[i], id, FIXTURE_NOW);
        assert_int_equal(fixture_apply(f, &op), STORE_NOT_FOUND);
    }
}


static int
each_visit(const store_user_t *u, void *data)
{
    unsigned  *n = data;

    assert_string_equal(u->realm.data, "default");
    (*n)++;

    return *n == 1000 ? 7 : 0;
}


static void
test_each(void **state)
{
    unsigned    i, n;
    uint8_t     id[STORE_USER_BYTES];
    char        login[16];
    fixture_t  *f = *state;

    n = 0;
    assert_int_equal(store_user_each(f->store, each_visit, &n), STORE_OK);
    assert_int_equal(n, 0);

    for (i = 0; i < 20; i++) {
        (void) snprintf(login, sizeof(login), "user%u", i);
        fixture_user(f, login, id);
    }

    assert_int_equal(store_user_each(f->store, each_visit, &n), STORE_OK);
    assert_int_equal(n, 20);

    n = 999;
    assert_int_equal(store_user_each(f->store, each_visit, &n), 7);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_create_and_find),
        with_store(test_find_too_long),
        with_store(test_login_is_unique_in_realm),
        with_store(test_create_refused),
        with_store(test_password_ends_sessions),
        with_store(test_roles_and_name_reach_sessions),
        with_store(test_disable_and_enable),
        with_store(test_delete),
        with_store(test_change_of_nobody),
        with_store(test_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
