#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "revoke.h"


const char  cli_session_revoke_help[] =
    "usage: sessionctl session revoke REF | --user LOGIN | --all |\n"
    "                                 --older-than TIME [--user LOGIN]\n"
    "                                 [--realm NAME] [--store PATH] [--json]\n"
    "                                 [--progress]\n"
    "\n"
    "Ends sessions: the next request of each is refused.  They stay in the\n"
    "store until they would have expired, so that why can tell.\n"
    "\n"
    "  REF                one session\n"
    "  --user LOGIN       all sessions of a user\n"
    "  --all              all sessions of the realm\n"
    "  --older-than TIME  those that began longer ago: 12h, 7d, 2w\n";


/* Which sessions, and the keys of those that were met. */
typedef struct {
    const cli_t  *cli;
    const char   *ref;
    const char   *login;
    int           all;
    int64_t       older;        /* seconds, -1: not given */
    int64_t       before;       /* the latest beginning that is meant */
    uint8_t     (*keys)[STORE_KEY_BYTES];
    size_t        n;
    size_t        room;
} cli_revoke_t;


static int cli_revoke_check(const cli_t *cli, const cli_revoke_t *revoke);
static int cli_revoke_find(store_t *store, cli_revoke_t *revoke);
static int cli_revoke_one(const store_session_t *session, void *data);
static int cli_revoke_keys(const cli_t *cli, store_t *store,
    const cli_revoke_t *revoke, uint64_t *ended);
static int cli_revoke_batch(const cli_t *cli, store_t *store,
    const cli_revoke_t *revoke, size_t at, size_t n, store_op_t *ops,
    uint64_t *ended);


int
cli_session_revoke(cli_t *cli, int argc, char **argv)
{
    int            rc;
    store_t       *store;
    uint64_t       ended;
    cli_json_t     json;
    const char    *words[CLI_WORDS_MAX];
    cli_revoke_t   revoke;

    const cli_option_t  own[] = {
        { "user", CLI_TEXT, &revoke.login },
        { "all", CLI_FLAG, &revoke.all },
        { "older-than", CLI_DURATION, &revoke.older },
        { NULL, CLI_FLAG, NULL }
    };

    memset(&revoke, 0, sizeof(revoke));
    revoke.cli = cli;
    revoke.older = -1;

    rc = cli_options(cli, argc, argv, own, "[REF]", words);

    revoke.ref = words[0];

    if (rc == CLI_OK) {
        rc = cli_revoke_check(cli, &revoke);
    }

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc == CLI_OK) {
        rc = cli_revoke_find(store, &revoke);
    }

    ended = 0;

    if (rc == CLI_OK) {
        rc = cli_revoke_keys(cli, store, &revoke, &ended);
    }

    free(revoke.keys);

    if (rc != CLI_OK) {
        return rc;
    }

    if (revoke.ref && ended == 0) {
        cli_error("session \"%s\" is over already", revoke.ref);
        return CLI_NOT_FOUND;
    }

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_json_number(&json, "sessions_ended", ended);
        cli_json_end(&json, '}');

    } else {
        (void) printf("%" PRIu64 " session%s ended\n", ended,
                      ended == 1 ? "" : "s");
    }

    return CLI_OK;
}


static int
cli_revoke_check(const cli_t *cli, const cli_revoke_t *revoke)
{
    if (revoke->ref && (revoke->login || revoke->all || revoke->older >= 0)) {
        return cli_usage(cli, "REF names one session, so no option may choose "
                         "others");
    }

    if (revoke->all && (revoke->login || revoke->older >= 0)) {
        return cli_usage(cli, "--all goes with neither --user nor "
                         "--older-than");
    }

    if (!revoke->ref && !revoke->login && !revoke->all && revoke->older < 0) {
        return cli_usage(cli, "REF, --user, --all or --older-than is missing");
    }

    return CLI_OK;
}


/*
 * The keys are collected first, because a visitor must not write.  A session
 * that begins meanwhile began after "now" and is not meant.
 */
