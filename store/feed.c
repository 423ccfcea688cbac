#include <string.h>

#include "write.h"


/* rows of the feed that one call may drop, so that it stays short */
#define STORE_RETAIN_ROWS  1000


typedef struct {
    uint64_t  first;            /* 0: the feed is empty */
    uint64_t  last;
    uint64_t  before;           /* position that was found */
    uint64_t  copied;           /* and where it is now */
} store_feed_t;


static int store_feed_copy(store_t *store, size_t max, int *more,
    store_feed_t *feed);
static int store_feed_ends(store_t *store, MDB_txn *txn, store_feed_t *feed);
static int store_feed_write(store_write_t *w, MDB_txn *txn, size_t max,
    store_feed_t *feed);
static int store_feed_read(store_write_t *w, MDB_txn *txn, size_t max,
    store_feed_t *feed);
static int store_feed_rows(store_write_t *w, MDB_cursor *cursor, size_t max,
    store_feed_t *feed);
static int store_feed_retain(store_t *store, const store_feed_t *feed);
static int store_feed_drop(store_t *store, uint64_t first, uint64_t n,
    uint64_t lost);


/*
 * Retention runs even when the copy fails, because that is when the feed
 * grows: it keeps every row that was not copied up to the hard bound.
 */
int
store_events_copy(store_t *store, size_t max, int *more)
{
    int           rc, retained;
    store_feed_t  feed;

    *more = 0;

    rc = store_feed_copy(store, max, more, &feed);

    if (rc != STORE_OK && feed.last == 0) {
        return rc;
    }

    retained = store_feed_retain(store, &feed);

    return rc == STORE_OK ? retained : rc;
}


/*
 * The position stands in the events environment and moves in the transaction
 * that holds the copies: a row is there once, however often this is killed.
 *
 * The write lock of the events comes before the snapshot of the feed.  The
 * other way round another process could copy in between, and the position
 * would seem to be ahead of the feed.
 */
static int
store_feed_copy(store_t *store, size_t max, int *more, store_feed_t *feed)
{
    int            rc, failed;
    MDB_txn       *txn;
    store_write_t  w;

    memset(feed, 0, sizeof(store_feed_t));

    /* what is known of the position while the events cannot be read */

    feed->copied = feed->before = store->change_copied;

    failed = store_events_begin(store, &w);

    rc = store_feed_begin(store->sessions, &txn);

    if (rc == STORE_OK) {
        rc = store_feed_ends(store, txn, feed);

        if (rc == STORE_OK && failed == STORE_OK) {
            rc = store_feed_write(&w, txn, max, feed);
        }

        store_read_end(txn);
    }

    if (failed != STORE_OK) {
        return failed;
    }

    if (rc != STORE_OK) {
        mdb_txn_abort(w.txn);
        return rc;
    }

    rc = store_events_commit(&w);
    if (rc != STORE_OK) {
        feed->copied = feed->before;
        return rc;
    }

    store->change_copied = feed->copied;
    *more = feed->copied < feed->last;

    return STORE_OK;
}


static int
store_feed_ends(store_t *store, MDB_txn *txn, store_feed_t *feed)
{
    int  rc;

    rc = store_db_first(txn, store->sessions->db[STORE_CHANGE], &feed->first);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_last(txn, store->sessions->db[STORE_CHANGE], &feed->last);
}


static int
store_feed_write(store_write_t *w, MDB_txn *txn, size_t max,
    store_feed_t *feed)
{
    int  rc;

    rc = store_meta_get(w->txn, w->db[STORE_META], "copied", &feed->before);
    if (rc != STORE_OK) {
        return rc;
    }

    feed->copied = feed->before;

    rc = store_feed_read(w, txn, max, feed);

    if (rc == STORE_OK && feed->copied != feed->before) {
        rc = store_meta_put(w->txn, w->db[STORE_META], "copied", feed->copied);
    }

    if (rc != STORE_OK) {
        feed->copied = feed->before;
    }

    return rc;
}


