#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "power_cut.h"


#define POWER_USERS     3
#define POWER_BATCH     8
#define POWER_KEYS      40      /* of one user; more would end others */
#define POWER_LIMIT     64
#define POWER_WAIT_MS   20000
#define POWER_CHORES    7       /* a copy of the feed after so many changes */
#define POWER_COPY_US   500


typedef struct {
    char      login[32];
    uint8_t   id[STORE_USER_BYTES];
    uint64_t  generation;
    int       there;
    int       disabled;
    uint8_t   live[POWER_KEYS][STORE_KEY_BYTES];
    unsigned  n;
} power_user_t;

typedef struct {
    store_t       *store;
    const char    *name;
    int            log;
    uint64_t       random;
    unsigned       tries;
    power_user_t   users[POWER_USERS];

    store_op_t     ops[POWER_BATCH];
    store_op_t    *list[POWER_BATCH];
    char           ids[POWER_BATCH][32];
    size_t         n;
} power_load_t;


static void power_load_user(power_load_t *load, power_user_t *user);
static void power_load_sessions(power_load_t *load, power_user_t *user);
static void power_load_in(power_load_t *load, power_user_t *user);
static void power_load_out(power_load_t *load, power_user_t *user);
static store_op_t *power_load_op(power_load_t *load, power_user_t *user,
    store_op_kind_t kind);
static void power_load_try(power_load_t *load, const char *verb,
    const char *login, const uint8_t *key);
static void power_load_apply(power_load_t *load);
static void power_load_note(power_load_t *load, const char *text);


/* STORE NAME SEED CHANGES: users whose names begin with NAME.  Under the
 * recorder, which gets the notes. */

