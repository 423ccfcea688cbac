/*
 * load: fills a store in batches and says what that cost; what bench/ measures
 * without nginx.  Built only on store.h.
 *
 * Each command prints one line of name=value pairs: ops (that succeeded),
 * commits, seconds, and cpu_us, the processor time of one operation.  It ends
 * after COUNT operations or SECONDS, whichever comes first.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "load.h"


#define LOAD_WAIT_MS      10000
#define LOAD_IDLE         86400
#define LOAD_LIFETIME     604800
#define LOAD_LIMIT        20
#define LOAD_THREADS_MAX  64

static const char  load_password[] = "correct horse battery staple";
static const char  load_address[] = "127.0.0.1";
static const char  load_agent[] =
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";


typedef struct {
    const char       *name;
    int               argc;
    int             (*run)(char **argv);
    const char       *usage;
} load_command_t;

typedef struct {
    uint8_t         (*keys)[STORE_KEY_BYTES];
    size_t            n;
    size_t            max;
} load_keys_t;

typedef struct {
    double            until;
    uint64_t          hashes;
    int               rc;
} load_hasher_t;


static int load_users(char **argv);
static int load_sign_in(char **argv);
static int load_sign_in_batch(const store_user_t *user, store_op_t *ops,
    size_t n, const store_keyring_t *keyring, FILE *tokens);
static int load_end(char **argv);
static int load_end_visit(const store_session_t *session, void *data);
static int load_argon2(char **argv);
static void *load_argon2_thread(void *data);
static double load_now(void);
static double load_cpu(void);


static const load_command_t  load_commands[] = {

    { "users", 2, load_users,
      "STORE COUNT   users u0000000.. of the realm default" },

    { "sign_in", 7, load_sign_in,
      "STORE KEYS USERS COUNT BATCH SECONDS TOKENS   sessions of u0000000..,"
      " one of each in turn; each token is a line of the file TOKENS" },

    { "fill", 5, load_fill,
      "STORE KEYS SAMPLE COUNT TOKENS   sessions, in batches that are as large"
      " as can be: SAMPLE of them, evenly spread, are the only ones of"
      " u0000000.. and their tokens the lines of TOKENS; the rest are of the"
      " users after them, 10 of each" },

    { "end", 4, load_end,
      "STORE COUNT BATCH SECONDS   ends sessions" },

    { "argon2", 2, load_argon2,
      "THREADS SECONDS   hashes a password with the default parameters" },

    { NULL, 0, NULL, NULL }
};


int
main(int argc, char **argv)
{
    const load_command_t  *c;

    for (c = load_commands; c->name != NULL; c++) {
        if (argc - 2 == c->argc && strcmp(argv[1], c->name) == 0) {
            return c->run(argv + 2) == 0 && fflush(stdout) == 0 ? 0 : 1;
        }
    }

    for (c = load_commands; c->name != NULL; c++) {
        fprintf(stderr, "load %s %s\n", c->name, c->usage);
    }

    return 2;
}


/* The users share one hash: making thousands would take minutes. */

static int
load_users(char **argv)
{
    int                   n, rc;
    size_t                i, count, batch;
    uint8_t               salt[STORE_SALT_BYTES];
    store_t              *store;
    store_op_t           *ops;
    store_phc_t           phc;
    load_score_t          score;
    store_hash_params_t   params;

    params.memory = STORE_HASH_DEFAULT_MEMORY;
    params.passes = STORE_HASH_DEFAULT_PASSES;
    count = strtoul(argv[1], NULL, 10);

    if (load_open(argv[0], &store) != 0) {
        return 1;
    }

    rc = store_random(salt, sizeof(salt));

    if (rc == STORE_OK) {
        rc = store_password_hash(&params, load_password,
                                 sizeof(load_password) - 1, salt, &phc);
    }

    ops = calloc(STORE_BATCH_MAX, sizeof(store_op_t));

    if (rc != STORE_OK || ops == NULL) {
        return load_fail("hash", rc);
    }

    load_score_start(&score);

    for (i = 0; i < count; i += batch) {

        for (batch = 0; batch < STORE_BATCH_MAX && i + batch < count; batch++)
        {
            memset(&ops[batch], 0, sizeof(store_op_t));
            ops[batch].kind = STORE_OP_USER_CREATE;
            ops[batch].actor = STORE_BY_CLI;
            ops[batch].now = time(NULL);
            ops[batch].phc = phc;

            n = snprintf(ops[batch].login.data, sizeof(ops[batch].login.data),
                         LOAD_LOGIN, i + batch);
            ops[batch].login.len = (uint8_t) n;

            if (store_realm_set(&ops[batch].realm, "default", 7) != STORE_OK) {
                return load_fail("realm", STORE_INVALID);
            }
        }

        if (load_apply(store, ops, batch, &score) != 0) {
            return 1;
        }
    }

    load_score_print(&score);

    return 0;
}


