/*
 * cache.h: sessions that were read a moment ago, for the reader's thread.
 *
 * Records of live sessions, never decisions and never that there is none: time,
 * realm and roles are looked at on each request.  What is held is what LMDB
 * gives in the snapshot of `txn`.  Each lookup begins a read transaction.  If
 * that has another number, its change feed is read from `seq` on: it names, in
 * the commit that did it and whatever process that was, every session whose
 * record was rewritten or ended.  Those are dropped.  Everything is dropped
 * where the feed does not tell all:
 *
 *   the transaction is older than the last one       other files in the place
 *   the row `seq` is gone, or its check is another   trimmed, or another feed
 *   a row does not decode, or is out of order        damage, a newer version
 *   a restore                                        names no sessions
 *   there are many rows                              the event loop waits
 *
 * Only `seen` is written without a row.  It never falls, so that of a held
 * record is at most too low: a session that would be idle by it, or whose use
 * would be written, is read again.
 */

#ifndef STORE_CACHE_H_INCLUDED
#define STORE_CACHE_H_INCLUDED


#include "env.h"


/* Two places for each of so many values of two bytes of the key. */
#define STORE_CACHE_SETS  2048
#define STORE_CACHE_WAYS  2

/* Reading so many rows costs about as much as filling the cache anew. */
#define STORE_CACHE_ROWS  1000


typedef struct {
    uint8_t            key[STORE_KEY_BYTES];
    uint8_t            used;
} store_cache_tag_t;

/* Tags stand apart: a search that finds nothing stays within 74 KiB. */
struct store_cache_s {
    size_t             txn;     /* of the snapshot it was compared with */
    uint64_t           seq;     /* of the newest row there; 0: none */
    uint8_t            seal[STORE_CHECK_BYTES];         /* of that row */
    uint8_t            last[STORE_CACHE_SETS];          /* way used last */
    uint16_t           asked[STORE_CACHE_SETS];         /* for, in vain */
    store_cache_tag_t  tags[STORE_CACHE_SETS][STORE_CACHE_WAYS];
    store_session_t    places[STORE_CACHE_SETS][STORE_CACHE_WAYS];
};

_Static_assert(sizeof(store_cache_t) < (4 << 20), "size of the cache");


#endif /* STORE_CACHE_H_INCLUDED */
