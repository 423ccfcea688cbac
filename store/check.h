/*
 * check.h: the walk of store_check(), shared by the files that know one
 * environment each.  One transaction for each environment: rows must be
 * compared as of one moment, so a check of a large store keeps old pages.
 */

#ifndef STORE_CHECK_H_INCLUDED
#define STORE_CHECK_H_INCLUDED


#include "write.h"


typedef struct {
    store_t           *store;
    MDB_txn           *txn;
    const MDB_dbi     *db;
    store_problem_pt   problem;
    void              *data;
    uint64_t           found;
} store_checker_t;

typedef int (*store_check_row_pt)(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);


/* Calls row for each; what it returns other than 0 ends the walk. */
int store_check_rows(store_checker_t *c, MDB_dbi db, size_t key_len,
    const char *name, store_check_row_pt row, void *state) STORE_CHECK_RESULT;

/* Reports; returns what the caller's function returned. */
__attribute__((format(printf, 2, 3)))
int store_check_report(store_checker_t *c, const char *format, ...)
    STORE_CHECK_RESULT;

/* Reports when the entry is not there. */
__attribute__((format(printf, 5, 6)))
int store_check_has(store_checker_t *c, MDB_dbi db, const void *key,
    size_t key_len, const char *format, ...) STORE_CHECK_RESULT;

int store_check_text(const char *data, size_t n, size_t max);

int store_check_sessions(store_checker_t *c) STORE_CHECK_RESULT;
int store_check_users(store_checker_t *c) STORE_CHECK_RESULT;
int store_check_changes(store_checker_t *c) STORE_CHECK_RESULT;
int store_check_events(store_checker_t *c) STORE_CHECK_RESULT;


#endif /* STORE_CHECK_H_INCLUDED */