static int
load_sign_in(char **argv)
{
    int               rc;
    FILE             *tokens;
    char              login[32];
    size_t            i, j, n, users, count, batch;
    double            until;
    store_t          *store;
    store_op_t       *ops;
    store_user_t     *user;
    load_score_t      score;
    store_keyring_t  *keyring;

    users = strtoul(argv[2], NULL, 10);
    count = strtoul(argv[3], NULL, 10);
    batch = strtoul(argv[4], NULL, 10);

    if (batch == 0 || batch > STORE_BATCH_MAX || users == 0) {
        return load_fail("batch", STORE_INVALID);
    }

    tokens = fopen(argv[6], "w");
    ops = calloc(batch, sizeof(store_op_t));
    user = calloc(users, sizeof(store_user_t));

    if (tokens == NULL || ops == NULL || user == NULL) {
        return load_fail(argv[6], STORE_INVALID);
    }

    if (load_keyring(argv[1], &keyring) != 0
        || load_open(argv[0], &store) != 0)
    {
        return 1;
    }

    for (i = 0; i < users; i++) {
        n = (size_t) snprintf(login, sizeof(login), LOAD_LOGIN, i);
        rc = store_user_find(store, "default", 7, login, n, &user[i]);

        if (rc != STORE_OK) {
            return load_fail(login, rc);
        }
    }

    load_score_start(&score);
    until = load_now() + strtod(argv[5], NULL);

    for (i = 0; i < count && load_now() < until; i += n) {

        /* so that no batch has a user twice */

        j = i % users;
        n = users - j < batch ? users - j : batch;
        n = count - i < n ? count - i : n;

        if (load_sign_in_batch(&user[j], ops, n, keyring, tokens) != 0
            || load_apply(store, ops, n, &score) != 0)
        {
            return 1;
        }
    }

    load_score_print(&score);

    return fclose(tokens) == 0 ? 0 : 1;
}


static int
load_sign_in_batch(const store_user_t *user, store_op_t *ops, size_t n,
    const store_keyring_t *keyring, FILE *tokens)
{
    size_t   i;
    uint8_t  id[STORE_ID_BYTES];

    for (i = 0; i < n; i++) {

        if (load_sign_in_op(&user[i], &ops[i], id) != 0
            || load_token(keyring, id, tokens) != 0)
        {
            return 1;
        }
    }

    return 0;
}


int
load_sign_in_op(const store_user_t *user, store_op_t *op,
    uint8_t id[STORE_ID_BYTES])
{
    int      rc;
    uint8_t  random[STORE_ID_RANDOM_BYTES];

    rc = store_random(random, sizeof(random));

    if (rc != STORE_OK) {
        return load_fail("random", rc);
    }

    memset(op, 0, sizeof(store_op_t));
    op->kind = STORE_OP_SIGN_IN;
    op->actor = STORE_BY_USER;
    op->now = time(NULL);
    op->generation = user->generation;
    op->idle = LOAD_IDLE;
    op->lifetime = LOAD_LIFETIME;
    op->limit = LOAD_LIMIT;

    memcpy(op->user, user->id, STORE_USER_BYTES);
    store_token_id(op->now, random, id);
    store_token_key(id, op->key);
    store_agent_set(&op->agent, load_agent, sizeof(load_agent) - 1);

    rc = store_text_set(&op->address, load_address, sizeof(load_address) - 1);

    return rc == STORE_OK ? 0 : load_fail("address", rc);
}


int
load_token(const store_keyring_t *keyring, const uint8_t id[STORE_ID_BYTES],
    FILE *tokens)
{
    char  token[STORE_TOKEN_CHARS];

    store_token_sign(keyring, id, token);

    if (fprintf(tokens, "%.*s\n", STORE_TOKEN_CHARS, token) < 0) {
        return load_fail("tokens", STORE_INVALID);
    }

    return 0;
}


static int
load_end(char **argv)
{
    int           rc;
    size_t        i, n, batch;
    double        until;
    store_t      *store;
    store_op_t   *ops;
    load_keys_t   keys;
    load_score_t  score;

    keys.n = 0;
    keys.max = strtoul(argv[1], NULL, 10);
    batch = strtoul(argv[2], NULL, 10);

    if (batch == 0 || batch > STORE_BATCH_MAX || keys.max == 0) {
        return load_fail("batch", STORE_INVALID);
    }

    keys.keys = calloc(keys.max, STORE_KEY_BYTES);
    ops = calloc(batch, sizeof(store_op_t));

    if (keys.keys == NULL || ops == NULL) {
        return load_fail("memory", STORE_LIMIT);
    }

    if (load_open(argv[0], &store) != 0) {
        return 1;
    }

    rc = store_session_each(store, load_end_visit, &keys);

    if (rc < 0) {
        return load_fail("sessions", rc);
    }

    load_score_start(&score);
    until = load_now() + strtod(argv[3], NULL);

    for (i = 0; i < keys.n && load_now() < until; i += n) {

        for (n = 0; n < batch && i + n < keys.n; n++) {
            memset(&ops[n], 0, sizeof(store_op_t));
            ops[n].kind = STORE_OP_END;
            ops[n].actor = STORE_BY_USER;
            ops[n].end = STORE_END_SIGN_OUT;
            ops[n].now = time(NULL);
            memcpy(ops[n].key, keys.keys[i + n], STORE_KEY_BYTES);
        }

        if (load_apply(store, ops, n, &score) != 0) {
            return 1;
        }
    }

    load_score_print(&score);

    return 0;
}


