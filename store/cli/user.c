#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "duration.h"
#include "json.h"
#include "options.h"
#include "output.h"
#include "show.h"
#include "user.h"


/* What a listing carries through its visitor. */
typedef struct {
    const cli_t  *cli;
    cli_json_t    json;
} cli_user_list_t;


static int cli_user_roles(cli_t *cli, int argc, char **argv);
static int cli_user_name(cli_t *cli, int argc, char **argv);
static int cli_user_disable(cli_t *cli, int argc, char **argv);
static int cli_user_enable(cli_t *cli, int argc, char **argv);
static int cli_user_delete(cli_t *cli, int argc, char **argv);
static int cli_user_list(cli_t *cli, int argc, char **argv);
static int cli_user_show(cli_t *cli, int argc, char **argv);
static int cli_user_begin(cli_t *cli, int argc, char **argv, const char *form,
    const char **words, store_t **store, store_user_t *user);
static int cli_user_simple(cli_t *cli, int argc, char **argv,
    store_op_kind_t kind, const char *did);
static const char *cli_user_did(store_op_kind_t kind);
static int cli_user_list_one(const store_user_t *user, void *data);


#define CLI_USER_TAKES  (CLI_TAKES_STORE|CLI_TAKES_REALM|CLI_TAKES_JSON)

const cli_command_t  cli_user_commands[] = {

    { "add", "add a user", cli_user_add, NULL, CLI_USER_TAKES,
      cli_user_add_help },

    { "passwd", "set a password", cli_user_passwd, NULL, CLI_USER_TAKES,
      cli_user_passwd_help },

    { "roles", "set the roles", cli_user_roles, NULL, CLI_USER_TAKES,
      "usage: sessionctl user roles LOGIN ROLE,... [--realm NAME]\n"
      "                             [--store PATH] [--json]\n"
      "\n"
      "Replaces the roles of a user, in live sessions too.  An empty word\n"
      "(\"\") takes all roles away.\n" },

    { "name", "set the name", cli_user_name, NULL, CLI_USER_TAKES,
      "usage: sessionctl user name LOGIN NAME [--realm NAME] [--store PATH]\n"
      "                            [--json]\n"
      "\n"
      "Replaces the name of a user, in live sessions too.\n" },

    { "disable", "end all sessions and refuse new ones", cli_user_disable,
      NULL, CLI_USER_TAKES,
      "usage: sessionctl user disable LOGIN [--realm NAME] [--store PATH]\n"
      "                               [--json]\n"
      "\n"
      "Ends all sessions of a user, who cannot sign in until user enable.\n" },

    { "enable", "let a disabled user sign in again", cli_user_enable, NULL,
      CLI_USER_TAKES,
      "usage: sessionctl user enable LOGIN [--realm NAME] [--store PATH]\n"
      "                              [--json]\n"
      "\n"
      "Lets a disabled user sign in again.  Ended sessions stay ended.\n" },

    { "delete", "end all sessions and forget the user", cli_user_delete, NULL,
      CLI_USER_TAKES,
      "usage: sessionctl user delete LOGIN [--realm NAME] [--store PATH]\n"
      "                              [--json]\n"
      "\n"
      "Ends all sessions of a user and removes the user.  There is no way\n"
      "back; the login may be used for somebody else afterwards.\n" },

    { "list", "list the users of a realm", cli_user_list, NULL,
      CLI_USER_TAKES,
      "usage: sessionctl user list [--realm NAME] [--store PATH] [--json]\n"
      "\n"
      "Lists the users of a realm.\n" },

    { "show", "show a user", cli_user_show, NULL, CLI_USER_TAKES,
      "usage: sessionctl user show LOGIN [--realm NAME] [--store PATH]\n"
      "                            [--json]\n"
      "\n"
      "Shows a user and the user's live sessions.\n" },

    { NULL, NULL, NULL, NULL, 0, NULL }
};


static int
cli_user_begin(cli_t *cli, int argc, char **argv, const char *form,
    const char **words, store_t **store, store_user_t *user)
{
    int  rc;

    rc = cli_options(cli, argc, argv, NULL, form, words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, store);
    }

    if (rc == CLI_OK) {
        rc = cli_user_find(cli, *store, words[0], user);
    }

    return rc;
}


