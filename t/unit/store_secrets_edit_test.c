#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "keys_file.h"


/* Draws of getrandom() below that give the bytes of SECRET_A again. */
static unsigned          repeats;

/* Set: somebody replaces the file just before flock() below returns. */
static int               replaced;

static char              why[STORE_WHY_CHARS];
static store_secrets_t  *secrets;


ssize_t
getrandom(void *buf, size_t n, unsigned flags)
{
    size_t  i;

    if (repeats && n == 32) {
        repeats--;

        for (i = 0; i < n; i++) {
            ((uint8_t *) buf)[i] = (uint8_t) i;
        }

        return (ssize_t) n;
    }

    return syscall(SYS_getrandom, buf, n, flags);
}


int
flock(int fd, int operation)
{
    char  other[128];

    if (replaced) {
        replaced = 0;
        snprintf(other, sizeof(other), "%s.other", keys);
        assert_int_equal(rename(keys, other), 0);
        keys_text(SECRET_B "\n");
        assert_int_equal(unlink(other), 0);
    }

    return (int) syscall(SYS_flock, fd, operation);
}


static int
read_keys(void)
{
    return store_secrets_read(keys, &secrets, why);
}


/* The message names the file and holds the words given. */
static void
assert_why(const char *words)
{
    char  quoted[128];

    snprintf(quoted, sizeof(quoted), "\"%s\": ", keys);

    if (strncmp(why, quoted, strlen(quoted)) != 0
        || strstr(why, words) == NULL)
    {
        fail_msg("message without \"%s\": %s", words, why);
    }
}


static void
test_create(void **state)
{
    char         text[1024];
    struct stat  st;

    (void) state;

    (void) unlink(keys);
    umask(0);

    assert_int_equal(store_secrets_random_create(keys, why), STORE_OK);
    assert_int_equal(stat(keys, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_nlink, 1);

    assert_int_equal(read_keys(), STORE_OK);
    assert_int_equal(store_secrets_count(secrets), 1);
    store_secrets_free(secrets);

    keys_slurp(text, sizeof(text));
    assert_int_equal(text[0], '#');

    assert_int_equal(store_secrets_random_create(keys, why), STORE_EXISTS);
    assert_why("exists already and is left as it is");

    assert_int_equal(store_secrets_random_create("/proc/x/y", why), ENOENT);
    assert_non_null(strstr(why, "\"/proc/x/y\": no file could be made"));
}


static void
test_add_until_full(void **state)
{
    uint8_t      id, ids[STORE_SECRETS_MAX];
    unsigned     i, j;
    struct stat  st;

    (void) state;

    keys_write(SECRET_A, strlen(SECRET_A), 0640);

    if (geteuid() == 0) {
        assert_int_equal(chown(keys, 0, 65534), 0);
    }

    for (i = 1; i < STORE_SECRETS_MAX; i++) {
        assert_int_equal(store_secrets_random_add(keys, &ids[i], why),
                         STORE_OK);

        assert_int_equal(read_keys(), STORE_OK);
        assert_int_equal(store_secrets_count(secrets), i + 1);
        ids[0] = store_secrets_id(secrets, 0);

        for (j = 0; j <= i; j++) {
            assert_int_equal(store_secrets_id(secrets, j), ids[j]);
        }

        store_secrets_free(secrets);
    }

    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_LIMIT);
    assert_why("holds 8 secrets already; run sessionctl key drop ");

    assert_int_equal(stat(keys, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);

    if (geteuid() == 0) {
        assert_int_equal(st.st_gid, 65534);
    }
}


/* An id that is there already is not taken: one byte repeats now and then. */
static void
test_add_draws_again(void **state)
{
    uint8_t  id;

    (void) state;

    keys_text(SECRET_A "\n");
    repeats = 3;

    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_OK);
    assert_int_equal(repeats, 0);

    assert_int_equal(read_keys(), STORE_OK);
    assert_int_equal(store_secrets_count(secrets), 2);
    assert_int_not_equal(store_secrets_id(secrets, 0), id);
    store_secrets_free(secrets);
}


/* Whoever waited for the lock of a file that is gone loses nobody's line. */
static void
test_edit_of_a_replaced_file(void **state)
{
    char     text[1024];
    uint8_t  id;

    (void) state;

    keys_text(SECRET_A "\n");
    replaced = 1;

    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_BUSY);
    assert_why("was changed by another process; try again");

    keys_slurp(text, sizeof(text));
    assert_string_equal(text, SECRET_B "\n");

    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_OK);
}


