/*
 * env.h: the two LMDB environments, their databases and transactions.
 *
 * sessions.v1.mdb
 *   meta               "format" (4), "store" id (16), "keys" (8 + n): time and
 *                      ids of the keys last loaded, "lost" (8): change rows
 *                      dropped before they were copied
 *   session            key (16) -> record
 *   session_by_user    user (8) key (16) -> empty; live sessions only
 *   session_by_expiry  time (8) key (16) -> empty; tombstones too
 *   change             sequence (8) -> event record
 *   user               user (8) -> record
 *   user_by_login      realm 0x00 lower-case login -> user (8)
 *
 * events.v1.mdb
 *   meta               "format" (4), "store" id (16), "copied" (8): last change
 *                      row copied, "last" (8): last sequence given out
 *   event              sequence (8) -> event record
 *   event_by_user      user (8) sequence (8) -> empty
 *   event_by_time      time (8) sequence (8) -> empty
 *   event_by_group     minute (8) hash (16) -> sequence (8); see event.c
 *
 * An environment that was opened is never closed.  It stays in a list for the
 * life of the process: a store that failed to open after LMDB had succeeded,
 * or that init or restore made, is taken up again by the next store_open(),
 * because LMDB must not open a file twice in one process.
 */

#ifndef STORE_ENV_H_INCLUDED
#define STORE_ENV_H_INCLUDED


#include <lmdb.h>

#include "place.h"
#include "record.h"


#define STORE_DBS_MAX  8        /* room for one more in either environment */

enum {
    STORE_META = 0,             /* in both */

    STORE_SESSION = 1,
    STORE_SESSION_BY_USER,
    STORE_SESSION_BY_EXPIRY,
    STORE_CHANGE,
    STORE_USER,
    STORE_USER_BY_LOGIN,

    STORE_EVENT = 1,
    STORE_EVENT_BY_USER,
    STORE_EVENT_BY_TIME,
    STORE_EVENT_BY_GROUP
};

/* user key and time key; user sequence and time sequence */
#define STORE_INDEX_BYTES        24
#define STORE_EVENT_INDEX_BYTES  16
#define STORE_LOGIN_KEY_MAX      (STORE_REALM_MAX + 1 + STORE_LOGIN_MAX)
#define STORE_STORE_ID_BYTES     16

#define STORE_FORMAT_BYTES       "\0\0\0\001"      /* STORE_FORMAT */


typedef struct store_env_s    store_env_t;
typedef struct store_cache_s  store_cache_t;

struct store_env_s {
    MDB_env      *env;
    MDB_txn      *reader;       /* of the reader's thread */
    MDB_txn      *feeder;       /* of the writer's thread */
    MDB_cursor   *lister;       /* the reader's, on one index for ever */
    MDB_dbi       db[STORE_DBS_MAX];
    unsigned      dbs;
    unsigned      used;         /* by a store_t */
    unsigned      known;        /* to be the file that was checked */
    size_t        map_size;
    size_t        page_size;
    dev_t         dev;
    ino_t         ino;
    pid_t         pid;
    store_env_t  *next;
};

struct store_s {
    store_env_t   *sessions;
    store_env_t   *events;
    store_owner_t  owner;       /* its descriptor holds the lock */
    char          *path;
    size_t         quota;
    uint64_t       change_copied;       /* as of the last copy */
    uint64_t       change_keep;
    uint64_t       change_hard_max;
    uint8_t        id[STORE_STORE_ID_BYTES];
    uintptr_t      map;         /* address, for store_populate() */

    /* of the reader's thread: cache.c */
    store_session_t   looked;
    store_cache_t    *cache;    /* NULL: none */

    /* room of the writer's thread for one user's sessions */
    struct {
        store_live_t  live;
        int           rc;       /* STORE_OK, or why it was not decoded */
    } room[STORE_USER_SESSIONS_MAX];

    store_t       *next;        /* all that this process has open */
};


/* metapage.c: is this file what LMDB 0.9 can open?  STORE_OK,
 * STORE_CORRUPT or STORE_VERSION.  Reads the two meta pages and the roots. */
int store_metapage_check(int fd, size_t map_size, const char *path,
    const char *name, char *why) STORE_CHECK_RESULT;
/* 1 when no transaction was ever committed: each meta page is as LMDB writes
 * it first, or zeros stand where the disk had not got it yet. */
int store_metapage_unused(int fd);


/* env.c; open.lock must be held for these three.  With `create` a missing or
 * empty file becomes an environment. */
