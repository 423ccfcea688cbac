#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <lmdb.h>

#include "store.h"


static void
test_strerror_names_every_own_code(void **state)
{
    int          i, j;
    char         first[128];
    const char  *text;

    (void) state;

    for (i = STORE_OK; i >= STORE_REPLACED; i--) {
        text = store_strerror(i);

        assert_string_not_equal(text, "unknown error");
        assert_true(islower((unsigned char) text[0]));
        assert_true(text[strlen(text) - 1] != '.');

        strcpy(first, text);

        for (j = STORE_OK; j > i; j--) {
            assert_string_not_equal(store_strerror(j), first);
        }
    }

    assert_string_equal(store_strerror(STORE_REPLACED - 1), "unknown error");
    assert_string_equal(store_strerror(-30000), "unknown error");
    assert_string_equal(store_strerror(-2147483647 - 1), "unknown error");
}


static void
test_strerror_passes_lmdb_on(void **state)
{
    int  code;

    (void) state;

    for (code = MDB_KEYEXIST; code <= MDB_LAST_ERRCODE; code++) {
        assert_string_equal(store_strerror(code), mdb_strerror(code));
    }

    assert_non_null(strstr(store_strerror(MDB_MAP_FULL), "MDB_MAP_FULL"));
}


static void
test_strerror_errno(void **state)
{
    (void) state;

    assert_string_equal(store_strerror(ENOENT), "no such file or directory");
    assert_string_equal(store_strerror(ENOSPC), "no space left on device");
    assert_non_null(strstr(store_strerror(99999), "99999"));

    errno = EPERM;
    (void) store_strerror(99999);
    assert_int_equal(errno, EPERM);
}


/* The text for want of memory needs none, not even a thread's own. */

static void
test_strerror_without_memory(void **state)
{
    const char  *text;

    (void) state;

    text = store_strerror(ENOMEM);
    (void) store_strerror(ENOSPC);

    assert_string_equal(text, "cannot allocate memory");
}


static void *
strerror_thread(void *data)
{
    int          i;
    const char  *text;

    for (i = 0; i < 20000; i++) {
        text = store_strerror(data ? ENOENT : ENOSPC);

        if (strcmp(text, data ? "no such file or directory"
                              : "no space left on device") != 0)
        {
            return (void *) 1;
        }
    }

    return NULL;
}


static void
test_strerror_two_threads(void **state)
{
    void       *result;
    pthread_t   thread;

    (void) state;

    assert_int_equal(pthread_create(&thread, NULL, strerror_thread, "x"),
                     0);
    assert_null(strerror_thread(NULL));
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
}


static void
test_names_are_words(void **state)
{
    int  i;

    (void) state;

    for (i = STORE_END_NONE; i <= STORE_END_UNCERTAIN; i++) {
        assert_string_not_equal(store_end_name((store_end_t) i), "unknown");
    }

    for (i = STORE_EVENT_SIGN_IN; i <= STORE_EVENT_RESTORED; i++) {
        assert_string_not_equal(store_event_name((store_event_type_t) i),
                                "unknown");
    }

    assert_string_equal(store_end_name(STORE_END_SIGN_OUT), "sign_out");
    assert_string_equal(store_event_name(STORE_EVENT_SIGN_IN), "sign_in");
    assert_string_equal(store_end_name((store_end_t) 11), "unknown");
    assert_string_equal(store_event_name((store_event_type_t) 0), "unknown");
    assert_string_equal(store_event_name((store_event_type_t) 13), "unknown");
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_strerror_names_every_own_code),
        cmocka_unit_test(test_strerror_passes_lmdb_on),
        cmocka_unit_test(test_strerror_errno),
        cmocka_unit_test(test_strerror_without_memory),
        cmocka_unit_test(test_strerror_two_threads),
        cmocka_unit_test(test_names_are_words)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