static void
test_promote_and_drop(void **state)
{
    char     text[1024];
    uint8_t  a, b, c;

    (void) state;

    keys_text("# head\n" SECRET_A "\n# middle\n" SECRET_B "\n" SECRET_C);

    assert_int_equal(read_keys(), STORE_OK);
    a = store_secrets_id(secrets, 0);
    b = store_secrets_id(secrets, 1);
    c = store_secrets_id(secrets, 2);
    store_secrets_free(secrets);

    /* the first one is first already */

    assert_int_equal(store_secrets_promote(keys, a, why), STORE_OK);
    keys_slurp(text, sizeof(text));
    assert_string_equal(text, "# head\n" SECRET_A "\n# middle\n" SECRET_B "\n"
                        SECRET_C);

    assert_int_equal(store_secrets_promote(keys, c, why), STORE_OK);
    keys_slurp(text, sizeof(text));
    assert_string_equal(text, "# head\n" SECRET_C "\n" SECRET_A "\n# middle\n"
                        SECRET_B "\n");

    assert_int_equal(store_secrets_promote(keys, b, why), STORE_OK);
    keys_slurp(text, sizeof(text));
    assert_string_equal(text, "# head\n" SECRET_B "\n" SECRET_C "\n" SECRET_A
                        "\n# middle\n");

    assert_int_equal(store_secrets_drop(keys, b, why), STORE_INVALID);
    assert_why("signs; run sessionctl key promote with another one first");

    assert_int_equal(store_secrets_drop(keys, c, why), STORE_OK);
    keys_slurp(text, sizeof(text));
    assert_string_equal(text, "# head\n" SECRET_B "\n" SECRET_A
                        "\n# middle\n");

    assert_int_equal(store_secrets_drop(keys, c, why), STORE_NOT_FOUND);
    assert_why("holds no key ");
    assert_int_equal(store_secrets_promote(keys, c, why), STORE_NOT_FOUND);

    assert_int_equal(store_secrets_drop(keys, a, why), STORE_OK);
    keys_slurp(text, sizeof(text));
    assert_string_equal(text, "# head\n" SECRET_B "\n# middle\n");

    assert_int_equal(store_secrets_drop(keys, b, why), STORE_INVALID);
}


static void
test_edit_refuses_unsafe_and_busy(void **state)
{
    int      fd;
    uint8_t  id;

    (void) state;

    keys_write(SECRET_A "\n", strlen(SECRET_A "\n"), 0644);
    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_UNSAFE);
    assert_why("readable by others");

    keys_text(SECRET_A "\n");
    fd = open(keys, O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_BUSY);
    assert_why("is being changed by another process");
    close(fd);

    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_OK);

    (void) unlink(keys);
    assert_int_equal(store_secrets_random_add(keys, &id, why), ENOENT);
    assert_why("no such file; run sessionctl key new ");
}


static void
test_edit_keeps_the_file_in_bounds(void **state)
{
    char     text[STORE_KEYS_FILE_MAX + 1];
    size_t   n;
    uint8_t  id;

    (void) state;

    n = strlen(SECRET_A "\n");
    memset(text, '#', sizeof(text));
    memcpy(text, SECRET_A "\n", n);

    /* a line feed and 45 bytes would not fit */

    keys_write(text, STORE_KEYS_FILE_MAX - 45, 0600);
    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_LIMIT);
    assert_why("would be longer than 4096 bytes");

    keys_write(text, STORE_KEYS_FILE_MAX - 46, 0600);
    assert_int_equal(store_secrets_random_add(keys, &id, why), STORE_OK);
    assert_int_equal(read_keys(), STORE_OK);
    store_secrets_free(secrets);

    /* nor would the line feed that the last line lacks */

    n = STORE_KEYS_FILE_MAX - strlen(SECRET_B);
    text[n - 1] = '\n';
    memcpy(text + n, SECRET_B, strlen(SECRET_B));
    keys_write(text, STORE_KEYS_FILE_MAX, 0600);
    assert_int_equal(read_keys(), STORE_OK);
    id = store_secrets_id(secrets, 1);
    store_secrets_free(secrets);

    assert_int_equal(store_secrets_promote(keys, id, why), STORE_LIMIT);
    assert_int_equal(store_secrets_drop(keys, id, why), STORE_OK);
}


#define secrets_test(f)                                                      \
    cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int
main(void)
{
    const struct CMUnitTest  tests[] = {
        secrets_test(test_create),
        secrets_test(test_add_until_full),
        secrets_test(test_add_draws_again),
        secrets_test(test_edit_of_a_replaced_file),
        secrets_test(test_promote_and_drop),
        secrets_test(test_edit_refuses_unsafe_and_busy),
        secrets_test(test_edit_keeps_the_file_in_bounds)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
