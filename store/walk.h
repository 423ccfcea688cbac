/*
 * walk.h: all rows of one database, in key order, without holding a read
 * transaction while somebody looks at them.
 */

#ifndef STORE_WALK_H_INCLUDED
#define STORE_WALK_H_INCLUDED


#include "env.h"


#define STORE_WALK_ROWS  128    /* read in one transaction */


typedef struct {
    store_env_t  *env;
    MDB_dbi       db;
    size_t        key_len;      /* of the database, <= STORE_INDEX_BYTES */
    size_t        row_size;
    int         (*decode)(const MDB_val *key, const MDB_val *value, void *row);
    int         (*visit)(const void *row, void *data);
    void         *data;
} store_walk_t;


/*
 * From the first key above `after` (NULL: from the start).  What visit
 * returned when that was not 0; STORE_CORRUPT at the end when rows did not
 * decode, which are left out; ENOMEM or an operating failure.
 */
int store_walk(const store_walk_t *walk, const uint8_t *after)
    STORE_CHECK_RESULT;

/* Decoders of the four kinds of rows. */
int store_session_row(const MDB_val *key, const MDB_val *value, void *row);
int store_user_row(const MDB_val *key, const MDB_val *value, void *row);
int store_event_row(const MDB_val *key, const MDB_val *value, void *row);


#endif /* STORE_WALK_H_INCLUDED */
