/*
 * open.h: the way into a store once open.lock is held; shared by open, init
 * and restore.
 */

#ifndef STORE_OPEN_H_INCLUDED
#define STORE_OPEN_H_INCLUDED


#include "env.h"


/* alone: nobody else may have it open (STORE_BUSY), none can until the end. */
int store_open_entered(const store_place_t *place,
    const store_options_t *options, int alone, store_t **store, char *why)
    STORE_CHECK_RESULT;

/* Gives the environments back for the next store_open() and lets go of the
 * owner file.  For init and restore, and where open fails. */
void store_abandon(store_t *store);


#endif /* STORE_OPEN_H_INCLUDED */
