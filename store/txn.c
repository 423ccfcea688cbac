#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"


/*
 * LMDB 0.9 leaves pages at the end of the file unwritten when the transaction
 * that took them gave them back (mdb.c: "the file may be shorter if the freeDB
 * lists the final pages").  Then a healthy file could not be told from a
 * truncated one.  So the file is kept longer than any batch can make it:
 * 4096 pages, where a batch of 256 operations that each end 64 sessions in
 * pages of their own could touch 16384, but takes new ones only where no free
 * ones are left.  Sparse, it costs nothing until written.
 */
#define STORE_ROOM_PAGES  4096


static int store_reader_begin(store_env_t *env, MDB_txn **slot,
    MDB_txn **txn);
static int store_write_room(store_env_t *env);


int
store_read_begin(store_env_t *env, MDB_txn **txn)
{
    return store_reader_begin(env, &env->reader, txn);
}


int
store_feed_begin(store_env_t *env, MDB_txn **txn)
{
    return store_reader_begin(env, &env->feeder, txn);
}


static int
store_reader_begin(store_env_t *env, MDB_txn **slot, MDB_txn **txn)
{
    int  rc;

    if (*slot == NULL) {
        rc = store_read_new(env, slot);

    } else {
        rc = mdb_txn_renew(*slot);
    }

    if (rc != 0) {
        return rc;
    }

    *txn = *slot;

    return STORE_OK;
}


/* A full reader table heals itself once: processes that were killed leave
 * their slots behind. */
int
store_read_new(store_env_t *env, MDB_txn **txn)
{
    int  rc, dead;

    rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, txn);

    if (rc == MDB_READERS_FULL) {
        rc = mdb_reader_check(env->env, &dead);
        if (rc != 0) {
            return rc;
        }

        rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, txn);
    }

    if (rc != 0) {
        *txn = NULL;
    }

    return rc;
}


int
store_read_list(store_env_t *env, MDB_txn *txn, MDB_dbi db,
    MDB_cursor **cursor)
{
    int  rc;

    if (env->lister == NULL) {
        rc = mdb_cursor_open(txn, db, &env->lister);

    } else {
        rc = mdb_cursor_renew(txn, env->lister);
    }

    *cursor = env->lister;

    return rc;
}


void
store_read_end(MDB_txn *txn)
{
    mdb_txn_reset(txn);
}


int
store_write_begin(store_env_t *env, MDB_txn **txn)
{
    int  rc;

    rc = mdb_txn_begin(env->env, NULL, 0, txn);
    if (rc != 0) {

        /* from the lock alone: somebody has wiped it, and it stays so */

        return rc == EINVAL ? ENOTRECOVERABLE : rc;
    }

    rc = store_write_room(env);
    if (rc != 0) {
        mdb_txn_abort(*txn);
        return rc;
    }

    return STORE_OK;
}


/* The write lock is held: nobody else changes the size, and the last page
 * that LMDB names is the last there is. */
static int
store_write_room(store_env_t *env)
{
    int          rc, fd;
    size_t       needed;
    struct stat  st;
    MDB_envinfo  info;

    rc = mdb_env_info(env->env, &info);
    if (rc != 0) {
        return rc;
    }

    rc = mdb_env_get_fd(env->env, &fd);
    if (rc != 0) {
        return rc;
    }

    if (fstat(fd, &st) == -1) {
        return errno;
    }

    needed = (info.me_last_pgno + 1 + STORE_ROOM_PAGES) * env->page_size;

    if (needed > env->map_size) {
        needed = env->map_size;
    }

    if ((size_t) st.st_size >= needed) {
        return STORE_OK;
    }

    /* twice the room, so that few transactions pay for it */

    needed += STORE_ROOM_PAGES * env->page_size;

    if (needed > env->map_size) {
        needed = env->map_size;
    }

    if (ftruncate(fd, (off_t) needed) == -1) {
        return errno;
    }

    return STORE_OK;
}


int
store_expected(int rc)
{
    return rc <= STORE_OK && rc >= STORE_INVALID;
}


int
store_env_bytes(const store_env_t *env, MDB_txn *txn, uint64_t *bytes)
{
    int       rc;
    unsigned  i;
    uint64_t  pages;
    MDB_stat  stat;

    for (i = 0, pages = 0; i < env->dbs; i++) {
        rc = mdb_stat(txn, env->db[i], &stat);
        if (rc != 0) {
            return rc;
        }

        pages += stat.ms_branch_pages + stat.ms_leaf_pages
                 + stat.ms_overflow_pages;
    }

    *bytes = pages * env->page_size;

    return STORE_OK;
}


int
store_env_entries(MDB_txn *txn, MDB_dbi db, uint64_t *n)
{
    int       rc;
    MDB_stat  stat;

    rc = mdb_stat(txn, db, &stat);
    if (rc != 0) {
        return rc;
    }

    *n = stat.ms_entries;

    return STORE_OK;
}
