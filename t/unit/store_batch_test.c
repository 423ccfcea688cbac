#include "store_fixture.h"


static void
test_sign_in_and_out(void **state)
{
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_op_t       op;
    store_session_t  s;

    fixture_user(f, "ann", id);

    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(store_session_judge(&s, "default", 7, FIXTURE_NOW),
                     STORE_OK);

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW + 1);
    fixture_key(op.key, 1);
    op.end = STORE_END_SIGN_OUT;

    assert_int_equal(fixture_apply(f, &op), STORE_OK);
    assert_int_equal(op.count, 1);

    assert_int_equal(fixture_get(f, 1, &s), STORE_OK);
    assert_int_equal(store_session_judge(&s, "default", 7, FIXTURE_NOW + 1),
                     STORE_REVOKED);

    fixture_sound(f);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_sign_in_and_out, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
