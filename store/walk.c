#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"


typedef struct {
    char     *rows;
    size_t    n;
    int       started;          /* `at` is set */
    int       more;
    int       corrupt;
    uint8_t   at[STORE_INDEX_BYTES];    /* the last key looked at */
} store_walk_part_t;


static int store_walk_read(const store_walk_t *walk, store_walk_part_t *part);
static int store_walk_fill(const store_walk_t *walk, store_walk_part_t *part,
    MDB_cursor *cursor);


int
store_walk(const store_walk_t *walk, const uint8_t *after)
{
    int                rc;
    size_t             i;
    store_walk_part_t  part = { 0 };

    part.rows = malloc(walk->row_size * STORE_WALK_ROWS);
    if (part.rows == NULL) {
        return ENOMEM;
    }

    if (after) {
        memcpy(part.at, after, walk->key_len);
        part.started = 1;
    }

    do {
        rc = store_walk_read(walk, &part);

        for (i = 0; rc == STORE_OK && i < part.n; i++) {
            rc = walk->visit(part.rows + i * walk->row_size, walk->data);
        }

    } while (rc == STORE_OK && part.more);

    free(part.rows);

    if (rc == STORE_OK && part.corrupt) {
        return STORE_CORRUPT;
    }

    return rc;
}


static int
store_walk_read(const store_walk_t *walk, store_walk_part_t *part)
{
    int          rc;
    MDB_txn     *txn;
    MDB_cursor  *cursor;

    rc = store_read_begin(walk->env, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = mdb_cursor_open(txn, walk->db, &cursor);

    if (rc == 0) {
        rc = store_walk_fill(walk, part, cursor);
        mdb_cursor_close(cursor);
    }

    store_read_end(txn);

    return rc;
}


static int
store_walk_fill(const store_walk_t *walk, store_walk_part_t *part,
    MDB_cursor *cursor)
{
    int      rc;
    size_t   seen;
    MDB_val  key, value;

    part->n = 0;
    part->more = 0;

    if (part->started) {
        rc = store_db_seek(cursor, part->at, walk->key_len, &key, &value);

        if (rc == STORE_OK
            && store_db_has_prefix(&key, walk->key_len, part->at,
                                   walk->key_len))
        {
            rc = store_db_step(cursor, MDB_NEXT, &key, &value);
        }

    } else {
        rc = store_db_step(cursor, MDB_FIRST, &key, &value);
    }

    for (seen = 0; rc == STORE_OK; seen++) {

        if (seen == STORE_WALK_ROWS) {
            part->more = 1;
            return STORE_OK;
        }

        if (key.mv_size != walk->key_len) {
            part->corrupt = 1;

        } else {
            memcpy(part->at, key.mv_data, walk->key_len);
            part->started = 1;

            rc = walk->decode(&key, &value,
                              part->rows + part->n * walk->row_size);

            if (rc == STORE_OK) {
                part->n++;

            } else {
                part->corrupt = 1;
            }
        }

        rc = store_db_step(cursor, MDB_NEXT, &key, &value);
    }

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


int
store_session_row(const MDB_val *key, const MDB_val *value, void *row)
{
    return store_session_decode(key->mv_data, value->mv_data, value->mv_size,
                                row, NULL);
}


int
store_user_row(const MDB_val *key, const MDB_val *value, void *row)
{
    return store_user_decode(key->mv_data, value->mv_data, value->mv_size,
                             row);
}


int
store_event_row(const MDB_val *key, const MDB_val *value, void *row)
{
    return store_event_decode(store_be64_get(key->mv_data), value->mv_data,
                              value->mv_size, row);
}
