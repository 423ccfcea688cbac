#include <string.h>

#include "access.h"
#include "options.h"
#include "output.h"
#include "user.h"


const char  cli_user_add_help[] =
    "usage: sessionctl user add LOGIN [--name NAME] [--roles ROLE,...]\n"
    "                           [--generate | --stdin | --no-password]\n"
    "                           [--min N] [--realm NAME] [--store PATH]\n"
    "                           [--json]\n"
    "\n"
    "Adds a user.  The password is asked for twice on the terminal; it is\n"
    "never taken from the command line.\n"
    "\n"
    "  --name NAME      for people to read (as the login)\n"
    "  --roles ROLE,... roles for session_require\n"
    "  --generate       draw a password and print it this once\n"
    "  --stdin          read the password from stdin, one line\n"
    "  --no-password    the user cannot sign in until user passwd sets one\n"
    "  --min N          fewest characters of a password, 8 or more (15)\n";

const char  cli_user_passwd_help[] =
    "usage: sessionctl user passwd LOGIN [--generate | --stdin] [--min N]\n"
    "                              [--realm NAME] [--store PATH] [--json]\n"
    "\n"
    "Sets a user's password and ends all sessions of the user.\n"
    "\n"
    "  --generate  draw a password and print it this once\n"
    "  --stdin     read the password from stdin, one line\n"
    "  --min N     fewest characters of a password, 8 or more (15)\n";


static int cli_user_fill(const cli_t *cli, store_op_t *op, const char *login,
    const char *name, const char *roles);
static int cli_user_absent(const cli_t *cli, store_t *store,
    const char *login);


int
cli_user_add(cli_t *cli, int argc, char **argv)
{
    int          rc, none;
    store_t     *store;
    cli_ask_t    ask;
    store_op_t   op;
    const char  *name, *roles, *words[CLI_WORDS_MAX];

    const cli_option_t  own[] = {
        { "name", CLI_TEXT, &name },
        { "roles", CLI_TEXT, &roles },
        { "generate", CLI_FLAG, &ask.generate },
        { "stdin", CLI_FLAG, &ask.from_stdin },
        { "no-password", CLI_FLAG, &none },
        { "min", CLI_NUMBER, &ask.min },
        { NULL, CLI_FLAG, NULL }
    };

    none = 0;
    name = NULL;
    roles = "";
    memset(&ask, 0, sizeof(ask));
    ask.min = CLI_PASSWORD_MIN;

    rc = cli_options(cli, argc, argv, own, "LOGIN", words);

    if (rc == CLI_OK) {
        rc = cli_ask_check(cli, &ask);
    }

    if (rc == CLI_OK && none && (ask.generate || ask.from_stdin)) {
        rc = cli_usage(cli, "--no-password needs no password");
    }

    if (rc != CLI_OK) {
        return rc;
    }

    cli_op(&op, STORE_OP_USER_CREATE);

    rc = cli_user_fill(cli, &op, words[0], name ? name : words[0], roles);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    /* nobody should think of a password for nothing */

    if (rc == CLI_OK) {
        rc = cli_user_absent(cli, store, words[0]);
    }

    if (rc == CLI_OK && !none) {
        rc = cli_ask(words[0], &ask, &op.phc);
    }

    if (rc == CLI_OK) {
        rc = cli_user_change(cli, store, &op, words[0], "added", &ask);
    }

    store_wipe(&ask, sizeof(ask));

    return rc;
}


int
cli_user_passwd(cli_t *cli, int argc, char **argv)
{
    int           rc;
    store_t      *store;
    cli_ask_t     ask;
    store_op_t    op;
    const char   *words[CLI_WORDS_MAX];
    store_user_t  user;

    const cli_option_t  own[] = {
        { "generate", CLI_FLAG, &ask.generate },
        { "stdin", CLI_FLAG, &ask.from_stdin },
        { "min", CLI_NUMBER, &ask.min },
        { NULL, CLI_FLAG, NULL }
    };

    memset(&ask, 0, sizeof(ask));
    ask.min = CLI_PASSWORD_MIN;

    rc = cli_options(cli, argc, argv, own, "LOGIN", words);

    if (rc == CLI_OK) {
        rc = cli_ask_check(cli, &ask);
    }

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc == CLI_OK) {
        rc = cli_user_find(cli, store, words[0], &user);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    cli_op(&op, STORE_OP_USER_PASSWORD);
    memcpy(op.user, user.id, STORE_USER_BYTES);

    rc = cli_ask(words[0], &ask, &op.phc);

    if (rc == CLI_OK) {
        rc = cli_user_change(cli, store, &op, user.login.data,
                             "has a new password", &ask);
    }

    store_wipe(&ask, sizeof(ask));

    return rc;
}


static int
cli_user_fill(const cli_t *cli, store_op_t *op, const char *login,
    const char *name, const char *roles)
{
    op->realm = cli->realm;

    if (*login == '\0'
        || store_text_set(&op->login, login, strlen(login)) != STORE_OK)
    {
        cli_error("login \"%s\" is not 1 to %d bytes of UTF-8 without control "
                  "characters and without spaces at the ends", login,
                  STORE_LOGIN_MAX);
        return CLI_FAILED;
    }

    if (store_text_set(&op->name, name, strlen(name)) != STORE_OK) {
        cli_error("name \"%s\" is not at most %d bytes of UTF-8 without "
                  "control characters and without spaces at the ends", name,
                  STORE_NAME_MAX);
        return CLI_FAILED;
    }

    if (store_roles_set(&op->roles, roles, strlen(roles)) != STORE_OK) {
        cli_error("roles \"%s\": a role is 1 to %d of A-Z, a-z, 0-9, \"_\", "
                  "\".\", \":\" and \"-\", all together %d bytes", roles,
                  STORE_ROLE_MAX, STORE_ROLES_MAX);
        return CLI_FAILED;
    }

    return CLI_OK;
}


static int
cli_user_absent(const cli_t *cli, store_t *store, const char *login)
{
    int           rc;
    store_user_t  user;

    rc = store_user_find(store, cli->realm.data, cli->realm.len, login,
                         strlen(login), &user);

    if (rc == STORE_NOT_FOUND) {
        return CLI_OK;
    }

    return cli_refuse(rc == STORE_OK ? STORE_EXISTS : rc,
                      "user \"%s\" in realm \"%s\"", login, cli->realm.data);
}
