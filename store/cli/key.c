#include <string.h>
#include <sys/mman.h>

#include "access.h"
#include "duration.h"
#include "json.h"
#include "options.h"
#include "output.h"


/* What the workers of nginx wrote into the store when they started.  Lies in
 * memory that the child process shares, so only plain members. */
typedef struct {
    unsigned  n;
    uint8_t   ids[STORE_SECRETS_MAX];
    int64_t   when;
    int       quiet;            /* in: no message when there is no store */
} cli_loaded_t;


static int cli_key_new(cli_t *cli, int argc, char **argv);
static int cli_key_add(cli_t *cli, int argc, char **argv);
static int cli_key_promote(cli_t *cli, int argc, char **argv);
static int cli_key_drop(cli_t *cli, int argc, char **argv);
static int cli_key_list(cli_t *cli, int argc, char **argv);
static int cli_key_done(const cli_t *cli, int rc, const char *why,
    const char *did, const char *file, const uint8_t *id);
static int cli_key_id(const cli_t *cli, const char *text, uint8_t *id);
static int cli_key_loaded(const cli_t *cli, cli_loaded_t **loaded, int quiet);
static int cli_key_loaded_child(const cli_t *cli, void *data);
static int cli_key_loaded_has(const cli_loaded_t *loaded, uint8_t id);
static void cli_key_show(const cli_t *cli, const store_secrets_t *secrets,
    const cli_loaded_t *loaded);
static void cli_key_show_json(const store_secrets_t *secrets,
    const cli_loaded_t *loaded);


const cli_command_t  cli_key_commands[] = {

    { "new", "make a keys file", cli_key_new, NULL, CLI_TAKES_JSON,
      "usage: sessionctl key new FILE [--json]\n"
      "\n"
      "Makes a keys file with one secret, of mode 0600.  A file that is there\n"
      "is never overwritten.\n" },

    { "add", "add a secret that verifies only", cli_key_add, NULL,
      CLI_TAKES_JSON,
      "usage: sessionctl key add FILE [--json]\n"
      "\n"
      "Appends a secret and prints its id.  It verifies and does not sign\n"
      "yet: reload nginx, then sessionctl key promote.  At most 8 secrets.\n" },

    { "promote", "let a secret sign", cli_key_promote, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON,
      "usage: sessionctl key promote FILE ID [--force] [--store PATH]\n"
      "                              [--json]\n"
      "\n"
      "Moves the secret to the first line, so that it signs after the next\n"
      "reload.  Refused until nginx has recorded in the store that it loaded\n"
      "this secret, or old workers would not know the cookies of new ones.\n"
      "\n"
      "  --force  do not ask the store; for when no nginx uses it\n" },

    { "drop", "remove a secret", cli_key_drop, NULL, CLI_TAKES_JSON,
      "usage: sessionctl key drop FILE ID [--json]\n"
      "\n"
      "Removes the secret.  After the next reload, cookies signed by it and\n"
      "not renewed since are worth nothing: their owners sign in again.  The\n"
      "first secret cannot be dropped; promote another one before.\n" },

    { "list", "show the ids of a keys file", cli_key_list, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON,
      "usage: sessionctl key list FILE [--store PATH] [--json]\n"
      "\n"
      "Shows the id of each secret, what it is for, and whether the nginx\n"
      "that uses the store has loaded it (? when there is no store to ask).\n"
      "No secret is shown.\n" },

    { NULL, NULL, NULL, NULL, 0, NULL }
};


static int
cli_key_new(cli_t *cli, int argc, char **argv)
{
    int          rc;
    char         why[STORE_WHY_CHARS];
    const char  *words[CLI_WORDS_MAX];

    rc = cli_options(cli, argc, argv, NULL, "FILE", words);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_secrets_random_create(words[0], why);

    return cli_key_done(cli, rc, why, "new", words[0], NULL);
}


static int
cli_key_add(cli_t *cli, int argc, char **argv)
{
    int          rc;
    char         why[STORE_WHY_CHARS];
    uint8_t      id;
    const char  *words[CLI_WORDS_MAX];

    rc = cli_options(cli, argc, argv, NULL, "FILE", words);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_secrets_random_add(words[0], &id, why);

    return cli_key_done(cli, rc, why, "add", words[0], &id);
}


