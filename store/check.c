#include <stdarg.h>
#include <string.h>

#include "check.h"


#define STORE_PROBLEM_CHARS  512


static int store_check_env(store_checker_t *c, store_env_t *env,
    int (*const *parts)(store_checker_t *c), size_t n);
static int store_check_say(store_checker_t *c, const char *format,
    va_list args);


int
store_check(store_t *store, store_problem_pt problem, void *data,
    uint64_t *problems)
{
    int              rc;
    store_checker_t  c;

    static int (*const sessions[])(store_checker_t *c) = {
        store_check_sessions, store_check_users, store_check_changes
    };

    static int (*const events[])(store_checker_t *c) = {
        store_check_events
    };

    c.store = store;
    c.problem = problem;
    c.data = data;
    c.found = 0;

    rc = store_check_env(&c, store->sessions, sessions, 3);

    if (rc == STORE_OK) {
        rc = store_check_env(&c, store->events, events, 1);
    }

    *problems = c.found;

    return rc;
}


static int
store_check_env(store_checker_t *c, store_env_t *env,
    int (*const *parts)(store_checker_t *c), size_t n)
{
    int     rc;
    size_t  i;

    rc = store_read_begin(env, &c->txn);
    if (rc != STORE_OK) {
        return rc;
    }

    c->db = env->db;

    for (i = 0; rc == STORE_OK && i < n; i++) {
        rc = parts[i](c);
    }

    store_read_end(c->txn);

    return rc;
}


int
store_check_rows(store_checker_t *c, MDB_dbi db, size_t key_len,
    const char *name, store_check_row_pt row, void *state)
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    rc = mdb_cursor_open(c->txn, db, &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_step(cursor, MDB_FIRST, &k, &v);

    while (rc == STORE_OK) {

        if (key_len && k.mv_size != key_len) {
            rc = store_check_report(c, "%s: a key of %zu bytes", name,
                                    k.mv_size);

        } else {
            rc = row(c, &k, &v, state);
        }

        if (rc == STORE_OK) {
            rc = store_db_step(cursor, MDB_NEXT, &k, &v);
        }
    }

    mdb_cursor_close(cursor);

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


int
store_check_report(store_checker_t *c, const char *format, ...)
{
    int      rc;
    va_list  args;

    va_start(args, format);
    rc = store_check_say(c, format, args);
    va_end(args);

    return rc;
}


int
store_check_has(store_checker_t *c, MDB_dbi db, const void *key,
    size_t key_len, const char *format, ...)
{
    int      rc;
    va_list  args;
    MDB_val  value;

    rc = store_db_get(c->txn, db, key, key_len, &value);

    if (rc != STORE_NOT_FOUND) {
        return rc;
    }

    va_start(args, format);
    rc = store_check_say(c, format, args);
    va_end(args);

    return rc;
}


/* Without a visitor it only counts. */
static int
store_check_say(store_checker_t *c, const char *format, va_list args)
{
    char  text[STORE_PROBLEM_CHARS];

    c->found++;

    if (c->problem == NULL) {
        return STORE_OK;
    }

    (void) vsnprintf(text, sizeof(text), format, args);

    return c->problem(text, c->data);
}


int
store_check_text(const char *data, size_t n, size_t max)
{
    return store_op_text(data, n, max) == STORE_OK;
}
