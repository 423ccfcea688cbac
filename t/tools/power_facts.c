#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "power_facts.h"


/*
 * Notes in the log, a line each:
 *
 *   try ID init                      try ID user LOGIN
 *   try ID in LOGIN KEY              try ID disable LOGIN
 *   try ID out KEY                   try ID enable LOGIN
 *   try ID outs LOGIN                try ID delete LOGIN
 *   try ID backup                    try ID restore
 *   ok ID [KEY]
 *
 * A key is 32 hexadecimal digits, or "-" in a sign-in that is not known
 * before it was answered.  What is done to one login is done by one after the
 * other.
 */


static void power_note(power_facts_t *facts, const power_entry_t *entry,
    size_t at);
static power_try_t *power_try_find(power_facts_t *facts, const char *id);
static void power_key_read(const char *text, uint8_t key[STORE_KEY_BYTES]);


power_facts_t *
power_facts_read(const power_log_t *log)
{
    size_t          i;
    power_facts_t  *facts;

    facts = calloc(1, sizeof(power_facts_t));

    if (facts == NULL) {
        power_die("memory");
    }

    for (i = 0; i < log->n; i++) {
        if (log->entries[i].head->type == POWER_NOTE) {
            power_note(facts, &log->entries[i], i);
        }
    }

    return facts;
}


static void
power_note(power_facts_t *facts, const power_entry_t *entry, size_t at)
{
    int           n;
    char          text[256], what[8], id[32], verb[16], login[140], key[40];
    power_try_t  *t;

    if (entry->head->data_len >= sizeof(text)) {
        power_die("a note that is too long");
    }

    memcpy(text, entry->data, entry->head->data_len);
    text[entry->head->data_len] = '\0';
    login[0] = key[0] = verb[0] = '\0';

    n = sscanf(text, "%7s %31s %15s %139s %39s", what, id, verb, login, key);

    if (n >= 2 && strcmp(what, "ok") == 0) {
        t = power_try_find(facts, id);

        if (t == NULL) {
            power_die(text);
        }

        t->ok = at;

        if (sscanf(text, "%*s %*s %39s", key) == 1) {
            power_key_read(key, t->key);
            t->keyed = 1;
        }

        return;
    }

    if (n < 3 || strcmp(what, "try") != 0 || facts->n == POWER_TRIES) {
        power_die(text);
    }

    t = &facts->tries[facts->n++];
    strcpy(t->id, id);
    strcpy(t->verb, verb);
    strcpy(t->login, login);
    t->began = at;
    t->ok = POWER_NEVER;

    if (strcmp(verb, "out") == 0) {
        strcpy(key, login);
        t->login[0] = '\0';
    }

    if (strlen(key) == STORE_KEY_BYTES * 2) {
        power_key_read(key, t->key);
        t->keyed = 1;
    }
}


static power_try_t *
power_try_find(power_facts_t *facts, const char *id)
{
    size_t  i;

    for (i = facts->n; i > 0; i--) {
        if (strcmp(facts->tries[i - 1].id, id) == 0) {
            return &facts->tries[i - 1];
        }
    }

    return NULL;
}


static void
power_key_read(const char *text, uint8_t key[STORE_KEY_BYTES])
{
    size_t    i;
    unsigned  byte;

    if (strlen(text) != STORE_KEY_BYTES * 2) {
        power_die(text);
    }

    for (i = 0; i < STORE_KEY_BYTES; i++) {

        if (sscanf(text + 2 * i, "%2x", &byte) != 1) {
            power_die(text);
        }

        key[i] = (uint8_t) byte;
    }
}


const power_try_t *
power_facts_key(const power_facts_t *facts, const uint8_t *key)
{
    size_t              i;
    const power_try_t  *t;

    for (i = 0; i < facts->n; i++) {
        t = &facts->tries[i];

        if (t->keyed && strcmp(t->verb, "in") == 0
            && memcmp(t->key, key, STORE_KEY_BYTES) == 0)
        {
            return t;
        }
    }

    return NULL;
}


/* A session may be over, must be over, or neither. */

void
power_facts_ended(const power_facts_t *facts, const power_try_t *in,
    size_t cut, int *may, int *must)
{
    int                 all;
    size_t              i;
    const power_try_t  *t;

    *may = 0;
    *must = 0;

    for (i = 0; i < facts->n; i++) {
        t = &facts->tries[i];

        if (t->began >= cut || t == in) {
            continue;
        }

        if (strcmp(t->verb, "out") == 0) {

            if (memcmp(t->key, in->key, STORE_KEY_BYTES) == 0) {
                *may = 1;
                *must |= t->ok < cut;
            }

            continue;
        }

        all = strcmp(t->verb, "outs") == 0 || strcmp(t->verb, "disable") == 0
              || strcmp(t->verb, "delete") == 0;

        if (all && strcmp(t->login, in->login) == 0 && in->began < t->ok) {
            *may = 1;
            *must |= t->ok < cut && in->ok < t->began;
        }
    }
}


/* What a user was made by the last change that was answered, and by one that
 * was not: bits of power_user_t. */

void
power_facts_user(const power_facts_t *facts, const char *login, size_t cut,
    int states[2])
{
    int                 state;
    size_t              i;
    const power_try_t  *t;

    states[0] = states[1] = facts->base ? POWER_USER_ANY : POWER_USER_NONE;

    for (i = 0; i < facts->n; i++) {
        t = &facts->tries[i];

        if (t->began >= cut || strcmp(t->login, login) != 0) {
            continue;
        }

        if (strcmp(t->verb, "user") == 0 || strcmp(t->verb, "enable") == 0) {
            state = POWER_USER_ENABLED;

        } else if (strcmp(t->verb, "disable") == 0) {
            state = POWER_USER_DISABLED;

        } else if (strcmp(t->verb, "delete") == 0) {
            state = POWER_USER_NONE;

        } else {
            continue;
        }

        states[1] = state;

        if (t->ok < cut) {
            states[0] = state;
        }
    }
}


/* How many sign-ins of a login may be there without a key that is known. */

size_t
power_facts_open(const power_facts_t *facts, const char *login, size_t cut)
{
    size_t              i, n;
    const power_try_t  *t;

    for (i = 0, n = 0; i < facts->n; i++) {
        t = &facts->tries[i];

        n += strcmp(t->verb, "in") == 0 && strcmp(t->login, login) == 0
             && t->began < cut && !t->keyed;
    }

    return n;
}


int
power_facts_done(const power_facts_t *facts, const char *verb, size_t cut,
    int *tried)
{
    int                 done;
    size_t              i;
    const power_try_t  *t;

    *tried = 0;
    done = 0;

    for (i = 0; i < facts->n; i++) {
        t = &facts->tries[i];

        if (strcmp(t->verb, verb) == 0) {
            *tried |= t->began < cut;
            done |= t->ok < cut;
        }
    }

    return done;
}