static int
load_end_visit(const store_session_t *session, void *data)
{
    load_keys_t  *keys = data;

    if (session->end != STORE_END_NONE) {
        return 0;
    }

    memcpy(keys->keys[keys->n++], session->key, STORE_KEY_BYTES);

    return keys->n == keys->max;
}


static int
load_argon2(char **argv)
{
    size_t         i, threads;
    load_score_t   score;
    pthread_t      thread[LOAD_THREADS_MAX];
    load_hasher_t  hasher[LOAD_THREADS_MAX];

    threads = strtoul(argv[0], NULL, 10);

    if (threads == 0 || threads > LOAD_THREADS_MAX) {
        return load_fail(argv[0], STORE_INVALID);
    }

    load_score_start(&score);

    for (i = 0; i < threads; i++) {
        hasher[i].until = score.started + strtod(argv[1], NULL);
        hasher[i].hashes = 0;
        hasher[i].rc = STORE_OK;

        if (pthread_create(&thread[i], NULL, load_argon2_thread, &hasher[i])
            != 0)
        {
            return load_fail("thread", STORE_LIMIT);
        }
    }

    for (i = 0; i < threads; i++) {
        (void) pthread_join(thread[i], NULL);

        if (hasher[i].rc != STORE_OK) {
            return load_fail("hash", hasher[i].rc);
        }

        score.ops += hasher[i].hashes;
    }

    load_score_print(&score);

    return 0;
}


static void *
load_argon2_thread(void *data)
{
    load_hasher_t  *hasher = data;

    uint8_t              salt[STORE_SALT_BYTES];
    store_phc_t          phc;
    store_hash_params_t  params;

    params.memory = STORE_HASH_DEFAULT_MEMORY;
    params.passes = STORE_HASH_DEFAULT_PASSES;
    memset(salt, 's', sizeof(salt));

    while (hasher->rc == STORE_OK && load_now() < hasher->until) {
        hasher->rc = store_password_hash(&params, load_password,
                                         sizeof(load_password) - 1, salt,
                                         &phc);
        hasher->hashes++;
    }

    return NULL;
}


/* One commit; every operation of it must succeed. */

int
load_apply(store_t *store, store_op_t *ops, size_t n, load_score_t *score)
{
    int          rc;
    size_t       i;
    store_op_t  *list[STORE_BATCH_MAX];

    for (i = 0; i < n; i++) {
        list[i] = &ops[i];
    }

    rc = store_batch_apply(store, list, n);

    if (rc != STORE_OK) {
        return load_fail("batch", rc);
    }

    for (i = 0; i < n; i++) {
        if (ops[i].result != STORE_OK) {
            return load_fail("operation", ops[i].result);
        }
    }

    score->ops += n;
    score->commits++;

    return 0;
}


int
load_open(const char *path, store_t **store)
{
    char             why[STORE_WHY_CHARS];
    store_options_t  options;

    memset(&options, 0, sizeof(options));
    options.path = path;
    options.wait_ms = LOAD_WAIT_MS;

    if (store_drop_to_owner(path, why) != STORE_OK
        || store_open(&options, store, why) != STORE_OK)
    {
        fprintf(stderr, "load: %s\n", why);
        return 1;
    }

    return 0;
}


int
load_keyring(const char *keys, store_keyring_t **keyring)
{
    int               rc;
    char              why[STORE_WHY_CHARS];
    store_secrets_t  *secrets;

    if (store_secrets_read(keys, &secrets, why) != STORE_OK) {
        fprintf(stderr, "load: %s\n", why);
        return 1;
    }

    rc = store_keyring_derive(secrets, "default", keyring);

    return rc == STORE_OK ? 0 : load_fail("keyring", rc);
}


void
load_score_start(load_score_t *score)
{
    score->ops = 0;
    score->commits = 0;
    score->cpu = load_cpu();
    score->started = load_now();
}


void
load_score_print(const load_score_t *score)
{
    double  ops, seconds;

    ops = (double) score->ops;
    seconds = load_now() - score->started;

    printf("ops=%.0f commits=%.0f seconds=%.3f cpu_us=%.2f\n", ops,
           (double) score->commits, seconds,
           ops > 0 ? (load_cpu() - score->cpu) * 1e6 / ops : 0);
}


static double
load_now(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_MONOTONIC, &ts);

    return (double) ts.tv_sec + (double) ts.tv_nsec / 1e9;
}


static double
load_cpu(void)
{
    struct rusage  ru;

    (void) getrusage(RUSAGE_SELF, &ru);

    return (double) (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec)
           + (double) (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}


int
load_fail(const char *what, int rc)
{
    fprintf(stderr, "load: %s: %s\n", what, store_strerror(rc));

    return 1;
}
