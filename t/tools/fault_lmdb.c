/* fault_lmdb.c: what the store calls of LMDB and can fail. */

#define _GNU_SOURCE

#include "fault.h"


/* LMDB's, whose header is not for here */
#define MDB_PAGE_NOTFOUND   (-30797)
#define MDB_CORRUPTED       (-30796)
#define MDB_VERSION         (-30794)
#define MDB_INVALID         (-30793)
#define MDB_MAP_FULL        (-30792)
#define MDB_DBS_FULL        (-30791)
#define MDB_READERS_FULL    (-30790)
#define MDB_TXN_FULL        (-30788)
#define MDB_BAD_TXN         (-30782)


#define MDB(name, parameters, arguments, ...)                                \
    int name parameters;                                                     \
                                                                             \
    int                                                                      \
    name parameters                                                          \
    {                                                                        \
        int                         error;                                   \
        static __typeof__(&name)    real;                                    \
                                                                             \
        error = FAULT(#name, "mdb", __VA_ARGS__);                            \
                                                                             \
        if (error) {                                                         \
            return error;                                                    \
        }                                                                    \
                                                                             \
        if (real == NULL) {                                                  \
            real = REAL(name);                                               \
        }                                                                    \
                                                                             \
        return real arguments;                                               \
    }

MDB(mdb_get, (void *t, unsigned d, void *k, void *v), (t, d, k, v), EIO,
    MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_BAD_TXN)
MDB(mdb_put, (void *t, unsigned d, void *k, void *v, unsigned f),
    (t, d, k, v, f), MDB_MAP_FULL, MDB_CORRUPTED, ENOMEM, MDB_TXN_FULL)
MDB(mdb_del, (void *t, unsigned d, void *k, void *v), (t, d, k, v),
    MDB_MAP_FULL, MDB_CORRUPTED, ENOMEM)
MDB(mdb_drop, (void *t, unsigned d, int del), (t, d, del), EIO, MDB_MAP_FULL)
MDB(mdb_stat, (void *t, unsigned d, void *s), (t, d, s), MDB_BAD_TXN, EIO)
MDB(mdb_cursor_open, (void *t, unsigned d, void **c), (t, d, c), ENOMEM,
    MDB_BAD_TXN)
MDB(mdb_cursor_get, (void *c, void *k, void *v, int o), (c, k, v, o), EIO,
    MDB_CORRUPTED, MDB_PAGE_NOTFOUND)
MDB(mdb_txn_begin, (void *e, void *p, unsigned f, void **t), (e, p, f, t),
    ENOMEM, MDB_READERS_FULL, EIO)
MDB(mdb_txn_renew, (void *t), (t), MDB_READERS_FULL, EIO)
MDB(mdb_dbi_open, (void *t, const char *n, unsigned f, unsigned *d),
    (t, n, f, d), MDB_DBS_FULL, ENOMEM, MDB_CORRUPTED)
MDB(mdb_env_create, (void **e), (e), ENOMEM)
MDB(mdb_env_open, (void *e, const char *p, unsigned f, int m), (e, p, f, m),
    EIO, MDB_INVALID, MDB_VERSION, EAGAIN)
MDB(mdb_env_set_mapsize, (void *e, size_t n), (e, n), ENOMEM)
MDB(mdb_env_set_maxdbs, (void *e, unsigned n), (e, n), EINVAL)
MDB(mdb_env_set_maxreaders, (void *e, unsigned n), (e, n), EINVAL)
MDB(mdb_env_get_fd, (void *e, int *fd), (e, fd), EINVAL)
MDB(mdb_env_info, (void *e, void *i), (e, i), EIO)
MDB(mdb_env_stat, (void *e, void *s), (e, s), EIO)
MDB(mdb_env_copyfd2, (void *e, int fd, unsigned f), (e, fd, f), ENOSPC, ENOMEM)
MDB(mdb_reader_check, (void *e, int *n), (e, n), EIO, ENOMEM)
MDB(mdb_reader_list, (void *e, int (*show)(const char *, void *), void *p),
    (e, show, p), EIO)


void  mdb_txn_abort(void *txn);
int   mdb_txn_commit(void *txn);


/* As LMDB does it: the transaction is gone, whatever comes back. */

int
mdb_txn_commit(void *txn)
{
    int                                  error;
    static __typeof__(&mdb_txn_commit)   real;

    error = FAULT("mdb_txn_commit", "mdb", ENOSPC, EIO, MDB_MAP_FULL, ENOMEM);

    if (error) {
        REAL(mdb_txn_abort)(txn);
        return error;
    }

    if (real == NULL) {
        real = REAL(mdb_txn_commit);
    }

    return real(txn);
}
