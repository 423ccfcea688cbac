/*
 * timing: how long single calls take, of several classes in random order; what
 * bench/timing judges.  Built only on store.h.
 *
 *   timing verify FILE COUNT KEYS TOKEN...   store_token_verify() of each
 *   timing compare FILE COUNT BYTE...        of 32 bytes, of which this one is
 *                                            wrong, by a loop that ends there
 *
 * FILE gets COUNT rows of nanoseconds, uint32_t, a column for each class.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store.h"


#define TIMING_CLASSES_MAX  8
#define TIMING_MAC_BYTES    32
#define TIMING_LINE_BYTES   128     /* two of the processor's cache lines */


typedef struct {
    _Alignas(TIMING_LINE_BYTES)
    char                    text[TIMING_LINE_BYTES];
    uint8_t                 right[TIMING_MAC_BYTES];
    const store_keyring_t  *keyring;
} timing_call_t;

typedef void (*timing_pt)(timing_call_t *call);


static int timing_verify(const char *keys, char **tokens, size_t n);
static int timing_run(timing_pt function, timing_call_t *call, char **texts,
    size_t n, size_t bytes);
static void timing_call_verify(timing_call_t *call);
static void timing_call_compare(timing_call_t *call);
static int timing_shuffle(uint8_t *order, size_t n);
static uint32_t timing_since(const struct timespec *before);


static const char     *timing_file;
static unsigned long   timing_count;

/* so that no call is left out as without effect */
static volatile int    timing_result;


int
main(int argc, char **argv)
{
    int            i;
    char          *texts[TIMING_CLASSES_MAX];
    char           text[TIMING_CLASSES_MAX][TIMING_MAC_BYTES];
    timing_call_t  call;

    if (argc < 5 || argc > 4 + TIMING_CLASSES_MAX) {
        fprintf(stderr, "timing verify|compare FILE COUNT ...\n");
        return 2;
    }

    timing_file = argv[2];
    timing_count = strtoul(argv[3], NULL, 10);

    if (strcmp(argv[1], "verify") == 0) {
        return timing_verify(argv[4], argv + 5, (size_t) argc - 5);
    }

    memset(&call, 0, sizeof(call));
    memset(text, 0, sizeof(text));

    for (i = 4; i < argc; i++) {
        texts[i - 4] = text[i - 4];
        text[i - 4][strtoul(argv[i], NULL, 10) % TIMING_MAC_BYTES] = 1;
    }

    return timing_run(timing_call_compare, &call, texts, (size_t) argc - 4,
                      TIMING_MAC_BYTES);
}


static int
timing_verify(const char *keys, char **tokens, size_t n)
{
    char              why[STORE_WHY_CHARS];
    size_t            i;
    timing_call_t     call;
    store_secrets_t  *secrets;
    store_keyring_t  *keyring;

    for (i = 0; i < n; i++) {
        if (strlen(tokens[i]) != STORE_TOKEN_CHARS) {
            fprintf(stderr, "timing: \"%s\" is no token\n", tokens[i]);
            return 1;
        }
    }

    if (store_secrets_read(keys, &secrets, why) != STORE_OK) {
        fprintf(stderr, "timing: %s\n", why);
        return 1;
    }

    if (store_keyring_derive(secrets, "default", &keyring) != STORE_OK) {
        fprintf(stderr, "timing: no keyring\n");
        return 1;
    }

    memset(&call, 0, sizeof(call));
    call.keyring = keyring;

    return timing_run(timing_call_verify, &call, tokens, n, STORE_TOKEN_CHARS);
}


/*
 * Every class is called once in each row, from the same memory.  Where a text
 * came from must not make a difference either, so each has its own lines.
 */

static int
timing_run(timing_pt function, timing_call_t *call, char **texts, size_t n,
    size_t bytes)
{
    FILE             *out;
    size_t            i;
    uint8_t           order[TIMING_CLASSES_MAX];
    uint32_t          row[TIMING_CLASSES_MAX];
    unsigned long     count;
    struct timespec   before;

    static _Alignas(TIMING_LINE_BYTES)
    char              line[TIMING_CLASSES_MAX][TIMING_LINE_BYTES];

    for (i = 0; i < n; i++) {
        memcpy(line[i], texts[i], bytes);
    }

    out = fopen(timing_file, "w");
    if (out == NULL) {
        perror(timing_file);
        return 1;
    }

    for (count = 0; count < timing_count; count++) {

        if (timing_shuffle(order, n) != 0) {
            fclose(out);
            return 1;
        }

        for (i = 0; i < n; i++) {
            memcpy(call->text, line[order[i]], TIMING_LINE_BYTES);

            (void) clock_gettime(CLOCK_MONOTONIC, &before);
            function(call);
            row[order[i]] = timing_since(&before);
        }

        if (fwrite(row, sizeof(uint32_t), n, out) != n) {
            break;
        }
    }

    if (fclose(out) != 0 || count != timing_count) {
        perror(timing_file);
        return 1;
    }

    return 0;
}


static void
timing_call_verify(timing_call_t *call)
{
    uint8_t  id[STORE_ID_BYTES];

    timing_result = store_token_verify(call->keyring, call->text,
                                       STORE_TOKEN_CHARS, id, NULL);
}


/* What a MAC must not be compared with. */

static void
timing_call_compare(timing_call_t *call)
{
    int                     i;
    const volatile char    *text;
    const volatile uint8_t *right;

    text = call->text;
    right = call->right;

    for (i = 0; i < TIMING_MAC_BYTES; i++) {
        if ((uint8_t) text[i] != right[i]) {
            break;
        }
    }

    timing_result = i;
}


static int
timing_shuffle(uint8_t *order, size_t n)
{
    size_t   i, j;
    uint8_t  random[TIMING_CLASSES_MAX];

    if (store_random(random, sizeof(random)) != STORE_OK) {
        fprintf(stderr, "timing: no random bytes\n");
        return 1;
    }

    for (i = 0; i < n; i++) {
        j = random[i] % (i + 1);
        order[i] = order[j];
        order[j] = (uint8_t) i;
    }

    return 0;
}


static uint32_t
timing_since(const struct timespec *before)
{
    struct timespec  now;

    (void) clock_gettime(CLOCK_MONOTONIC, &now);

    return (uint32_t) ((now.tv_sec - before->tv_sec) * 1000000000
                       + now.tv_nsec - before->tv_nsec);
}