int store_env_open(const store_place_t *place, const char *name,
    size_t map_size, int create, store_env_t **env, char *why)
    STORE_CHECK_RESULT;
/* Gives it back to the list. */
void store_env_park(store_env_t *env);
/* Opens the databases; the caller commits. */
int store_env_databases(store_env_t *env, MDB_txn *txn, int events, int create)
    STORE_CHECK_RESULT;


/*
 * txn.c: transactions.  The reader's and the feeder's are renewed and reset,
 * so they keep their slot; end them with store_read_end() in the same
 * function.  A new one is ended with mdb_txn_commit() or mdb_txn_abort().
 */
int store_read_new(store_env_t *env, MDB_txn **txn) STORE_CHECK_RESULT;
int store_read_begin(store_env_t *env, MDB_txn **txn) STORE_CHECK_RESULT;
int store_feed_begin(store_env_t *env, MDB_txn **txn) STORE_CHECK_RESULT;
void store_read_end(MDB_txn *txn);

/* The cursor that lists one user's rows, in the reader's transaction; it stays
 * allocated and is not closed.  `db` is always the same for an environment. */
int store_read_list(store_env_t *env, MDB_txn *txn, MDB_dbi db,
    MDB_cursor **cursor) STORE_CHECK_RESULT;

/* Ends with mdb_txn_commit() (whose handle is gone whatever it returns) or
 * mdb_txn_abort(). */
int store_write_begin(store_env_t *env, MDB_txn **txn) STORE_CHECK_RESULT;

/* 1 for a result that is an answer, 0 for an operating failure. */
int store_expected(int rc);

/* Pages of all databases, in bytes. */
int store_env_bytes(const store_env_t *env, MDB_txn *txn, uint64_t *bytes)
    STORE_CHECK_RESULT;
int store_env_entries(MDB_txn *txn, MDB_dbi db, uint64_t *n)
    STORE_CHECK_RESULT;


/* Gets and puts; what is not there is STORE_NOT_FOUND.  A value is valid until
 * the next put or the end of the transaction. */
int store_db_get(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len,
    MDB_val *value) STORE_CHECK_RESULT;
int store_db_put(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len,
    const void *data, size_t n, unsigned flags) STORE_CHECK_RESULT;
int store_db_del(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len)
    STORE_CHECK_RESULT;
/* First key >= the given one, last key of all. */
int store_db_seek(MDB_cursor *cursor, const void *key, size_t key_len,
    MDB_val *found, MDB_val *value) STORE_CHECK_RESULT;
int store_db_step(MDB_cursor *cursor, MDB_cursor_op op, MDB_val *found,
    MDB_val *value) STORE_CHECK_RESULT;
/* Last key that starts with the prefix; `key_len` is that of the database. */
int store_db_seek_last(MDB_cursor *cursor, const void *prefix, size_t n,
    size_t key_len, MDB_val *found, MDB_val *value) STORE_CHECK_RESULT;
/* 1 when the key has this length and prefix. */
int store_db_has_prefix(const MDB_val *key, size_t key_len,
    const void *prefix, size_t n);

/* Numbers in meta; a missing one is 0. */
int store_meta_get(MDB_txn *txn, MDB_dbi db, const char *name,
    uint64_t *value) STORE_CHECK_RESULT;
int store_meta_put(MDB_txn *txn, MDB_dbi db, const char *name,
    uint64_t value) STORE_CHECK_RESULT;

/* Sequence of the last row of change or event, 0: none. */
int store_db_last(MDB_txn *txn, MDB_dbi db, uint64_t *seq) STORE_CHECK_RESULT;
int store_db_first(MDB_txn *txn, MDB_dbi db, uint64_t *seq) STORE_CHECK_RESULT;


/* Composite keys. */
void store_index_key(uint8_t index[STORE_INDEX_BYTES], const void *first,
    const uint8_t key[STORE_KEY_BYTES]);
void store_expiry_key(uint8_t index[STORE_INDEX_BYTES], int64_t time,
    const uint8_t key[STORE_KEY_BYTES]);
void store_event_key(uint8_t index[STORE_EVENT_INDEX_BYTES], const void *first,
    uint64_t seq);
/* Returns the length; realm and login are at most their limits long. */
size_t store_login_key(uint8_t key[STORE_LOGIN_KEY_MAX], const char *realm,
    size_t realm_len, const char *login, size_t login_len);


#endif /* STORE_ENV_H_INCLUDED */
