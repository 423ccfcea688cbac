#include <string.h>
#include <time.h>

#include "access.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "revoke.h"
#include "show.h"


typedef struct {
    const cli_t  *cli;
    int           ended;        /* those that are over as well */
    int64_t       now;
    cli_json_t    json;
} cli_session_list_t;


static int cli_session_list(cli_t *cli, int argc, char **argv);
static int cli_session_show(cli_t *cli, int argc, char **argv);
static int cli_session_list_user(store_t *store, const char *login,
    cli_session_list_t *list);
static int cli_session_list_one(const store_session_t *session, void *data);


const cli_command_t  cli_session_commands[] = {

    { "list", "list the sessions of a realm", cli_session_list, NULL,
      CLI_TAKES_STORE|CLI_TAKES_REALM|CLI_TAKES_JSON,
      "usage: sessionctl session list [--user LOGIN | --ended] [--realm NAME]\n"
      "                               [--store PATH] [--json]\n"
      "\n"
      "Lists the sessions of a realm that are valid now, oldest first.\n"
      "\n"
      "  --user LOGIN  only the sessions of this user, newest first\n"
      "  --ended       those as well that are over and not swept yet\n" },

    { "show", "show a session", cli_session_show, NULL,
      CLI_TAKES_STORE|CLI_TAKES_REALM|CLI_TAKES_JSON,
      "usage: sessionctl session show REF [--realm NAME] [--store PATH]\n"
      "                               [--json]\n"
      "\n"
      "Shows a session.  REF is what $session_ref and session list show; it\n"
      "is no secret.\n" },

    { "revoke", "end sessions", cli_session_revoke, NULL,
      CLI_TAKES_STORE|CLI_TAKES_REALM|CLI_TAKES_JSON|CLI_TAKES_PROGRESS,
      cli_session_revoke_help },

    { NULL, NULL, NULL, NULL, 0, NULL }
};


static int
cli_session_list(cli_t *cli, int argc, char **argv)
{
    int                  rc;
    store_t             *store;
    const char          *login, *words[CLI_WORDS_MAX];
    cli_session_list_t   list;

    const cli_option_t  own[] = {
        { "user", CLI_TEXT, &login },
        { "ended", CLI_FLAG, &list.ended },
        { NULL, CLI_FLAG, NULL }
    };

    login = NULL;
    memset(&list, 0, sizeof(list));

    rc = cli_options(cli, argc, argv, own, "", words);

    if (rc == CLI_OK && login && list.ended) {
        rc = cli_usage(cli, "--user and --ended exclude one another");
    }

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    list.cli = cli;
    list.now = (int64_t) time(NULL);

    if (login) {
        return cli_session_list_user(store, login, &list);
    }

    if (cli->json) {
        cli_json_begin(&list.json);
        cli_json_array(&list.json, NULL);

    } else {
        cli_session_head();
    }

    rc = store_session_each(store, cli_session_list_one, &list);

    if (cli->json) {
        cli_json_end(&list.json, ']');
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    return CLI_OK;
}


static int
cli_session_list_user(store_t *store, const char *login,
    cli_session_list_t *list)
{
    int              rc;
    size_t           i, n;
    store_user_t     user;
    store_session_t  sessions[STORE_USER_SESSIONS_MAX];

    rc = cli_user_find(list->cli, store, login, &user);

    if (rc != CLI_OK) {
        return rc;
    }

    n = STORE_USER_SESSIONS_MAX;
    rc = store_session_list(store, user.id, sessions, &n);

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(list->cli));
    }

    if (list->cli->json) {
        cli_json_begin(&list->json);
        cli_json_array(&list->json, NULL);

    } else {
        cli_session_head();
    }

    for (i = 0; i < n; i++) {
        (void) cli_session_list_one(&sessions[i], list);
    }

    if (list->cli->json) {
        cli_json_end(&list->json, ']');
    }

    return CLI_OK;
}


static int
cli_session_list_one(const store_session_t *session, void *data)
{
    cli_session_list_t  *list;

    list = data;

    if (!cli_in_realm(list->cli, &session->realm)) {
        return STORE_OK;
    }

    if (!list->ended && cli_session_judge(session, list->now) != STORE_OK) {
        return STORE_OK;
    }

    if (list->cli->json) {
        cli_session_json(&list->json, NULL, session, list->now);

    } else {
        cli_session_row(session, list->now);
    }

    return STORE_OK;
}


static int
cli_session_show(cli_t *cli, int argc, char **argv)
{
    int              rc;
    int64_t          now;
    store_t         *store;
    cli_json_t       json;
    const char      *words[CLI_WORDS_MAX];
    store_session_t  session;

    rc = cli_options(cli, argc, argv, NULL, "REF", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc == CLI_OK) {
        rc = cli_session_find(cli, store, words[0], &session);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    now = (int64_t) time(NULL);

    if (cli->json) {
        cli_json_begin(&json);
        cli_session_json(&json, NULL, &session, now);

    } else {
        cli_session_lines(&session, now);
    }

    return CLI_OK;
}
