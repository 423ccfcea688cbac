#include <string.h>

#include "cache.h"
#include "pages.h"


static void store_cache_follow(store_cache_t *cache, MDB_txn *txn, MDB_dbi db);
static int store_cache_rows(store_cache_t *cache, MDB_txn *txn, MDB_dbi db);
static int store_cache_read(store_cache_t *cache, MDB_cursor *cursor);
static int store_cache_row(store_cache_t *cache, const MDB_val *key,
    const MDB_val *value);
static int store_cache_mark(store_cache_t *cache, MDB_txn *txn, MDB_dbi db);
static void store_cache_note(store_cache_t *cache, const MDB_val *key,
    const MDB_val *value);
static int store_cache_noted(const store_cache_t *cache, const MDB_val *key,
    const MDB_val *value);
static unsigned store_cache_set(const uint8_t key[STORE_KEY_BYTES]);
static int store_cache_find(store_cache_t *cache,
    const uint8_t key[STORE_KEY_BYTES], unsigned *way);
static int store_cache_wanted(store_cache_t *cache,
    const uint8_t key[STORE_KEY_BYTES], unsigned *way);
static void store_cache_clear(store_cache_t *cache, unsigned set,
    unsigned way);
static void store_cache_drop(store_cache_t *cache,
    const uint8_t key[STORE_KEY_BYTES]);
static void store_cache_drop_all(store_cache_t *cache);
static int store_cache_fill(store_t *store, MDB_txn *txn,
    const uint8_t key[STORE_KEY_BYTES], const store_session_t **session);


int
store_cache_start(store_t *store)
{
    int    rc;
    void  *pages;

    if (store->cache) {
        return STORE_OK;
    }

    rc = store_pages_get(&pages, sizeof(store_cache_t));
    if (rc != STORE_OK) {
        return rc;
    }

    store->cache = pages;

    return STORE_OK;
}


int
store_session_look(store_t *store, const uint8_t key[STORE_KEY_BYTES],
    int64_t now, int64_t touch, const store_session_t **session)
{
    int               rc;
    unsigned          set, way;
    MDB_txn          *txn;
    store_cache_t    *cache;
    store_session_t  *s;

    cache = store->cache;

    if (cache == NULL) {
        *session = &store->looked;
        return store_session_get(store, key, &store->looked);
    }

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    if (mdb_txn_id(txn) != cache->txn) {
        store_cache_follow(cache, txn, store->sessions->db[STORE_CHANGE]);
    }

    if (store_cache_find(cache, key, &way)) {
        set = store_cache_set(key);
        s = &cache->places[set][way];

        if (now - s->seen < touch && (s->idle == 0 || now < s->seen + s->idle))
        {
            cache->last[set] = (uint8_t) way;
            *session = s;
            goto done;
        }
    }

    rc = store_cache_fill(store, txn, key, session);

done:

    store_read_end(txn);

    return rc;
}


