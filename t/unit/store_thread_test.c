#include <pthread.h>

#include "store_fixture.h"


/* One thread reads while another changes, as in a worker. */

#define CHANGES  60


typedef struct {
    fixture_t       *f;
    uint8_t          id[STORE_USER_BYTES];
    int              stop;      /* atomic */
    int              failed;
    unsigned long    reads;
} reader_t;


/* A session that is read is whole: its roles and its name were written
 * together, whatever moment this is. */
static void *
read_on(void *data)
{
    size_t            n;
    reader_t         *r = data;
    store_user_t      u;
    store_stat_t      stat;
    store_event_t     events[4];
    store_session_t   s, list[4];

    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {

        if (fixture_get(r->f, 1, &s) != STORE_OK
            || store_session_judge(&s, "default", 7, FIXTURE_NOW) != STORE_OK
            || strcmp(s.name.data, s.roles.data) != 0)
        {
            r->failed = 1;
            break;
        }

        n = 4;

        if (store_session_list(r->f->store, r->id, list, &n) != STORE_OK
            || n < 1 || n > 2)
        {
            r->failed = 2;
            break;
        }

        n = 4;

        if (store_event_list(r->f->store, r->id, 0, events, &n) != STORE_OK
            || store_user_get(r->f->store, r->id, &u) != STORE_OK
            || store_stat(r->f->store, &stat) != STORE_OK
            || store_ping(r->f->store) != STORE_OK)
        {
            r->failed = 3;
            break;
        }

        r->reads++;
    }

    return NULL;
}


static void
change(fixture_t *f, const uint8_t id[STORE_USER_BYTES], unsigned n)
{
    char         name[16];
    store_op_t   ops[5], *list[5];
    size_t       i, len;

    len = (size_t) snprintf(name, sizeof(name), "name%u", n);

    for (i = 0; i < 5; i++) {
        list[i] = &ops[i];
    }

    fixture_op(&ops[0], STORE_OP_USER_NAME, FIXTURE_NOW + n);
    memcpy(ops[0].user, id, STORE_USER_BYTES);
    assert_int_equal(store_text_set(&ops[0].name, name, len), STORE_OK);

    fixture_op(&ops[1], STORE_OP_USER_ROLES, FIXTURE_NOW + n);
    memcpy(ops[1].user, id, STORE_USER_BYTES);
    assert_int_equal(store_roles_set(&ops[1].roles, name, len), STORE_OK);

    fixture_sign_in_op(&ops[2], id, 100 + n, FIXTURE_NOW);
    fixture_op(&ops[3], STORE_OP_TOUCH, FIXTURE_NOW + n);
    fixture_key(ops[3].key, 1);

    fixture_op(&ops[4], STORE_OP_END, FIXTURE_NOW + n);
    fixture_key(ops[4].key, 100 + n - 1);
    ops[4].end = STORE_END_SIGN_OUT;

    assert_int_equal(store_batch_apply(f->store, list, 5), STORE_OK);
    assert_int_equal(ops[2].result, STORE_OK);
}


static void
test_reader_and_writer(void **state)
{
    int         more, dead;
    size_t      at;
    unsigned    i;
    pthread_t   thread;
    fixture_t  *f = *state;
    reader_t    r;

    memset(&r, 0, sizeof(r));
    r.f = f;

    fixture_user(f, "ann", r.id);
    assert_int_equal(fixture_sign_in(f, r.id, 1, FIXTURE_NOW), STORE_OK);
    change(f, r.id, 1);

    assert_int_equal(pthread_create(&thread, NULL, read_on, &r), 0);

    for (i = 2, at = 0; i < CHANGES; i++) {
        change(f, r.id, i);
        assert_int_equal(store_events_copy(f->store, 10, &more), STORE_OK);
        assert_int_equal(store_events_trim(f->store, FIXTURE_NOW - 1, 10),
                         STORE_OK);
        assert_int_equal(store_reader_check(f->store, &dead), STORE_OK);
        assert_int_equal(dead, 0);
        (void) !store_populate(f->store, &at);
    }

    __atomic_store_n(&r.stop, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(r.failed, 0);
    assert_true(r.reads > 0);
    fixture_sound(f);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup_teardown(test_reader_and_writer, fixture_setup,
                                        fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
