/*
 * mint: makes what a test needs to exist before it starts - a store with keys
 * and users, sessions of any age, tokens, CSRF tokens - without going through
 * sign-in.  Built only on store.h.
 *
 * Times are seconds relative to now: "--created -3600" is an hour ago.
 */

#include "store.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>


#define MINT_WAIT_MS   10000
#define MINT_IDLE      86400
#define MINT_LIFETIME  604800
#define MINT_LIMIT     20
#define MINT_PASSWORD  "correct horse battery staple"


typedef struct {
    const char  *name;
    int          argc;      /* at least, without the command itself */
    int        (*run)(int argc, char **argv);
    const char  *usage;
} mint_command_t;

typedef struct {
    int64_t      created;
    int64_t      seen;
    uint32_t     idle;
    uint32_t     lifetime;
    const char  *end;
    const char  *address;
    const char  *agent;
} mint_session_t;


static int mint_world(int argc, char **argv);
static int mint_session(int argc, char **argv);
static int mint_sign(int argc, char **argv);
static int mint_csrf(int argc, char **argv);
static int mint_pre(int argc, char **argv);
static int mint_device(int argc, char **argv);
static int mint_bulk(int argc, char **argv);

static int mint_init(const char *path, const struct passwd *owner);
static int mint_user(store_t *store, char *text);
static int mint_hash(const char *password, store_phc_t *phc);
static int mint_sign_in(store_t *store, const store_user_t *user,
    const mint_session_t *options, uint8_t id[STORE_ID_BYTES]);
static int mint_options(int argc, char **argv, mint_session_t *options);
static int mint_end(const char *name, store_end_t *end);
static int mint_print(const store_keyring_t *keyring,
    const uint8_t id[STORE_ID_BYTES]);
static int mint_keyring(const char *keys, const char *realm,
    store_keyring_t **keyring);
static int mint_open(const char *path, store_t **store);
static int mint_find(store_t *store, const char *realm, const char *login,
    store_user_t *user);
static int mint_apply(store_t *store, store_op_t *op, const char *what);
static int mint_fail(const char *what, int rc);
static int mint_say(const char *why);


static const mint_command_t  mint_commands[] = {

    { "world", 2, mint_world,
      "STORE KEYS [--owner USER] [LOGIN[@REALM][:ROLES[:NAME[:PASSWORD"
      "[:disabled]]]]]...   store, keys and users" },

    { "session", 4, mint_session,
      "STORE KEYS REALM LOGIN [--created S] [--seen S] [--idle S]"
      " [--lifetime S] [--end REASON] [--address A] [--agent A]"
      "   prints token, ref, csrf" },

    { "sign", 2, mint_sign,
      "KEYS REALM [--created S]   token of a session that does not exist" },

    { "csrf", 3, mint_csrf,
      "KEYS REALM TOKEN   a CSRF token of the token's session" },

    { "pre", 2, mint_pre,
      "KEYS REALM   pre-session cookie and its CSRF token" },

    { "device", 4, mint_device,
      "STORE KEYS REALM LOGIN   known-device cookie" },

    { "bulk", 4, mint_bulk,
      "STORE REALM USERS SESSIONS   users u0.. with so many sessions each" },

    { NULL, 0, NULL, NULL }
};


int
main(int argc, char **argv)
{
    const mint_command_t  *c;

    for (c = mint_commands; c->name != NULL; c++) {
        if (argc >= 2 && strcmp(argv[1], c->name) == 0
            && argc - 2 >= c->argc)
        {
            return c->run(argc - 2, argv + 2) == 0 && fflush(stdout) == 0
                   ? 0 : 1;
        }
    }

    for (c = mint_commands; c->name != NULL; c++) {
        fprintf(stderr, "mint %s %s\n", c->name, c->usage);
    }

    return 2;
}


static int
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


static int
mint_session(int argc, char **argv)
{
    uint8_t           id[STORE_ID_BYTES];
    store_t          *store;
    store_user_t      user;
    mint_session_t    options;
    store_keyring_t  *keyring;

    if (mint_options(argc - 4, argv + 4, &options) != 0
        || mint_keyring(argv[1], argv[2], &keyring) != 0
        || mint_open(argv[0], &store) != 0
        || mint_find(store, argv[2], argv[3], &user) != 0
        || mint_sign_in(store, &user, &options, id) != 0)
    {
        return 1;
    }

    return mint_print(keyring, id);
}