static int
cli_user_roles(cli_t *cli, int argc, char **argv)
{
    int           rc;
    char          did[STORE_ROLES_MAX + 32];
    store_t      *store;
    store_op_t    op;
    const char   *words[CLI_WORDS_MAX];
    store_user_t  user;

    rc = cli_user_begin(cli, argc, argv, "LOGIN ROLE,...", words, &store,
                        &user);
    if (rc != CLI_OK) {
        return rc;
    }

    cli_op(&op, STORE_OP_USER_ROLES);
    memcpy(op.user, user.id, STORE_USER_BYTES);

    if (store_roles_set(&op.roles, words[1], strlen(words[1])) != STORE_OK) {
        cli_error("roles \"%s\": a role is 1 to %d of A-Z, a-z, 0-9, \"_\", "
                  "\".\", \":\" and \"-\", all together %d bytes", words[1],
                  STORE_ROLE_MAX, STORE_ROLES_MAX);
        return CLI_FAILED;
    }

    (void) snprintf(did, sizeof(did), op.roles.len ? "has the roles %s"
                                                   : "has no roles",
                    op.roles.data);

    return cli_user_change(cli, store, &op, user.login.data, did, NULL);
}


static int
cli_user_name(cli_t *cli, int argc, char **argv)
{
    int           rc;
    store_t      *store;
    store_op_t    op;
    const char   *words[CLI_WORDS_MAX];
    store_user_t  user;

    rc = cli_user_begin(cli, argc, argv, "LOGIN NAME", words, &store, &user);

    if (rc != CLI_OK) {
        return rc;
    }

    cli_op(&op, STORE_OP_USER_NAME);
    memcpy(op.user, user.id, STORE_USER_BYTES);

    if (store_text_set(&op.name, words[1], strlen(words[1])) != STORE_OK) {
        cli_error("name \"%s\" is not at most %d bytes of UTF-8 without "
                  "control characters and without spaces at the ends",
                  words[1], STORE_NAME_MAX);
        return CLI_FAILED;
    }

    return cli_user_change(cli, store, &op, user.login.data, "has a new name",
                           NULL);
}


static int
cli_user_disable(cli_t *cli, int argc, char **argv)
{
    return cli_user_simple(cli, argc, argv, STORE_OP_USER_DISABLE, "disabled");
}


static int
cli_user_enable(cli_t *cli, int argc, char **argv)
{
    return cli_user_simple(cli, argc, argv, STORE_OP_USER_ENABLE, "enabled");
}


static int
cli_user_delete(cli_t *cli, int argc, char **argv)
{
    return cli_user_simple(cli, argc, argv, STORE_OP_USER_DELETE, "deleted");
}


static int
cli_user_simple(cli_t *cli, int argc, char **argv, store_op_kind_t kind,
    const char *did)
{
    int           rc;
    store_t      *store;
    store_op_t    op;
    const char   *words[CLI_WORDS_MAX];
    store_user_t  user;

    rc = cli_user_begin(cli, argc, argv, "LOGIN", words, &store, &user);

    if (rc != CLI_OK) {
        return rc;
    }

    cli_op(&op, kind);
    memcpy(op.user, user.id, STORE_USER_BYTES);

    return cli_user_change(cli, store, &op, user.login.data, did, NULL);
}


int
cli_user_change(const cli_t *cli, store_t *store, store_op_t *op,
    const char *login, const char *did, const cli_ask_t *ask)
{
    int          rc;
    char         id[CLI_USER_ID_CHARS + 1];
    cli_json_t   json;
    store_op_t  *ops[1];

    ops[0] = op;
    rc = cli_store_apply(cli, store, ops, 1);

    store_wipe(&op->phc, sizeof(op->phc));

    if (rc != CLI_OK) {
        return rc;
    }

    if (op->result != STORE_OK) {
        return cli_refuse(op->result, "user \"%s\" in realm \"%s\"", login,
                          cli->realm.data);
    }

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_json_text(&json, "login", login, strlen(login));
        cli_json_text(&json, "realm", cli->realm.data, cli->realm.len);
        cli_json_text(&json, "id", cli_user_id(op->user, id),
                      CLI_USER_ID_CHARS);
        cli_json_text(&json, "did", cli_user_did(op->kind),
                      strlen(cli_user_did(op->kind)));
        cli_json_number(&json, "sessions_ended", op->count);

        if (ask && ask->generate) {
            cli_json_text(&json, "password", ask->generated,
                          STORE_GENERATED_CHARS);
        }

        cli_json_end(&json, '}');
        return CLI_OK;
    }

    (void) printf("user \"%s\" in realm \"%s\" %s", login, cli->realm.data,
                  did);

    if (op->count) {
        (void) printf("; %" PRIu32 " session%s ended", op->count,
                      op->count == 1 ? "" : "s");
    }

    (void) putchar('\n');

    if (ask && ask->generate) {
        (void) printf("password: %s\n", ask->generated);
    }

    return CLI_OK;
}


