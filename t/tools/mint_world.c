/*
 * mint_world.c: stores, keys and users.
 */

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mint.h"


#define MINT_PASSWORD  "correct horse battery staple"


static int mint_init(const char *path, const struct passwd *owner);
static int mint_user(store_t *store, char *text);
static int mint_hash(const char *password, store_phc_t *phc);


int
mint_world(int argc, char **argv)
{
    int             i, rc;
    char            why[STORE_WHY_CHARS];
    store_t        *store;
    struct passwd  *owner;

    rc = store_secrets_random_create(argv[1], why);

    if (rc != STORE_OK && rc != STORE_EXISTS) {
        return mint_say(why);
    }

    owner = NULL;
    i = 2;

    if (argc >= 4 && strcmp(argv[2], "--owner") == 0) {
        owner = getpwnam(argv[3]);

        if (owner == NULL) {
            return mint_fail(argv[3], ENOENT);
        }

        i = 4;
    }

    if (mint_init(argv[0], owner) != 0 || mint_open(argv[0], &store) != 0) {
        return 1;
    }

    for ( /* void */ ; i < argc; i++) {
        if (mint_user(store, argv[i]) != 0) {
            return 1;
        }
    }

    return 0;
}


/* In a child: no process may open the environments twice. */

static int
mint_init(const char *path, const struct passwd *owner)
{
    int              rc, status;
    char             why[STORE_WHY_CHARS];
    pid_t            pid;
    store_options_t  options;

    pid = fork();

    if (pid == -1) {
        return mint_fail("fork", errno);
    }

    if (pid != 0) {
        return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
    }

    memset(&options, 0, sizeof(options));
    options.path = path;
    options.wait_ms = MINT_WAIT_MS;

    rc = store_init(&options, owner ? owner->pw_uid : (uid_t) -1,
                    owner ? owner->pw_gid : (gid_t) -1, why);

    if (rc != STORE_OK && rc != STORE_EXISTS) {
        _exit(mint_say(why));
    }

    _exit(0);
}


/* LOGIN[@REALM][:ROLES[:NAME[:PASSWORD[:disabled]]]]; takes the text apart. */

static int
mint_user(store_t *store, char *text)
{
    int          n, rc;
    char        *field[5], *realm, *p;
    store_op_t   op;

    memset(field, 0, sizeof(field));

    for (n = 0, p = text; n < 5 && p != NULL; n++) {
        field[n] = strsep(&p, ":");
    }

    realm = strrchr(field[0], '@');

    if (realm != NULL) {
        *realm++ = '\0';

    } else {
        realm = "default";
    }

    for (n = 1; n < 5; n++) {
        field[n] = field[n] ? field[n] : "";
    }

    memset(&op, 0, sizeof(op));
    op.kind = STORE_OP_USER_CREATE;
    op.actor = STORE_BY_CLI;
    op.now = time(NULL);

    if (store_realm_set(&op.realm, realm, strlen(realm)) != STORE_OK
        || store_text_set(&op.login, field[0], strlen(field[0])) != STORE_OK
        || store_roles_set(&op.roles, field[1], strlen(field[1])) != STORE_OK
        || store_text_set(&op.name, field[2], strlen(field[2])) != STORE_OK)
    {
        return mint_fail(text, STORE_INVALID);
    }

    rc = mint_hash(field[3][0] ? field[3] : MINT_PASSWORD, &op.phc);

    if (rc != STORE_OK) {
        return mint_fail("hash", rc);
    }

    if (mint_apply(store, &op, field[0]) != 0) {
        return 1;
    }

    if (strcmp(field[4], "disabled") != 0) {
        return 0;
    }

    op.kind = STORE_OP_USER_DISABLE;

    return mint_apply(store, &op, field[0]);
}


/* Hashes each password once: users of a test mostly share theirs. */

static int
mint_hash(const char *password, store_phc_t *phc)
{
    int                  rc;
    uint8_t              salt[STORE_SALT_BYTES];
    store_hash_params_t  params;

    static const char   *last;
    static store_phc_t   cached;

    if (last == NULL || strcmp(last, password) != 0) {
        params.memory = STORE_HASH_DEFAULT_MEMORY;
        params.passes = STORE_HASH_DEFAULT_PASSES;

        rc = store_random(salt, sizeof(salt));

        if (rc != STORE_OK) {
            return rc;
        }

        rc = store_password_hash(&params, password, strlen(password), salt,
                                 &cached);

        if (rc != STORE_OK) {
            return rc;
        }

        last = password;
    }

    *phc = cached;

    return STORE_OK;
}


int
mint_bulk(int argc, char **argv)
{
    int              i, j, users, sessions;
    char             spec[128], login[32];
    uint8_t          id[STORE_ID_BYTES];
    store_t         *store;
    store_user_t     user;
    mint_session_t   options;

    (void) argc;

    users = atoi(argv[2]);
    sessions = atoi(argv[3]);

    if (mint_options(0, NULL, &options) != 0
        || mint_open(argv[0], &store) != 0)
    {
        return 1;
    }

    for (i = 0; i < users; i++) {
        snprintf(login, sizeof(login), "u%d", i);
        snprintf(spec, sizeof(spec), "%s@%.64s", login, argv[1]);

        if (mint_user(store, spec) != 0
            || mint_find(store, argv[1], login, &user) != 0)
        {
            return 1;
        }

        for (j = 0; j < sessions; j++) {
            if (mint_sign_in(store, &user, &options, id) != 0) {
                return 1;
            }
        }
    }

    return 0;
}