static int
cli_revoke_find(store_t *store, cli_revoke_t *revoke)
{
    int              rc;
    size_t           i, n;
    store_op_t       op;
    store_user_t     user;
    store_session_t  sessions[STORE_USER_SESSIONS_MAX];

    cli_op(&op, STORE_OP_END);
    revoke->before = INT64_MAX;

    if (revoke->older >= 0) {
        revoke->before = op.now - revoke->older;
    }

    if (revoke->ref) {
        rc = cli_session_find(revoke->cli, store, revoke->ref, &sessions[0]);

        if (rc != CLI_OK) {
            return rc;
        }

        n = 1;

    } else if (revoke->login) {
        rc = cli_user_find(revoke->cli, store, revoke->login, &user);

        if (rc != CLI_OK) {
            return rc;
        }

        n = STORE_USER_SESSIONS_MAX;
        rc = store_session_list(store, user.id, sessions, &n);

    } else {
        n = 0;
        rc = store_session_each(store, cli_revoke_one, revoke);
    }

    for (i = 0; rc == STORE_OK && i < n; i++) {
        rc = cli_revoke_one(&sessions[i], revoke);
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(revoke->cli));
    }

    return CLI_OK;
}


static int
cli_revoke_one(const store_session_t *session, void *data)
{
    void          *keys;
    size_t         room;
    cli_revoke_t  *revoke;

    revoke = data;

    if (session->end != STORE_END_NONE || session->created > revoke->before
        || !cli_in_realm(revoke->cli, &session->realm))
    {
        return STORE_OK;
    }

    if (revoke->n == revoke->room) {
        room = revoke->room ? revoke->room * 2 : STORE_BATCH_MAX;
        keys = realloc(revoke->keys, room * sizeof(revoke->keys[0]));

        if (keys == NULL) {
            return ENOMEM;
        }

        revoke->keys = keys;
        revoke->room = room;
    }

    memcpy(revoke->keys[revoke->n++], session->key, STORE_KEY_BYTES);

    return STORE_OK;
}


static int
cli_revoke_keys(const cli_t *cli, store_t *store, const cli_revoke_t *revoke,
    uint64_t *ended)
{
    int              rc;
    size_t           at, n;
    store_op_t      *ops;
    cli_progress_t   progress;

    ops = calloc(STORE_BATCH_MAX, sizeof(store_op_t));

    if (ops == NULL) {
        return cli_refuse(ENOMEM, "revoke");
    }

    rc = CLI_OK;
    cli_progress_begin(&progress, cli, "sessions ended:");

    for (at = 0; at < revoke->n && rc == CLI_OK; at += n) {
        n = revoke->n - at < STORE_BATCH_MAX ? revoke->n - at
                                             : STORE_BATCH_MAX;

        rc = cli_revoke_batch(cli, store, revoke, at, n, ops, ended);

        cli_progress_show(*ended, &progress);
    }

    if (progress.shown) {
        cli_progress_end(&progress, *ended);
    }

    free(ops);

    return rc;
}


/* Somebody else may have ended one meanwhile; that is as good. */
static int
cli_revoke_batch(const cli_t *cli, store_t *store, const cli_revoke_t *revoke,
    size_t at, size_t n, store_op_t *ops, uint64_t *ended)
{
    int          rc;
    size_t       i;
    store_op_t  *list[STORE_BATCH_MAX];

    for (i = 0; i < n; i++) {
        cli_op(&ops[i], STORE_OP_END);
        ops[i].end = STORE_END_REVOKED;
        memcpy(ops[i].key, revoke->keys[at + i], STORE_KEY_BYTES);
        list[i] = &ops[i];
    }

    rc = cli_store_apply(cli, store, list, n);

    for (i = 0; rc == CLI_OK && i < n; i++) {
        if (ops[i].result == STORE_OK) {
            (*ended)++;

        } else if (ops[i].result != STORE_NOT_FOUND) {
            rc = cli_refuse(ops[i].result, "a session could not be ended");
        }
    }

    return rc;
}
