/*
 * lookups: what a session costs in the event thread, with and without the cache
 * in front of LMDB, and a writer that commits beside it.
 *
 *   lookups read STORE uniform|zipf|N ROUNDS
 *       rounds of 200,000 lookups of each kind in turn; N: of the first N
 *       sessions.  Prints ns of a lookup (best and median) and the hits.
 *   lookups write STORE RATE SECONDS touch|name
 *       so many commits a second
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cache.h"


#define LOOKUPS      200000
#define LOOKUPS_MAX  2000000
#define ROUNDS_MAX   99


typedef struct {
    uint8_t   (*keys)[STORE_KEY_BYTES];
    size_t      n;
    uint8_t     user[STORE_USER_BYTES];
} lookups_t;


static uint64_t  state = 0x9e3779b97f4a7c15;


static double
drawn(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;

    return (double) ((state * 0x2545f4914f6cdd1d) >> 11) / 9007199254740992.0;
}


static int
visit(const store_session_t *s, void *data)
{
    lookups_t  *l = data;

    if (s->end == STORE_END_NONE) {
        memcpy(l->keys[l->n++], s->key, STORE_KEY_BYTES);
        memcpy(l->user, s->user, STORE_USER_BYTES);
    }

    return l->n == LOOKUPS_MAX;
}


/* User and system time of this thread, ns. */
static double
cpu(void)
{
    struct timespec  ts;

    (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);

    return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}


static void
shuffle(lookups_t *l)
{
    size_t   i, j;
    uint8_t  key[STORE_KEY_BYTES];

    for (i = l->n - 1; i > 0; i--) {
        j = (size_t) (drawn() * (double) (i + 1));
        memcpy(key, l->keys[i], sizeof(key));
        memcpy(l->keys[i], l->keys[j], sizeof(key));
        memcpy(l->keys[j], key, sizeof(key));
    }
}


/* Which session each lookup is of. */
static uint32_t *
order(const lookups_t *l, const char *law)
{
    double     x, sum, *upto;
    size_t     i, low, high, middle, n;
    uint32_t  *list;

    list = calloc(LOOKUPS, sizeof(uint32_t));
    upto = calloc(l->n, sizeof(double));

    if (list == NULL || upto == NULL) {
        exit(1);
    }

    n = strtoul(law, NULL, 10);
    n = n && n < l->n ? n : l->n;

    for (i = 0, sum = 0; i < n; i++) {
        sum += strcmp(law, "zipf") == 0 ? 1.0 / (double) (i + 1) : 1.0;
        upto[i] = sum;
    }

    for (i = 0; i < LOOKUPS; i++) {
        x = drawn() * sum;

        for (low = 0, high = n - 1; low < high; ) {
            middle = (low + high) / 2;

            if (upto[middle] < x) {
                low = middle + 1;

            } else {
                high = middle;
            }
        }

        list[i] = (uint32_t) low;
    }

    free(upto);

    return list;
}


static int
compare(const void *a, const void *b)
{
    const double  *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}


static unsigned long  sum, hits, lookups;


static double
round_of(store_t *store, const lookups_t *l, const uint32_t *list, int cached,
    int64_t now)
{
    double                  before;
    size_t                  i;
    store_session_t         session;
    const store_session_t  *s;

    before = cpu();

    for (i = 0; i < LOOKUPS; i++) {

        if (cached) {

            if (store_session_look(store, l->keys[list[i]], now, 43200, &s)
                != STORE_OK)
            {
                exit(2);
            }


        } else {
            if (store_session_get(store, l->keys[list[i]], &session)
                != STORE_OK)
            {
                exit(2);
            }

            s = &session;
        }

        sum += s->login.len + (unsigned long) s->created
               + (unsigned char) s->agent.data[0]
               + (unsigned char) s->address.data[0] + s->roles.len
               + s->name.len;
    }

    return (cpu() - before) / LOOKUPS;
}


