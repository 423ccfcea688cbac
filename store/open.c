#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "open.h"
#include "pages.h"


static int store_open_files(store_t *store, const store_place_t *place,
    size_t map_size, char *why);
static void store_open_feed(store_t *store);
static size_t store_quota(size_t quota, size_t map_size);
static int store_open_meta(store_env_t *env, int events,
    uint8_t id[STORE_STORE_ID_BYTES]);


/* All that is open here, so that every handle can be reached to the end. */
static store_t          *store_opened;
static pthread_mutex_t   store_opened_lock = PTHREAD_MUTEX_INITIALIZER;


int
store_open(const store_options_t *options, store_t **out,
    char why[STORE_WHY_CHARS])
{
    int            rc, lock;
    store_place_t  place;

    *out = NULL;
    why[0] = '\0';

    rc = store_place_open(&place, options->path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_check(&place, why);
    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_place_enter(&place, 0, options->wait_ms, &lock, why);
    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_open_entered(&place, options, 0, out, why);

    (void) close(lock);

done:

    store_place_close(&place);

    return rc;
}


/*
 * The feed may take an eighth of the quota, and half of it while nobody can
 * copy it: a small store must not end up full of its own history.
 */
static void
store_open_feed(store_t *store)
{
    uint64_t  rows;

    rows = store->quota / 8 / STORE_CHANGE_BYTES;

    store->change_keep = rows < STORE_CHANGE_KEEP ? rows : STORE_CHANGE_KEEP;

    rows *= 4;

    store->change_hard_max = rows < STORE_CHANGE_HARD_MAX
                             ? rows : STORE_CHANGE_HARD_MAX;
}


/* With open.lock held.  Nothing of a store that fails here is lost: its
 * environments go back to the list, its owner lock is given up. */
int
store_open_entered(const store_place_t *place, const store_options_t *options,
    int alone, store_t **out, char *why)
{
    int       rc;
    size_t    map_size;
    store_t  *store;

    store = calloc(1, sizeof(store_t));
    if (store == NULL) {
        store_why(why, place->path, "%s", store_strerror(ENOMEM));
        return ENOMEM;
    }

    map_size = options->map_size ? options->map_size : STORE_MAP_SIZE;

    store->owner.fd = -1;
    store->quota = store_quota(options->quota, map_size);
    store_open_feed(store);

    store->path = strdup(place->path);
    if (store->path == NULL) {
        rc = ENOMEM;
        store_why(why, place->path, "%s", store_strerror(rc));
        goto failed;
    }

    rc = alone ? store_owner_claim(place, &store->owner, why)
               : store_owner_take(place, options->wait_ms, &store->owner, why);
    if (rc != STORE_OK) {
        goto failed;
    }

    rc = store_open_files(store, place, map_size, why);
    if (rc != STORE_OK) {
        goto failed;
    }

    (void) pthread_mutex_lock(&store_opened_lock);
    store->next = store_opened;
    store_opened = store;
    (void) pthread_mutex_unlock(&store_opened_lock);

    *out = store;

    return STORE_OK;

failed:

    store_abandon(store);

    return rc;
}


static int
store_open_files(store_t *store, const store_place_t *place, size_t map_size,
    char *why)
{
    int      rc, dead;
    uint8_t  id[STORE_STORE_ID_BYTES];

    rc = store_env_open(place, STORE_FILE_SESSIONS, map_size, 0,
                        &store->sessions, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_open(place, STORE_FILE_EVENTS, map_size, 0, &store->events,
                        why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_open_meta(store->sessions, 0, store->id);

    if (rc == STORE_OK) {
        rc = store_open_meta(store->events, 1, id);
    }

    if (rc != STORE_OK) {
        store_why(why, place->path, "databases: %s", store_strerror(rc));
        return rc;
    }

    if (memcmp(store->id, id, sizeof(id)) != 0) {
        store_why(why, place->path, "%s and %s belong to different stores",
                  STORE_FILE_SESSIONS, STORE_FILE_EVENTS);
        return STORE_CORRUPT;
    }

    rc = store_reader_check(store, &dead);

    if (rc != STORE_OK) {
        store_why(why, place->path, "reader table: %s", store_strerror(rc));
    }

    return rc;
}


void
store_abandon(store_t *store)
{
    store_t  **p;

    (void) pthread_mutex_lock(&store_opened_lock);

    for (p = &store_opened; *p; p = &(*p)->next) {

        if (*p == store) {
            *p = store->next;
            break;
        }
    }

    (void) pthread_mutex_unlock(&store_opened_lock);

    store_env_park(store->sessions);
    store_env_park(store->events);
    store_pages_put(store->cache, sizeof(store_cache_t));

    if (store->owner.fd != -1) {
        (void) close(store->owner.fd);
    }

    free(store->path);
    free(store);
}


/*
 * Sign-ins stop a sixteenth before the end of the map: ending sessions must
 * go on, and copies pages as it writes.
 */
static size_t
store_quota(size_t quota, size_t map_size)
{
    size_t  most;

    most = map_size - map_size / 16;

    return quota && quota < most ? quota : most;
}


static int
store_open_meta(store_env_t *env, int events, uint8_t id[STORE_STORE_ID_BYTES])
{
    int       rc;
    MDB_val   value;
    MDB_txn  *txn;

    rc = store_read_new(env, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_databases(env, txn, events, 0);
    if (rc != STORE_OK) {
        goto failed;
    }

    rc = store_db_get(txn, env->db[STORE_META], "format", 6, &value);
    if (rc != STORE_OK) {
        goto failed;
    }

    if (value.mv_size != 4 || memcmp(value.mv_data, "\0\0\0\0", 4) == 0) {
        rc = STORE_CORRUPT;
        goto failed;
    }

    if (memcmp(value.mv_data, STORE_FORMAT_BYTES, 4) != 0) {
        rc = STORE_VERSION;
        goto failed;
    }

    rc = store_db_get(txn, env->db[STORE_META], "store", 5, &value);
    if (rc != STORE_OK) {
        goto failed;
    }

    if (value.mv_size != STORE_STORE_ID_BYTES) {
        rc = STORE_CORRUPT;
        goto failed;
    }

    memcpy(id, value.mv_data, STORE_STORE_ID_BYTES);

    /* a commit, or the handles would be closed again */

    return mdb_txn_commit(txn);

failed:

    mdb_txn_abort(txn);

    return rc == STORE_NOT_FOUND ? STORE_CORRUPT : rc;
}
