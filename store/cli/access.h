/*
 * access.h: how commands get at the store.
 */

#ifndef CLI_ACCESS_H_INCLUDED
#define CLI_ACCESS_H_INCLUDED


#include "cli.h"


#define CLI_USER_ID_CHARS  (STORE_USER_BYTES * 2)


/* --store, else $SESSION_STORE, else CLI_STORE_DEFAULT. */
const char *cli_store_path(const cli_t *cli);

/* A message about the store that says where its path came from. */
void cli_store_error(const cli_t *cli, const char *why);

/* Remarks on the file system that it is on. */
void cli_store_remark(const cli_t *cli);

/*
 * Becomes the owner of the store if root, for good, and opens it.  CLI_OK, or
 * CLI_STORE after a message.
 */
int cli_store_open(const cli_t *cli, store_t **store);

/*
 * Applies up to STORE_BATCH_MAX operations and copies the change feed into
 * the events.  The result of each stands in it.  CLI_OK, or the exit code
 * after a message if the store failed.
 */
int cli_store_apply(const cli_t *cli, store_t *store, store_op_t **ops,
    size_t n);

/* An operation by this program, now. */
void cli_op(store_op_t *op, store_op_kind_t kind);

/* CLI_OK, or the exit code after a message. */
int cli_user_find(const cli_t *cli, store_t *store, const char *login,
    store_user_t *user);
int cli_session_find(const cli_t *cli, store_t *store, const char *ref,
    store_session_t *session);

/* 16 hex digits, as $session_user_id has them. */
const char *cli_user_id(const uint8_t id[STORE_USER_BYTES],
    char text[CLI_USER_ID_CHARS + 1]);

/* 1 when the record belongs to the realm of the command line. */
int cli_in_realm(const cli_t *cli, const store_realm_t *realm);

/*
 * Runs `run` in a child process, so that root can use the store as its owner
 * and be root afterwards.  Returns what run returned; SIGINT, SIGTERM and
 * SIGHUP end the child, and then CLI_FAILED is returned.  `tick` (may be
 * NULL) is called in this process now and then while the other one works.
 */
typedef int (*cli_child_pt)(const cli_t *cli, void *data);
typedef void (*cli_tick_pt)(void *data);

int cli_child(const cli_t *cli, cli_child_pt run, cli_tick_pt tick,
    void *data);


#endif /* CLI_ACCESS_H_INCLUDED */