/* Reads it, and holds it if it is live and was wanted before. */
static int
store_cache_fill(store_t *store, MDB_txn *txn,
    const uint8_t key[STORE_KEY_BYTES], const store_session_t **session)
{
    int                 rc;
    unsigned            set, way;
    MDB_val             value;
    store_cache_t      *cache;
    store_session_t    *s;
    store_cache_tag_t  *tag;

    rc = store_db_get(txn, store->sessions->db[STORE_SESSION], key,
                      STORE_KEY_BYTES, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    cache = store->cache;
    set = store_cache_set(key);
    s = &store->looked;
    tag = NULL;

    if (store_cache_find(cache, key, &way)
        || store_cache_wanted(cache, key, &way))
    {
        /* of another session, or the end of a longer text */

        store_cache_clear(cache, set, way);

        s = &cache->places[set][way];
        tag = &cache->tags[set][way];
    }

    rc = store_session_decode(key, value.mv_data, value.mv_size, s, NULL);
    if (rc != STORE_OK) {
        return rc;
    }

    if (tag && s->end == STORE_END_NONE) {
        memcpy(tag->key, key, STORE_KEY_BYTES);
        tag->used = 1;
        cache->last[set] = (uint8_t) way;
    }

    *session = s;

    return STORE_OK;
}


/* Where the rows do not tell all, nothing of before is kept. */
static void
store_cache_follow(store_cache_t *cache, MDB_txn *txn, MDB_dbi db)
{
    int  rc;

    rc = STORE_CONFLICT;

    if (mdb_txn_id(txn) > cache->txn && cache->seq) {
        rc = store_cache_rows(cache, txn, db);
    }

    if (rc != STORE_OK) {
        store_cache_drop_all(cache);

        if (store_cache_mark(cache, txn, db) != STORE_OK) {
            cache->seq = 0;
        }
    }

    cache->txn = mdb_txn_id(txn);
}


static int
store_cache_rows(store_cache_t *cache, MDB_txn *txn, MDB_dbi db)
{
    int          rc;
    MDB_cursor  *cursor;

    rc = mdb_cursor_open(txn, db, &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_cache_read(cache, cursor);

    mdb_cursor_close(cursor);

    return rc;
}


static int
store_cache_read(store_cache_t *cache, MDB_cursor *cursor)
{
    int       rc;
    uint8_t   key[8];
    MDB_val   k, v;
    unsigned  rows;

    store_be64_put(key, cache->seq);

    rc = store_db_seek(cursor, key, sizeof(key), &k, &v);

    if (rc != STORE_OK || !store_cache_noted(cache, &k, &v)) {
        return STORE_CONFLICT;
    }

    for (rows = 0; rows < STORE_CACHE_ROWS; rows++) {
        rc = store_db_step(cursor, MDB_NEXT, &k, &v);

        if (rc == STORE_NOT_FOUND) {
            return STORE_OK;
        }

        if (rc == STORE_OK) {
            rc = store_cache_row(cache, &k, &v);
        }

        if (rc != STORE_OK) {
            return rc;
        }
    }

    return STORE_LIMIT;
}


static int
store_cache_row(store_cache_t *cache, const MDB_val *key, const MDB_val *value)
{
    int            rc;
    store_event_t  event;

    if (key->mv_size != 8 || store_be64_get(key->mv_data) != cache->seq + 1) {
        return STORE_CONFLICT;
    }

    rc = store_event_decode(cache->seq + 1, value->mv_data, value->mv_size,
                            &event);
    if (rc != STORE_OK) {
        return rc;
    }

    if (event.type == STORE_EVENT_RESTORED) {
        return STORE_CONFLICT;
    }

    store_cache_drop(cache, event.key);
    store_cache_note(cache, key, value);

    return STORE_OK;
}


/* The newest row is where to go on from the next time. */
static int
store_cache_mark(store_cache_t *cache, MDB_txn *txn, MDB_dbi db)
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    rc = mdb_cursor_open(txn, db, &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_step(cursor, MDB_LAST, &k, &v);

    if (rc == STORE_OK && (k.mv_size != 8 || v.mv_size < STORE_CHECK_BYTES)) {
        rc = STORE_CORRUPT;
    }

    if (rc == STORE_OK) {
        store_cache_note(cache, &k, &v);
    }

    mdb_cursor_close(cursor);

    return rc;
}


/* A value ends with its check, which is made of its sequence too. */
static void
store_cache_note(store_cache_t *cache, const MDB_val *key,
    const MDB_val *value)
{
    cache->seq = store_be64_get(key->mv_data);

    memcpy(cache->seal, (uint8_t *) value->mv_data + value->mv_size
                        - STORE_CHECK_BYTES, STORE_CHECK_BYTES);
}


static int
store_cache_noted(const store_cache_t *cache, const MDB_val *key,
    const MDB_val *value)
{
    return key->mv_size == 8 && store_be64_get(key->mv_data) == cache->seq
           && value->mv_size >= STORE_CHECK_BYTES
           && memcmp(cache->seal, (uint8_t *) value->mv_data + value->mv_size
                                  - STORE_CHECK_BYTES, STORE_CHECK_BYTES)
              == 0;
}


/* Two bytes of a hash that nobody can choose. */
static unsigned
store_cache_set(const uint8_t key[STORE_KEY_BYTES])
{
    return ((unsigned) key[12] << 8 | key[13]) % STORE_CACHE_SETS;
}


static int
store_cache_find(store_cache_t *cache, const uint8_t key[STORE_KEY_BYTES],
    unsigned *way)
{
    store_cache_tag_t  *tags;

    tags = cache->tags[store_cache_set(key)];

    for (*way = 0; *way < STORE_CACHE_WAYS; (*way)++) {

        if (tags[*way].used
            && memcmp(tags[*way].key, key, STORE_KEY_BYTES) == 0)
        {
            return 1;
        }
    }

    return 0;
}


/*
 * Whoever is asked for twice, with no other one of the set in between, takes
 * the place that was used longer ago.  Where everybody comes but once, places
 * would only be written for nothing.
 */
static int
store_cache_wanted(store_cache_t *cache, const uint8_t key[STORE_KEY_BYTES],
    unsigned *way)
{
    unsigned  set, mark;

    set = store_cache_set(key);
    mark = (unsigned) key[14] << 8 | key[15];

    if (cache->asked[set] != mark) {
        cache->asked[set] = (uint16_t) mark;
        return 0;
    }

    *way = !cache->last[set];

    return 1;
}


static void
store_cache_clear(store_cache_t *cache, unsigned set, unsigned way)
{
    store_wipe(&cache->tags[set][way], sizeof(store_cache_tag_t));
    store_wipe(&cache->places[set][way], sizeof(store_session_t));
}


static void
store_cache_drop(store_cache_t *cache, const uint8_t key[STORE_KEY_BYTES])
{
    unsigned  way;

    if (store_cache_find(cache, key, &way)) {
        store_cache_clear(cache, store_cache_set(key), way);
    }
}


/* Places that were never used stay out of memory. */
static void
store_cache_drop_all(store_cache_t *cache)
{
    unsigned  set, way;

    for (set = 0; set < STORE_CACHE_SETS; set++) {
        for (way = 0; way < STORE_CACHE_WAYS; way++) {

            if (cache->tags[set][way].used) {
                store_cache_clear(cache, set, way);
            }
        }
    }
}
