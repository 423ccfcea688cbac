/*
 * mint: makes what a test needs to exist before it starts - a store with keys
 * and users, sessions of any age, tokens, CSRF tokens - without going through
 * sign-in.  Built only on store.h.
 *
 * Times are seconds relative to now: "--created -3600" is an hour ago.
 */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mint.h"


#define MINT_IDLE      86400
#define MINT_LIFETIME  604800
#define MINT_LIMIT     20


typedef struct {
    const char  *name;
    int          argc;      /* at least, without the command itself */
    int        (*run)(int argc, char **argv);
    const char  *usage;
} mint_command_t;

static int mint_session(int argc, char **argv);
static int mint_sign(int argc, char **argv);
static int mint_csrf(int argc, char **argv);
static int mint_pre(int argc, char **argv);
static int mint_device(int argc, char **argv);
static int mint_verify(int argc, char **argv);
static int mint_check(int argc, char **argv);
static int mint_problem(const char *problem, void *data);
static int mint_end(const char *name, store_end_t *end);
static int mint_print(const store_keyring_t *keyring,
    const uint8_t id[STORE_ID_BYTES]);
static int mint_keyring(const char *keys, const char *realm,
    store_keyring_t **keyring);


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

    { "verify", 4, mint_verify,
      "KEYS REALM token|pre|device|csrf TEXT [TOKEN]   prints ok; csrf: that"
      " of the token's session" },

    { "check", 1, mint_check,
      "STORE   every broken invariant, a line each; fails if there is one" },

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


int
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


int
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
mint_verify(int argc, char **argv)
{
    int               rc;
    size_t            n;
    uint8_t           id[STORE_ID_BYTES], other[STORE_SIGNED_MAX];
    const char       *kind, *text;
    store_keyring_t  *keyring;

    kind = argv[2];
    text = argv[3];
    n = strlen(text);

    if (mint_keyring(argv[0], argv[1], &keyring) != 0) {
        return 1;
    }

    if (strcmp(kind, "token") == 0) {
        rc = store_token_verify(keyring, text, n, id, NULL);

    } else if (strcmp(kind, "pre") == 0) {
        rc = store_signed_read(keyring, STORE_LABEL_PRE, text, n, other,
                               STORE_PRE_ID_BYTES);

    } else if (strcmp(kind, "device") == 0) {
        rc = store_signed_read(keyring, STORE_LABEL_DEVICE, text, n, other,
                               STORE_USER_BYTES);

    } else if (strcmp(kind, "csrf") == 0 && argc == 5) {
        rc = store_token_verify(keyring, argv[4], strlen(argv[4]), id, NULL);

        if (rc == STORE_OK) {
            rc = store_csrf_verify(keyring, id, sizeof(id), text, n);
        }

    } else {
        rc = STORE_INVALID;
    }

    if (rc != STORE_OK) {
        return mint_fail(kind, rc);
    }

    puts("ok");

    return 0;
}


static int
mint_check(int argc, char **argv)
{
    int        rc;
    store_t   *store;
    uint64_t   problems;

    (void) argc;

    if (mint_open(argv[0], &store) != 0) {
        return 1;
    }

    rc = store_check(store, mint_problem, NULL, &problems);

    if (rc != STORE_OK) {
        return mint_fail(argv[0], rc);
    }

    return problems == 0 ? 0 : 1;
}


static int
mint_problem(const char *problem, void *data)
{
    (void) data;

    printf("%s\n", problem);

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


int
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


int
mint_find(store_t *store, const char *realm, const char *login,
    store_user_t *user)
{
    int  rc;

    rc = store_user_find(store, realm, strlen(realm), login, strlen(login),
                         user);

    return rc == STORE_OK ? 0 : mint_fail(login, rc);
}


int
mint_apply(store_t *store, store_op_t *op, const char *what)
{
    int  rc;

    rc = store_batch_apply(store, &op, 1);

    if (rc == STORE_OK) {
        rc = op->result;
    }

    return rc == STORE_OK ? 0 : mint_fail(what, rc);
}


int
mint_fail(const char *what, int rc)
{
    fprintf(stderr, "mint: %s: %s\n", what, store_strerror(rc));

    return 1;
}


int
mint_say(const char *why)
{
    fprintf(stderr, "mint: %s\n", why);

    return 1;
}
