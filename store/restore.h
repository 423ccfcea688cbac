/*
 * restore.h: one line of a dump into records; shared by restore.c, which owns
 * the transactions, and restore_row.c.
 */

#ifndef STORE_RESTORE_H_INCLUDED
#define STORE_RESTORE_H_INCLUDED


#include "jsonline.h"
#include "write.h"


typedef struct {
    store_write_t   sessions_w;
    store_write_t   events_w;
    unsigned        flags;
    uint64_t        line;
    uint64_t        users;              /* as counted here */
    uint64_t        sessions;
    uint64_t        events;
    int64_t         newest;             /* time in the dump */
    int             started;
    int             ended;              /* the last line has been seen */
    const char     *wrong;
    store_op_t      op;                 /* for the checks of a user */
    store_json_t    json;
} store_restore_t;


/* STORE_OK, STORE_MALFORMED or another outcome with restore->wrong set, or an
 * operating failure. */
int store_restore_row(store_restore_t *restore, const char *line, size_t n)
    STORE_CHECK_RESULT;


#endif /* STORE_RESTORE_H_INCLUDED */