static int
mint_sign_in(store_t *store, const store_user_t *user,
    const mint_session_t *options, uint8_t id[STORE_ID_BYTES])
{
    int          rc;
    uint8_t      random[STORE_ID_RANDOM_BYTES];
    store_op_t   op;

    rc = store_random(random, sizeof(random));

    if (rc != STORE_OK) {
        return mint_fail("random", rc);
    }

    store_token_id(options->created, random, id);

    memset(&op, 0, sizeof(op));
    op.kind = STORE_OP_SIGN_IN;
    op.actor = STORE_BY_USER;
    op.now = options->created;
    op.generation = user->generation;
    op.idle = options->idle;
    op.lifetime = options->lifetime;
    op.limit = MINT_LIMIT;
    memcpy(op.user, user->id, STORE_USER_BYTES);
    store_token_key(id, op.key);
    store_agent_set(&op.agent, options->agent, strlen(options->agent));

    rc = store_text_set(&op.address, options->address,
                        strlen(options->address));

    if (rc != STORE_OK) {
        return mint_fail(options->address, rc);
    }

    if (mint_apply(store, &op, "sign in") != 0) {
        return 1;
    }

    if (options->seen > options->created) {
        op.kind = STORE_OP_TOUCH;
        op.now = options->seen;

        if (mint_apply(store, &op, "touch") != 0) {
            return 1;
        }
    }

    if (options->end == NULL) {
        return 0;
    }

    op.kind = STORE_OP_END;
    op.now = time(NULL);

    if (mint_end(options->end, &op.end) != 0) {
        return 1;
    }

    return mint_apply(store, &op, "end");
}


static int
mint_options(int argc, char **argv, mint_session_t *options)
{
    int      i;
    int64_t  now;

    now = time(NULL);

    memset(options, 0, sizeof(*options));
    options->created = now;
    options->idle = MINT_IDLE;
    options->lifetime = MINT_LIFETIME;
    options->address = "127.0.0.1";
    options->agent = "mint";

    for (i = 0; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--created") == 0) {
            options->created = now + strtoll(argv[i + 1], NULL, 10);

        } else if (strcmp(argv[i], "--seen") == 0) {
            options->seen = now + strtoll(argv[i + 1], NULL, 10);

        } else if (strcmp(argv[i], "--idle") == 0) {
            options->idle = (uint32_t) strtoul(argv[i + 1], NULL, 10);

        } else if (strcmp(argv[i], "--lifetime") == 0) {
            options->lifetime = (uint32_t) strtoul(argv[i + 1], NULL, 10);

        } else if (strcmp(argv[i], "--end") == 0) {
            options->end = argv[i + 1];

        } else if (strcmp(argv[i], "--address") == 0) {
            options->address = argv[i + 1];

        } else if (strcmp(argv[i], "--agent") == 0) {
            options->agent = argv[i + 1];

        } else {
            return mint_fail(argv[i], STORE_INVALID);
        }
    }

    return i == argc ? 0 : mint_fail(argv[i], STORE_INVALID);
}


static int
mint_end(const char *name, store_end_t *end)
{
    int          n;
    const char  *known;

    for (n = STORE_END_SIGN_OUT; n <= STORE_END_UNCERTAIN; n++) {
        known = store_end_name((store_end_t) n);

        if (known != NULL && strcmp(known, name) == 0) {
            *end = (store_end_t) n;
            return 0;
        }
    }

    return mint_fail(name, STORE_INVALID);
}


static int
mint_sign(int argc, char **argv)
{
    uint8_t           id[STORE_ID_BYTES];
    uint8_t           random[STORE_ID_RANDOM_BYTES];
    mint_session_t    options;
    store_keyring_t  *keyring;

    if (mint_options(argc - 2, argv + 2, &options) != 0
        || mint_keyring(argv[0], argv[1], &keyring) != 0
        || store_random(random, sizeof(random)) != STORE_OK)
    {
        return 1;
    }

    store_token_id(options.created, random, id);

    return mint_print(keyring, id);
}