static int
cli_key_promote(cli_t *cli, int argc, char **argv)
{
    int            rc, force;
    char           why[STORE_WHY_CHARS];
    uint8_t        id;
    const char    *words[CLI_WORDS_MAX];
    cli_loaded_t  *loaded;

    const cli_option_t  own[] = {
        { "force", CLI_FLAG, &force },
        { NULL, CLI_FLAG, NULL }
    };

    id = 0;
    force = 0;

    rc = cli_options(cli, argc, argv, own, "FILE ID", words);

    if (rc == CLI_OK) {
        rc = cli_key_id(cli, words[1], &id);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    if (!force) {
        rc = cli_key_loaded(cli, &loaded, 0);

        if (rc != CLI_OK) {
            return rc;
        }

        if (!cli_key_loaded_has(loaded, id)) {
            cli_error("\"%s\": nginx has not loaded key %02x; reload nginx "
                      "first (nginx -s reload), or say --force if no nginx "
                      "uses \"%s\"", words[0], id, cli_store_path(cli));
            return CLI_FAILED;
        }
    }

    rc = store_secrets_promote(words[0], id, why);

    return cli_key_done(cli, rc, why, "promote", words[0], &id);
}


static int
cli_key_drop(cli_t *cli, int argc, char **argv)
{
    int          rc;
    char         why[STORE_WHY_CHARS];
    uint8_t      id;
    const char  *words[CLI_WORDS_MAX];

    id = 0;
    rc = cli_options(cli, argc, argv, NULL, "FILE ID", words);

    if (rc == CLI_OK) {
        rc = cli_key_id(cli, words[1], &id);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_secrets_drop(words[0], id, why);

    return cli_key_done(cli, rc, why, "drop", words[0], &id);
}


static int
cli_key_done(const cli_t *cli, int rc, const char *why, const char *did,
    const char *file, const uint8_t *id)
{
    char        text[3];
    cli_json_t  json;

    if (rc != STORE_OK) {
        cli_error("%s", why);
        return rc == STORE_NOT_FOUND ? CLI_NOT_FOUND : CLI_FAILED;
    }

    text[0] = '\0';

    if (id) {
        (void) snprintf(text, sizeof(text), "%02x", *id);
    }

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_json_text(&json, "file", file, strlen(file));
        cli_json_text(&json, "did", did, strlen(did));

        if (id) {
            cli_json_text(&json, "id", text, strlen(text));
        }

        cli_json_end(&json, '}');
        return CLI_OK;
    }

    if (id) {
        (void) printf("key %s: %s done; reload nginx\n", text, did);

    } else {
        (void) printf("keys file \"%s\" made\n", file);
    }

    return CLI_OK;
}


static int
cli_key_id(const cli_t *cli, const char *text, uint8_t *id)
{
    char      rest;
    unsigned  n;

    if (strlen(text) != 2 || sscanf(text, "%2x%c", &n, &rest) != 1
        || strspn(text, "0123456789abcdefABCDEF") != 2)
    {
        return cli_usage(cli, "\"%s\" is no key id of two hex digits", text);
    }

    *id = (uint8_t) n;

    return CLI_OK;
}


/*
 * The keys file is root's and the store is not, so a child process becomes
 * the owner of the store and reads.
 */
static int
cli_key_loaded(const cli_t *cli, cli_loaded_t **loaded, int quiet)
{
    void  *p;

    p = mmap(NULL, sizeof(cli_loaded_t), PROT_READ|PROT_WRITE,
             MAP_SHARED|MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        cli_error("no memory");
        return CLI_FAILED;
    }

    *loaded = p;
    (*loaded)->quiet = quiet;

    return cli_child(cli, cli_key_loaded_child, NULL, p);
}


static int
cli_key_loaded_child(const cli_t *cli, void *data)
{
    int            rc;
    char           why[STORE_WHY_CHARS];
    store_t       *store;
    cli_loaded_t  *loaded;

    loaded = data;

    if (loaded->quiet && store_look(cli_store_path(cli), why) != STORE_OK) {
        return CLI_STORE;
    }

    rc = cli_store_open(cli, &store);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_keys_loaded(store, loaded->ids, &loaded->n, &loaded->when);

    /* no nginx has used the store yet */

    if (rc == STORE_NOT_FOUND) {
        loaded->n = 0;
        return CLI_OK;
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    return CLI_OK;
}


static int
cli_key_loaded_has(const cli_loaded_t *loaded, uint8_t id)
{
    return memchr(loaded->ids, id, loaded->n) != NULL;
}


static int
cli_key_list(cli_t *cli, int argc, char **argv)
{
    int               rc;
    char              why[STORE_WHY_CHARS];
    const char       *words[CLI_WORDS_MAX];
    cli_loaded_t     *loaded;
    store_secrets_t  *secrets;

    rc = cli_options(cli, argc, argv, NULL, "FILE", words);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_secrets_read(words[0], &secrets, why);

    if (rc != STORE_OK) {
        cli_error("%s", why);
        return CLI_FAILED;
    }

    /* whoever names a store wants to hear what is wrong with it */

    rc = cli_key_loaded(cli, &loaded, cli->store == NULL);

    if (rc == CLI_STORE && cli->store == NULL) {
        loaded = NULL;

    } else if (rc != CLI_OK) {
        goto done;
    }

    rc = CLI_OK;

    if (cli->json) {
        cli_key_show_json(secrets, loaded);

    } else {
        cli_key_show(cli, secrets, loaded);
    }

done:

    store_secrets_free(secrets);

    return rc;
}


static void
cli_key_show(const cli_t *cli, const store_secrets_t *secrets,
    const cli_loaded_t *loaded)
{
    char         when[CLI_TIME_CHARS];
    uint8_t      id;
    unsigned     i;
    const char  *state;

    (void) fputs("ID  USE       LOADED\n", stdout);

    for (i = 0; i < store_secrets_count(secrets); i++) {
        id = store_secrets_id(secrets, i);
        state = "?";

        if (loaded) {
            state = cli_key_loaded_has(loaded, id) ? "yes" : "no";
        }

        (void) printf("%02x  %-8s  %s\n", id, i ? "verifies" : "signs",
                      state);
    }

    if (loaded && loaded->n) {
        (void) printf("loaded by the nginx on \"%s\" at %s\n",
                      cli_store_path(cli),
                      cli_time_write(loaded->when, when));
    }
}


static void
cli_key_show_json(const store_secrets_t *secrets, const cli_loaded_t *loaded)
{
    char        text[3];
    uint8_t     id;
    unsigned    i;
    cli_json_t  json;

    cli_json_begin(&json);
    cli_json_array(&json, NULL);

    for (i = 0; i < store_secrets_count(secrets); i++) {
        id = store_secrets_id(secrets, i);
        (void) snprintf(text, sizeof(text), "%02x", id);

        cli_json_object(&json, NULL);
        cli_json_text(&json, "id", text, 2);
        cli_json_bool(&json, "signs", i == 0);

        if (loaded) {
            cli_json_bool(&json, "loaded", cli_key_loaded_has(loaded, id));

        } else {
            cli_json_null(&json, "loaded");
        }

        cli_json_end(&json, '}');
    }

    cli_json_end(&json, ']');
}