/* For programs: a word that does not change with the text for people. */
static const char *
cli_user_did(store_op_kind_t kind)
{
    switch (kind) {

    case STORE_OP_USER_CREATE:
        return "add";

    case STORE_OP_USER_PASSWORD:
        return "passwd";

    case STORE_OP_USER_ROLES:
        return "roles";

    case STORE_OP_USER_NAME:
        return "name";

    case STORE_OP_USER_DISABLE:
        return "disable";

    case STORE_OP_USER_ENABLE:
        return "enable";

    default: /* STORE_OP_USER_DELETE */
        return "delete";
    }
}


static int
cli_user_list(cli_t *cli, int argc, char **argv)
{
    int              rc;
    store_t         *store;
    const char      *words[CLI_WORDS_MAX];
    cli_user_list_t  list;

    rc = cli_options(cli, argc, argv, NULL, "", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    list.cli = cli;

    if (cli->json) {
        cli_json_begin(&list.json);
        cli_json_array(&list.json, NULL);

    } else {
        cli_cell("LOGIN", 26);
        cli_cell("STATE", 10);
        cli_cell("SIGNED IN", 22);
        cli_cell("ROLES", 21);
        (void) puts("NAME");
    }

    rc = store_user_each(store, cli_user_list_one, &list);

    if (cli->json) {
        cli_json_end(&list.json, ']');
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    return CLI_OK;
}


static int
cli_user_list_one(const store_user_t *user, void *data)
{
    char              text[CLI_TIME_CHARS];
    const char       *state;
    cli_user_list_t  *list;

    list = data;

    if (!cli_in_realm(list->cli, &user->realm)) {
        return STORE_OK;
    }

    if (list->cli->json) {
        cli_user_json(&list->json, NULL, user);
        return STORE_OK;
    }

    state = user->phc.len ? "enabled" : "no passwd";

    if (user->flags & STORE_USER_DISABLED) {
        state = "disabled";
    }

    cli_cell(user->login.data, 26);
    cli_cell(state, 10);
    cli_cell(cli_time_write(user->signed_in, text), 22);
    cli_cell(user->roles.len ? user->roles.data : "-", 21);
    (void) printf("%s\n", user->name.data);

    return STORE_OK;
}


static int
cli_user_show(cli_t *cli, int argc, char **argv)
{
    int              rc;
    size_t           i, n;
    store_t         *store;
    int64_t          now;
    cli_json_t       json;
    const char      *words[CLI_WORDS_MAX];
    store_user_t     user;
    store_session_t  sessions[STORE_USER_SESSIONS_MAX];

    rc = cli_user_begin(cli, argc, argv, "LOGIN", words, &store, &user);

    if (rc != CLI_OK) {
        return rc;
    }

    n = STORE_USER_SESSIONS_MAX;
    rc = store_session_list(store, user.id, sessions, &n);

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    now = (int64_t) time(NULL);

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_user_json(&json, "user", &user);
        cli_json_array(&json, "sessions");

        for (i = 0; i < n; i++) {
            cli_session_json(&json, NULL, &sessions[i], now);
        }

        cli_json_end(&json, ']');
        cli_json_end(&json, '}');
        return CLI_OK;
    }

    cli_user_lines(&user);

    if (n) {
        (void) putchar('\n');
        cli_session_head();
    }

    for (i = 0; i < n; i++) {
        cli_session_row(&sessions[i], now);
    }

    return CLI_OK;
}
