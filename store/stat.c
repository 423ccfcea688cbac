#include <string.h>

#include "env.h"


static int store_stat_sessions(store_t *store, store_stat_t *stat);
static int store_stat_events(store_t *store, store_stat_t *stat);
static int store_stat_reader(const char *line, void *data);


int
store_stat(store_t *store, store_stat_t *stat)
{
    int          rc;
    unsigned     lines;
    MDB_envinfo  info;

    memset(stat, 0, sizeof(store_stat_t));
    memcpy(stat->store_id, store->id, sizeof(stat->store_id));

    rc = store_stat_sessions(store, stat);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_stat_events(store, stat);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = mdb_env_info(store->sessions->env, &info);
    if (rc != 0) {
        return rc;
    }

    stat->map_bytes = info.me_mapsize;
    stat->readers_max = info.me_maxreaders;

    /* me_numreaders never goes down, so the slots are counted: LMDB prints a
     * heading (or that there are none) and then a line for each */

    lines = 0;

    rc = mdb_reader_list(store->sessions->env, store_stat_reader, &lines);
    if (rc < 0) {
        return rc;
    }

    stat->readers = lines ? lines - 1 : 0;

    return STORE_OK;
}


static int
store_stat_reader(const char *line, void *data)
{
    unsigned  *lines = data;

    (void) line;
    (*lines)++;

    return 0;
}


static int
store_stat_sessions(store_t *store, store_stat_t *stat)
{
    int           rc;
    MDB_txn      *txn;
    store_env_t  *env;

    env = store->sessions;

    rc = store_read_begin(env, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_bytes(env, txn, &stat->sessions_bytes);

    if (rc == STORE_OK) {
        rc = store_env_entries(txn, env->db[STORE_SESSION], &stat->sessions);
    }

    if (rc == STORE_OK) {
        rc = store_env_entries(txn, env->db[STORE_SESSION_BY_USER],
                               &stat->live);
    }

    if (rc == STORE_OK) {
        rc = store_env_entries(txn, env->db[STORE_USER], &stat->users);
    }

    if (rc == STORE_OK) {
        rc = store_db_first(txn, env->db[STORE_CHANGE], &stat->change_first);
    }

    if (rc == STORE_OK) {
        rc = store_db_last(txn, env->db[STORE_CHANGE], &stat->change_last);
    }

    if (rc == STORE_OK) {
        rc = store_meta_get(txn, env->db[STORE_META], "lost",
                            &stat->change_lost);
    }

    store_read_end(txn);

    return rc;
}


static int
store_stat_events(store_t *store, store_stat_t *stat)
{
    int           rc;
    MDB_txn      *txn;
    store_env_t  *env;

    env = store->events;

    rc = store_read_begin(env, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_bytes(env, txn, &stat->events_bytes);

    if (rc == STORE_OK) {
        rc = store_env_entries(txn, env->db[STORE_EVENT], &stat->events);
    }

    if (rc == STORE_OK) {
        rc = store_meta_get(txn, env->db[STORE_META], "copied",
                            &stat->change_copied);
    }

    store_read_end(txn);

    return rc;
}


int
store_ping(store_t *store)
{
    int       rc;
    MDB_txn  *txn;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    store_read_end(txn);

    return STORE_OK;
}


int
store_keys_loaded(store_t *store, uint8_t ids[STORE_SECRETS_MAX], unsigned *n,
    int64_t *when)
{
    int       rc;
    MDB_txn  *txn;
    MDB_val   value;

    *n = 0;
    *when = 0;

    rc = store_read_begin(store->sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_db_get(txn, store->sessions->db[STORE_META], "keys", 4, &value);

    if (rc == STORE_OK
        && (value.mv_size < 8 || value.mv_size > 8 + STORE_SECRETS_MAX))
    {
        rc = STORE_CORRUPT;
    }

    if (rc == STORE_OK) {
        *n = (unsigned) value.mv_size - 8;
        *when = (int64_t) store_be64_get(value.mv_data);
        memcpy(ids, (const uint8_t *) value.mv_data + 8, *n);
    }

    store_read_end(txn);

    return rc;
}


/* Both environments; *dead counts the slots of both. */
int
store_reader_check(store_t *store, int *dead)
{
    int  rc, n;

    *dead = 0;

    rc = mdb_reader_check(store->sessions->env, &n);
    if (rc != 0) {
        return rc;
    }

    *dead = n;

    rc = mdb_reader_check(store->events->env, &n);
    if (rc != 0) {
        return rc;
    }

    *dead += n;

    return STORE_OK;
}