/* How many there is no get for. */
static void
count(store_t *store, const lookups_t *l, const uint32_t *list, int64_t now)
{
    size_t                  i;
    unsigned                set, way;
    const uint8_t          *key;
    store_cache_tag_t      *tags;
    const store_session_t  *s;

    for (i = 0; i < LOOKUPS; i++) {
        key = l->keys[list[i]];
        set = ((unsigned) key[12] << 8 | key[13]) % STORE_CACHE_SETS;
        tags = store->cache->tags[set];

        for (way = 0; way < STORE_CACHE_WAYS; way++) {
            if (tags[way].used
                && memcmp(tags[way].key, key, STORE_KEY_BYTES) == 0)
            {
                hits++;
            }
        }

        lookups++;

        if (store_session_look(store, key, now, 43200, &s) != STORE_OK) {
            exit(2);
        }
    }
}


static int
reading(store_t *store, lookups_t *l, const char *law, size_t rounds)
{
    int        cached;
    size_t     i;
    double     ns[2][ROUNDS_MAX];
    int64_t    now;
    uint32_t  *list;

    now = time(NULL);
    rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX;
    shuffle(l);
    list = order(l, law);

    if (store_cache_start(store) != STORE_OK) {
        return 1;
    }

    (void) round_of(store, l, list, 0, now - 100);
    (void) round_of(store, l, list, 1, now - 100);

    for (i = 0; i < rounds; i++) {
        for (cached = 0; cached < 2; cached++) {
            ns[cached][i] = round_of(store, l, list, cached, now - 100);
        }
    }

    count(store, l, list, now - 100);

    for (cached = 0; cached < 2; cached++) {
        qsort(ns[cached], rounds, sizeof(double), compare);
    }

    printf("sessions=%zu law=%s get_ns=%.0f get_median=%.0f look_ns=%.0f "
           "look_median=%.0f hits=%.3f sum=%lu\n", l->n, law, ns[0][0],
           ns[0][rounds / 2], ns[1][0], ns[1][rounds / 2],
           (double) hits / (double) lookups, sum % 10);

    return 0;
}


static int
writing(store_t *store, lookups_t *l, double rate, double seconds,
    const char *kind)
{
    size_t           i;
    store_op_t       op, *ops[1];
    struct timespec  next;

    ops[0] = &op;
    (void) clock_gettime(CLOCK_MONOTONIC, &next);

    for (i = 0; (double) i < rate * seconds; i++) {
        memset(&op, 0, sizeof(op));
        op.actor = STORE_BY_CLI;
        op.now = time(NULL);

        if (strcmp(kind, "touch") == 0) {
            op.kind = STORE_OP_TOUCH;
            memcpy(op.key, l->keys[i * 7919 % l->n], STORE_KEY_BYTES);

        } else {
            op.kind = STORE_OP_USER_NAME;
            memcpy(op.user, l->user, STORE_USER_BYTES);
            op.name.len = (uint16_t) snprintf(op.name.data, 32, "n%zu", i);
        }

        if (store_batch_apply(store, ops, 1) != STORE_OK
            || op.result != STORE_OK)
        {
            return 1;
        }

        next.tv_nsec += (long) (1e9 / rate);

        while (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }

        (void) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }

    printf("commits=%zu\n", i);

    return 0;
}


int
main(int argc, char **argv)
{
    char             why[STORE_WHY_CHARS];
    store_t         *store;
    lookups_t        l;
    store_options_t  options = { 0 };

    if (argc < 5) {
        fprintf(stderr, "lookups read STORE uniform|zipf|N ROUNDS\n"
                        "lookups write STORE RATE SECONDS touch|name\n");
        return 2;
    }

    options.path = argv[2];
    options.wait_ms = 10000;

    if (store_open(&options, &store, why) != STORE_OK) {
        fprintf(stderr, "lookups: %s\n", why);
        return 1;
    }

    memset(&l, 0, sizeof(l));
    l.keys = calloc(LOOKUPS_MAX, STORE_KEY_BYTES);

    if (l.keys == NULL || store_session_each(store, visit, &l) < 0
        || l.n == 0)
    {
        return 1;
    }

    if (argv[1][0] == 'r') {
        return reading(store, &l, argv[3], strtoul(argv[4], NULL, 10));
    }

    return writing(store, &l, strtod(argv[3], NULL), strtod(argv[4], NULL),
                   argc > 5 ? argv[5] : "touch");
}
