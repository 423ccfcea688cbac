/*
 * store_fixture.h: a store in a directory of its own, and the operations that
 * nearly every test makes.  A store is never closed, so a test that opens one
 * again does it in a child: see fixture_child().
 */

#ifndef STORE_FIXTURE_H_INCLUDED
#define STORE_FIXTURE_H_INCLUDED


#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "env.h"


#define FIXTURE_MAP    ((size_t) 64 << 20)
#define FIXTURE_NOW    ((int64_t) 1700000000)

#define FIXTURE_UNUSED  __attribute__((unused))


typedef struct {
    char             path[256];
    store_options_t  options;
    store_t         *store;
    char             why[STORE_WHY_CHARS];
} fixture_t;


FIXTURE_UNUSED static void
fixture_directory(fixture_t *f)
{
    const char  *tmp;

    memset(f, 0, sizeof(fixture_t));

    tmp = getenv("TMPDIR");

    (void) snprintf(f->path, sizeof(f->path), "%s/store-test-XXXXXX",
                    tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(f->path));

    f->options.path = f->path;
    f->options.map_size = FIXTURE_MAP;
    f->options.wait_ms = 10000;
}


FIXTURE_UNUSED static void
fixture_init(fixture_t *f)
{
    int  rc;

    fixture_directory(f);

    rc = store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why);
    if (rc != STORE_OK) {
        fail_msg("init: %s", f->why);
    }
}


FIXTURE_UNUSED static void
fixture_open(fixture_t *f)
{
    int  rc;

    rc = store_open(&f->options, &f->store, f->why);
    if (rc != STORE_OK) {
        fail_msg("open: %s", f->why);
    }
}


FIXTURE_UNUSED static int
fixture_setup(void **state)
{
    fixture_t  *f;

    f = malloc(sizeof(fixture_t));
    assert_non_null(f);

    fixture_init(f);
    fixture_open(f);

    *state = f;

    return 0;
}


/* One level deep: a store has no folders. */
FIXTURE_UNUSED static void
fixture_remove(fixture_t *f)
{
    DIR            *dir;
    char            name[600];
    struct dirent  *entry;

    dir = opendir(f->path);
    if (dir == NULL) {
        return;
    }

    while ((entry = readdir(dir)) != NULL) {
        (void) snprintf(name, sizeof(name), "%s/%s", f->path, entry->d_name);
        (void) unlink(name);
    }

    (void) closedir(dir);
    (void) rmdir(f->path);
}


FIXTURE_UNUSED static int
fixture_teardown(void **state)
{
    fixture_t  *f = *state;

    fixture_remove(f);
    free(f);

    return 0;
}


/* Key number n; the time of a key stands first, as in real ones. */
FIXTURE_UNUSED static void
fixture_key(uint8_t key[STORE_KEY_BYTES], unsigned n)
{
    memset(key, 0xa5, STORE_KEY_BYTES);
    key[0] = (uint8_t) (n >> 24);
    key[1] = (uint8_t) (n >> 16);
    key[2] = (uint8_t) (n >> 8);
    key[3] = (uint8_t) n;
    key[12] = (uint8_t) (n >> 8);
    key[13] = (uint8_t) n;
}


FIXTURE_UNUSED static int
fixture_apply(fixture_t *f, store_op_t *op)
{
    int          rc;
    store_op_t  *ops[1];

    ops[0] = op;
    op->result = 12345;

    rc = store_batch_apply(f->store, ops, 1);

    assert_int_not_equal(op->result, 12345);

    if (store_expected(op->result)) {
        assert_int_equal(rc, STORE_OK);

    } else {
        assert_int_equal(rc, op->result);
    }

    return op->result;
}


FIXTURE_UNUSED static void
fixture_op(store_op_t *op, store_op_kind_t kind, int64_t now)
{
    memset(op, 0, sizeof(store_op_t));
    op->kind = kind;
    op->actor = STORE_BY_USER;
    op->now = now;

    assert_int_equal(store_text_set(&op->address, "192.0.2.7", 9), STORE_OK);
    store_agent_set(&op->agent, "test/1.0", 8);
}


/* Realm "default", generation 1. */
FIXTURE_UNUSED static void
fixture_user(fixture_t *f, const char *login, uint8_t id[STORE_USER_BYTES])
{
    store_op_t  op;

    fixture_op(&op, STORE_OP_USER_CREATE, FIXTURE_NOW);

    assert_int_equal(store_realm_set(&op.realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&op.login, login, strlen(login)),
                     STORE_OK);
    assert_int_equal(store_text_set(&op.name, "Ann Example", 11), STORE_OK);
    assert_int_equal(store_roles_set(&op.roles, "admin", 5), STORE_OK);
    assert_int_equal(store_text_set(&op.phc, "$argon2id$fake", 14), STORE_OK);

    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    memcpy(id, op.user, STORE_USER_BYTES);
}


/* Idle 1 hour, lifetime 1 day, limit 20. */
FIXTURE_UNUSED static void
fixture_sign_in_op(store_op_t *op, const uint8_t id[STORE_USER_BYTES],
    unsigned n, int64_t now)
{
    fixture_op(op, STORE_OP_SIGN_IN, now);

    memcpy(op->user, id, STORE_USER_BYTES);
    fixture_key(op->key, n);
    op->generation = 1;
    op->idle = 3600;
    op->lifetime = 86400;
    op->limit = 20;
}


FIXTURE_UNUSED static int
fixture_sign_in(fixture_t *f, const uint8_t id[STORE_USER_BYTES], unsigned n,
    int64_t now)
{
    store_op_t  op;

    fixture_sign_in_op(&op, id, n, now);

    return fixture_apply(f, &op);
}


FIXTURE_UNUSED static int
fixture_get(fixture_t *f, unsigned n, store_session_t *session)
{
    uint8_t  key[STORE_KEY_BYTES];

    fixture_key(key, n);

    return store_session_get(f->store, key, session);
}


FIXTURE_UNUSED static int
fixture_problem(const char *problem, void *data)
{
    (void) data;

    print_error("problem: %s\n", problem);

    return 0;
}


/* Every invariant holds. */
FIXTURE_UNUSED static void
fixture_sound(fixture_t *f)
{
    uint64_t  problems;

    assert_int_equal(store_check(f->store, fixture_problem, NULL, &problems),
                     STORE_OK);
    assert_int_equal(problems, 0);
}


/*
 * Runs a function in a child, which may open the store again, and gives back
 * what it returned (0 to 100).
 */
FIXTURE_UNUSED static int
fixture_child(int (*run)(fixture_t *f), fixture_t *f)
{
    int    status;
    pid_t  pid;

    (void) fflush(NULL);

    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        _exit(run(f));
    }

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));

    return WEXITSTATUS(status);
}


/* A whole test of this kind; 77 of the child: it cannot be tried here. */
static inline void
fixture_child_test(int (*run)(fixture_t *f))
{
    int        rc;
    fixture_t  f;

    fixture_directory(&f);
    rc = fixture_child(run, &f);
    fixture_remove(&f);

    if (rc == 77) {
        skip();
    }

    assert_int_equal(rc, 0);
}


#endif /* STORE_FIXTURE_H_INCLUDED */
