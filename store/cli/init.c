#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access.h"
#include "json.h"
#include "options.h"
#include "output.h"


const char  cli_init_help[] =
    "usage: sessionctl init [PATH] [--owner USER[:GROUP]] [--store PATH]\n"
    "                       [--json]\n"
    "\n"
    "Makes an empty store: a directory of mode 0700 and the files in it.\n"
    "PATH is another way to write --store PATH.  A store that is there is\n"
    "left as it is, and that is an error; what is missing of one is made.\n"
    "\n"
    "  --owner USER[:GROUP]  who owns the store, by name or number: the user\n"
    "                        of nginx's workers.  For root; others own what\n"
    "                        they make.\n";


static int cli_owner(const char *text, uid_t *uid, gid_t *gid);
static int cli_id(const char *text, unsigned long *id);


int
cli_init(cli_t *cli, int argc, char **argv)
{
    int              rc;
    char             why[STORE_WHY_CHARS];
    uid_t            uid;
    gid_t            gid;
    cli_json_t       json;
    const char      *owner, *words[CLI_WORDS_MAX];
    store_options_t  options;

    const cli_option_t  own[] = {
        { "owner", CLI_TEXT, &owner },
        { NULL, CLI_FLAG, NULL }
    };

    owner = NULL;

    rc = cli_options(cli, argc, argv, own, "[PATH]", words);

    if (rc != CLI_OK) {
        return rc;
    }

    if (words[0] && cli->store) {
        return cli_usage(cli, "the path is given twice");
    }

    if (words[0]) {
        cli->store = words[0];
    }

    uid = (uid_t) -1;
    gid = (gid_t) -1;

    if (owner && cli_owner(owner, &uid, &gid) != CLI_OK) {
        return CLI_FAILED;
    }

    memset(&options, 0, sizeof(options));
    options.path = cli_store_path(cli);

    rc = store_init(&options, uid, gid, why);

    if (rc != STORE_OK) {
        cli_store_error(cli, why);
        return rc == STORE_UNSAFE || rc == STORE_BUSY || rc == STORE_VERSION
               ? CLI_STORE : CLI_FAILED;
    }

    if (owner == NULL && geteuid() == 0) {
        cli_error("\"%s\" belongs to root; unless nginx's workers run as root, "
                  "remove it and run init with --owner USER", options.path);
    }

    cli_store_remark(cli);

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_json_text(&json, "store", options.path, strlen(options.path));
        cli_json_end(&json, '}');

    } else {
        (void) printf("store \"%s\" made\n", options.path);
    }

    return CLI_OK;
}


/* As chown(1) has it: without a group the user's own one. */
static int
cli_owner(const char *text, uid_t *uid, gid_t *gid)
{
    char            name[256];
    size_t          n;
    const char     *colon;
    unsigned long   id;
    struct group   *group;
    struct passwd  *user;

    colon = strchr(text, ':');
    n = colon ? (size_t) (colon - text) : strlen(text);

    if (n == 0 || n >= sizeof(name)) {
        cli_error("--owner: \"%s\" is no user", text);
        return CLI_FAILED;
    }

    memcpy(name, text, n);
    name[n] = '\0';

    user = getpwnam(name);

    if (user) {
        *uid = user->pw_uid;
        *gid = user->pw_gid;

    } else if (cli_id(name, &id)) {
        *uid = (uid_t) id;

        user = getpwuid(*uid);
        *gid = user ? user->pw_gid : (gid_t) id;

    } else {
        cli_error("--owner: there is no user \"%s\"", name);
        return CLI_FAILED;
    }

    if (colon == NULL) {
        return CLI_OK;
    }

    group = getgrnam(colon + 1);

    if (group) {
        *gid = group->gr_gid;

    } else if (cli_id(colon + 1, &id)) {
        *gid = (gid_t) id;

    } else {
        cli_error("--owner: there is no group \"%s\"", colon + 1);
        return CLI_FAILED;
    }

    return CLI_OK;
}


static int
cli_id(const char *text, unsigned long *id)
{
    char  *end;

    if (*text < '0' || *text > '9') {
        return 0;
    }

    errno = 0;
    *id = strtoul(text, &end, 10);

    return errno == 0 && *end == '\0' && *id < UINT32_MAX;
}