static int
store_feed_read(store_write_t *w, MDB_txn *txn, size_t max, store_feed_t *feed)
{
    int          rc;
    MDB_cursor  *cursor;

    if (feed->copied > feed->last) {

        /* the sessions come from an older backup than the events; what the
         * feed holds was copied before that was made */

        feed->copied = feed->last;
        return STORE_OK;
    }

    rc = mdb_cursor_open(txn, w->store->sessions->db[STORE_CHANGE], &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_feed_rows(w, cursor, max, feed);

    mdb_cursor_close(cursor);

    return rc;
}


/* Rows that do not decode are passed over: they would stop the audit. */
static int
store_feed_rows(store_write_t *w, MDB_cursor *cursor, size_t max,
    store_feed_t *feed)
{
    int            rc;
    size_t         i;
    uint8_t        key[8];
    uint64_t       seq;
    MDB_val        k, v;
    store_event_t  event;

    store_be64_put(key, feed->copied + 1);

    rc = store_db_seek(cursor, key, sizeof(key), &k, &v);

    for (i = 0; rc == STORE_OK && i < max; i++) {

        if (k.mv_size != sizeof(key)) {
            return STORE_CORRUPT;
        }

        seq = store_be64_get(k.mv_data);

        if (store_event_decode(seq, v.mv_data, v.mv_size, &event) == STORE_OK
            && !store_change_rewritten(&event))
        {
            rc = store_event_put(w, &event, 0);
            if (rc != STORE_OK) {
                return rc;
            }
        }

        feed->copied = seq;

        rc = store_db_step(cursor, MDB_NEXT, &k, &v);
    }

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


/*
 * Of the rows that were copied the newest change_keep stay, for those who
 * follow the feed.  Of those that were not at most change_hard_max stay: a
 * broken events environment must not fill the one that lets people in.
 */
static int
store_feed_retain(store_t *store, const store_feed_t *feed)
{
    uint64_t  kept, drop, lost, keep, copied, waiting;

    if (feed->first == 0) {
        return STORE_OK;
    }

    kept = feed->last - feed->first + 1;
    copied = feed->copied >= feed->first ? feed->copied - feed->first + 1 : 0;
    waiting = kept - copied;

    keep = store->change_keep;
    drop = kept > keep ? kept - keep : 0;

    if (drop > copied) {
        drop = copied;
    }

    if (waiting > store->change_hard_max) {
        drop = copied + waiting - store->change_hard_max;
    }

    /* the last row stays: the next sequence is counted from it */

    if (drop == kept) {
        drop--;
    }

    if (drop > STORE_RETAIN_ROWS) {
        drop = STORE_RETAIN_ROWS;
    }

    if (drop == 0) {
        return STORE_OK;
    }

    lost = drop > copied ? drop - copied : 0;

    return store_feed_drop(store, feed->first, drop, lost);
}


/*
 * Sequences have no gaps, so rows can be named without looking.  Another
 * process may have dropped some of them meanwhile; what is gone is not
 * counted as lost again.
 */
static int
store_feed_drop(store_t *store, uint64_t first, uint64_t n, uint64_t lost)
{
    int             rc;
    uint8_t         key[8];
    uint64_t        i, gone;
    MDB_txn        *txn;
    const MDB_dbi  *db;

    db = store->sessions->db;

    rc = store_write_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0, gone = 0; i < n; i++) {
        store_be64_put(key, first + i);

        rc = store_db_del(txn, db[STORE_CHANGE], key, sizeof(key));

        if (!store_expected(rc)) {
            goto failed;
        }

        if (rc == STORE_OK && i >= n - lost) {
            gone++;
        }
    }

    if (gone) {
        rc = store_meta_get(txn, db[STORE_META], "lost", &lost);

        if (rc == STORE_OK) {
            rc = store_meta_put(txn, db[STORE_META], "lost", lost + gone);
        }

        if (rc != STORE_OK) {
            goto failed;
        }
    }

    return mdb_txn_commit(txn);

failed:

    mdb_txn_abort(txn);

    return rc;
}