static int
mint_csrf(int argc, char **argv)
{
    int               rc;
    uint8_t           id[STORE_ID_BYTES];
    store_keyring_t  *keyring;

    (void) argc;

    if (mint_keyring(argv[0], argv[1], &keyring) != 0) {
        return 1;
    }

    rc = store_token_verify(keyring, argv[2], strlen(argv[2]), id, NULL);

    if (rc != STORE_OK) {
        return mint_fail(argv[2], rc);
    }

    return mint_print(keyring, id);
}


static int
mint_pre(int argc, char **argv)
{
    char              cookie[STORE_PRE_CHARS], csrf[STORE_CSRF_CHARS];
    uint8_t           id[STORE_PRE_ID_BYTES], mask[STORE_MAC_BYTES];
    store_keyring_t  *keyring;

    (void) argc;

    if (mint_keyring(argv[0], argv[1], &keyring) != 0
        || store_random(id, sizeof(id)) != STORE_OK
        || store_random(mask, sizeof(mask)) != STORE_OK)
    {
        return 1;
    }

    store_signed_write(keyring, STORE_LABEL_PRE, id, sizeof(id), cookie);
    store_csrf_sign(keyring, id, sizeof(id), mask, csrf);

    printf("%.*s %.*s\n", STORE_PRE_CHARS, cookie, STORE_CSRF_CHARS, csrf);

    return 0;
}


static int
mint_device(int argc, char **argv)
{
    char              cookie[STORE_DEVICE_CHARS];
    store_t          *store;
    store_user_t      user;
    store_keyring_t  *keyring;

    (void) argc;

    if (mint_keyring(argv[1], argv[2], &keyring) != 0
        || mint_open(argv[0], &store) != 0
        || mint_find(store, argv[2], argv[3], &user) != 0)
    {
        return 1;
    }

    store_signed_write(keyring, STORE_LABEL_DEVICE, user.id, sizeof(user.id),
                       cookie);
    printf("%.*s\n", STORE_DEVICE_CHARS, cookie);

    return 0;
}


static int
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


static int
mint_print(const store_keyring_t *keyring, const uint8_t id[STORE_ID_BYTES])
{
    char     token[STORE_TOKEN_CHARS], csrf[STORE_CSRF_CHARS];
    char     ref[STORE_REF_CHARS + 1];
    uint8_t  key[STORE_KEY_BYTES], mask[STORE_MAC_BYTES];

    if (store_random(mask, sizeof(mask)) != STORE_OK) {
        return 1;
    }

    store_token_sign(keyring, id, token);
    store_token_key(id, key);
    store_key_ref(key, ref);
    store_csrf_sign(keyring, id, STORE_ID_BYTES, mask, csrf);

    printf("%.*s %s %.*s\n", STORE_TOKEN_CHARS, token, ref, STORE_CSRF_CHARS,
           csrf);

    return 0;
}


/* The keys file belongs to root, so it is read before mint_open(). */

static int
mint_keyring(const char *keys, const char *realm, store_keyring_t **keyring)
{
    int               rc;
    char              why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;

    if (store_secrets_read(keys, &secrets, why) != STORE_OK) {
        return mint_say(why);
    }

    rc = store_keyring_derive(secrets, realm, keyring);

    return rc == STORE_OK ? 0 : mint_fail(realm, rc);
}


static int
mint_open(const char *path, store_t **store)
{
    char             why[STORE_WHY_CHARS];
    store_options_t  options;

    memset(&options, 0, sizeof(options));
    options.path = path;
    options.wait_ms = MINT_WAIT_MS;

    if (store_drop_to_owner(path, why) != STORE_OK
        || store_open(&options, store, why) != STORE_OK)
    {
        return mint_say(why);
    }

    return 0;
}


static int
mint_find(store_t *store, const char *realm, const char *login,
    store_user_t *user)
{
    int  rc;

    rc = store_user_find(store, realm, strlen(realm), login, strlen(login),
                         user);

    return rc == STORE_OK ? 0 : mint_fail(login, rc);
}


static int
mint_apply(store_t *store, store_op_t *op, const char *what)
{
    int  rc;

    rc = store_batch_apply(store, &op, 1);

    if (rc == STORE_OK) {
        rc = op->result;
    }

    return rc == STORE_OK ? 0 : mint_fail(what, rc);
}


static int
mint_fail(const char *what, int rc)
{
    fprintf(stderr, "mint: %s: %s\n", what, store_strerror(rc));

    return 1;
}


static int
mint_say(const char *why)
{
    fprintf(stderr, "mint: %s\n", why);

    return 1;
}
