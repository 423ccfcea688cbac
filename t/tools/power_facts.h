/*
 * power_facts.h: the notes of a load, and what follows from them at a cut.
 */

#ifndef POWER_FACTS_H_INCLUDED
#define POWER_FACTS_H_INCLUDED


#include "power_cut.h"


#define POWER_TRIES  20000
#define POWER_NEVER  SIZE_MAX

enum {
    POWER_USER_NONE = 0,
    POWER_USER_ENABLED,
    POWER_USER_DISABLED,
    POWER_USER_ANY              /* made before the first record */
};

typedef struct {
    char      id[32];
    char      verb[16];
    char      login[140];
    uint8_t   key[STORE_KEY_BYTES];
    int       keyed;
    size_t    began;            /* number of the record of the note */
    size_t    ok;
} power_try_t;

struct power_facts_s {
    power_try_t  tries[POWER_TRIES];
    size_t       n;
    int          base;
};


const power_try_t *power_facts_key(const power_facts_t *facts,
    const uint8_t *key);
void power_facts_ended(const power_facts_t *facts, const power_try_t *in,
    size_t cut, int *may, int *must);
void power_facts_user(const power_facts_t *facts, const char *login,
    size_t cut, int states[2]);
size_t power_facts_open(const power_facts_t *facts, const char *login,
    size_t cut);
int power_facts_done(const power_facts_t *facts, const char *verb, size_t cut,
    int *tried);


#endif /* POWER_FACTS_H_INCLUDED */