int
power_load(int argc, char **argv)
{
    int               rc, more;
    char              why[STORE_WHY_CHARS];
    unsigned          i, changes;
    power_load_t     *load;
    power_user_t     *user;
    store_options_t   options;

    load = calloc(1, sizeof(power_load_t));

    if (argc != 4 || load == NULL || getenv("RECORD_LOG") == NULL) {
        return 2;
    }

    load->name = argv[1];
    load->random = strtoull(argv[2], NULL, 10);
    changes = (unsigned) strtoul(argv[3], NULL, 10);
    load->log = open(getenv("RECORD_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);

    memset(&options, 0, sizeof(options));
    options.path = argv[0];
    options.wait_ms = POWER_WAIT_MS;

    rc = store_open(&options, &load->store, why);

    if (rc != STORE_OK || load->log == -1) {
        fprintf(stderr, "power_cut: %s\n", why);
        return 1;
    }

    for (i = 0; i < POWER_USERS; i++) {
        (void) snprintf(load->users[i].login, sizeof(load->users[i].login),
                        "%s%u", load->name, i);
    }

    for (i = 1; i <= changes; i++) {
        user = &load->users[power_random(&load->random) % POWER_USERS];

        if (!user->there || user->disabled
            || power_random(&load->random) % 10 == 0)
        {
            power_load_user(load, user);

        } else {
            power_load_sessions(load, user);
        }

        if (i % POWER_CHORES == 0) {
            rc = store_events_copy(load->store, 10, &more);

            if (rc != STORE_OK) {
                fprintf(stderr, "power_cut: %s\n", store_strerror(rc));
                return 1;
            }
        }
    }

    free(load);

    return 0;
}


/* STORE TIMES: what a worker does each second, as fast as it goes. */

int
power_copy_feed(int argc, char **argv)
{
    int               rc, more;
    char              why[STORE_WHY_CHARS];
    store_t          *store;
    unsigned long     times;
    store_options_t   options;

    if (argc != 2) {
        return 2;
    }

    memset(&options, 0, sizeof(options));
    options.path = argv[0];
    options.wait_ms = POWER_WAIT_MS;

    rc = store_open(&options, &store, why);

    for (times = strtoul(argv[1], NULL, 10); rc == STORE_OK && times; times--)
    {
        rc = store_events_copy(store, 10, &more);

        if (rc == STORE_OK && !more) {
            (void) usleep(POWER_COPY_US);
        }
    }

    if (rc != STORE_OK) {
        fprintf(stderr, "power_cut: %s: %s\n", why, store_strerror(rc));
    }

    return rc != STORE_OK;
}


static void
power_load_user(power_load_t *load, power_user_t *user)
{
    store_op_t   *op;
    const char   *verb;

    if (!user->there) {
        verb = "user";
        op = power_load_op(load, user, STORE_OP_USER_CREATE);

    } else if (user->disabled) {
        verb = "enable";
        op = power_load_op(load, user, STORE_OP_USER_ENABLE);

    } else if (power_random(&load->random) % 2) {
        verb = "disable";
        op = power_load_op(load, user, STORE_OP_USER_DISABLE);

    } else {
        verb = "delete";
        op = power_load_op(load, user, STORE_OP_USER_DELETE);
    }

    if (store_realm_set(&op->realm, "default", 7) != STORE_OK
        || store_text_set(&op->login, user->login, strlen(user->login))
           != STORE_OK)
    {
        power_die(user->login);
    }

    power_load_try(load, verb, user->login, NULL);
    power_load_apply(load);

    user->n = 0;
    user->there = op->kind != STORE_OP_USER_DELETE;
    user->disabled = op->kind == STORE_OP_USER_DISABLE;
    user->generation = op->kind == STORE_OP_USER_CREATE
                       ? 1 : user->generation + 1;
    memcpy(user->id, op->user, STORE_USER_BYTES);
}


static void
power_load_sessions(power_load_t *load, power_user_t *user)
{
    unsigned  i, n;

    if (user->n && power_random(&load->random) % 12 == 0) {
        (void) power_load_op(load, user, STORE_OP_END_ALL);
        power_load_try(load, "outs", user->login, NULL);
        power_load_apply(load);
        user->n = 0;
        return;
    }

    n = 1 + (unsigned) (power_random(&load->random) % POWER_BATCH);

    for (i = 0; i < n; i++) {
        if (user->n == 0 || (user->n < POWER_KEYS
                             && power_random(&load->random) % 2))
        {
            /* one that ends in the batch that begins it is no end yet */

            power_load_in(load, user);

        } else {
            power_load_out(load, user);
        }
    }

    power_load_apply(load);
}


static void
power_load_in(power_load_t *load, power_user_t *user)
{
    store_op_t  *op;

    op = power_load_op(load, user, STORE_OP_SIGN_IN);
    op->generation = user->generation;
    op->idle = 86400;
    op->lifetime = 864000;
    op->limit = POWER_LIMIT;

    if (store_random(op->key, STORE_KEY_BYTES) != STORE_OK) {
        power_die("random");
    }

    op->key[0] = 0x65;
    memcpy(user->live[user->n++], op->key, STORE_KEY_BYTES);
    power_load_try(load, "in", user->login, op->key);
}


static void
power_load_out(power_load_t *load, power_user_t *user)
{
    size_t       i;
    store_op_t  *op;

    i = power_random(&load->random) % user->n;

    op = power_load_op(load, user, STORE_OP_END);
    memcpy(op->key, user->live[i], STORE_KEY_BYTES);
    memcpy(user->live[i], user->live[--user->n], STORE_KEY_BYTES);
    power_load_try(load, "out", NULL, op->key);
}


static store_op_t *
power_load_op(power_load_t *load, power_user_t *user, store_op_kind_t kind)
{
    store_op_t  *op;

    op = &load->ops[load->n];
    memset(op, 0, sizeof(store_op_t));
    op->kind = kind;
    op->actor = STORE_BY_USER;
    op->now = (int64_t) time(NULL);
    op->end = STORE_END_SIGN_OUT;
    memcpy(op->user, user->id, STORE_USER_BYTES);
    store_agent_set(&op->agent, "power/1.0", 9);

    load->list[load->n] = op;

    return op;
}


/* Of the operation that was prepared last. */

static void
power_load_try(power_load_t *load, const char *verb, const char *login,
    const uint8_t *key)
{
    char    text[256], hex[STORE_KEY_BYTES * 2 + 1];
    size_t  i;

    hex[0] = '\0';

    for (i = 0; key && i < STORE_KEY_BYTES; i++) {
        (void) snprintf(hex + 2 * i, 3, "%02x", key[i]);
    }

    (void) snprintf(load->ids[load->n], sizeof(load->ids[0]), "%s.%u",
                    load->name, ++load->tries);
    (void) snprintf(text, sizeof(text), "try %s %s %s%s%s",
                    load->ids[load->n], verb, login ? login : "",
                    login && key ? " " : "", hex);

    power_load_note(load, text);
    load->n++;
}


static void
power_load_apply(power_load_t *load)
{
    int     rc;
    char    text[64];
    size_t  i;

    rc = store_batch_apply(load->store, load->list, load->n);

    for (i = 0; i < load->n; i++) {

        if (rc != STORE_OK || load->ops[i].result != STORE_OK) {
            fprintf(stderr, "power_cut: %s: %s\n", load->ids[i],
                    store_strerror(load->ops[i].result));
            exit(1);
        }

        (void) snprintf(text, sizeof(text), "ok %s", load->ids[i]);
        power_load_note(load, text);
    }

    load->n = 0;
}


static void
power_load_note(power_load_t *load, const char *text)
{
    struct iovec    parts[2];
    power_record_t  head;

    memset(&head, 0, sizeof(head));
    head.magic = POWER_MAGIC;
    head.type = POWER_NOTE;
    head.data_len = (uint32_t) strlen(text);

    parts[0].iov_base = &head;
    parts[0].iov_len = sizeof(head);
    parts[1].iov_base = (void *) (uintptr_t) text;
    parts[1].iov_len = head.data_len;

    if (writev(load->log, parts, 2) != (ssize_t) (sizeof(head)
                                                  + head.data_len))
    {
        power_die("note");
    }
}
