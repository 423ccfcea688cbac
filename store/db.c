#include <string.h>

#include "env.h"


static int store_db_edge(MDB_txn *txn, MDB_dbi db, MDB_cursor_op op,
    uint64_t *seq);


int
store_db_get(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len,
    MDB_val *value)
{
    int      rc;
    MDB_val  k;

    k.mv_data = (void *) key;
    k.mv_size = key_len;

    rc = mdb_get(txn, db, &k, value);

    return rc == MDB_NOTFOUND ? STORE_NOT_FOUND : rc;
}


int
store_db_put(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len,
    const void *data, size_t n, unsigned flags)
{
    MDB_val  k, v;

    k.mv_data = (void *) key;
    k.mv_size = key_len;
    v.mv_data = (void *) data;
    v.mv_size = n;

    return mdb_put(txn, db, &k, &v, flags);
}


int
store_db_del(MDB_txn *txn, MDB_dbi db, const void *key, size_t key_len)
{
    int      rc;
    MDB_val  k;

    k.mv_data = (void *) key;
    k.mv_size = key_len;

    rc = mdb_del(txn, db, &k, NULL);

    return rc == MDB_NOTFOUND ? STORE_NOT_FOUND : rc;
}


int
store_db_seek(MDB_cursor *cursor, const void *key, size_t key_len,
    MDB_val *found, MDB_val *value)
{
    int  rc;

    found->mv_data = (void *) key;
    found->mv_size = key_len;

    rc = mdb_cursor_get(cursor, found, value, MDB_SET_RANGE);

    return rc == MDB_NOTFOUND ? STORE_NOT_FOUND : rc;
}


int
store_db_step(MDB_cursor *cursor, MDB_cursor_op op, MDB_val *found,
    MDB_val *value)
{
    int  rc;

    rc = mdb_cursor_get(cursor, found, value, op);

    return rc == MDB_NOTFOUND ? STORE_NOT_FOUND : rc;
}


/* All keys of an index have one length, so prefix and 0xff is the end of the
 * range; what stands there, if anything, is its last. */
int
store_db_seek_last(MDB_cursor *cursor, const void *prefix, size_t n,
    size_t key_len, MDB_val *found, MDB_val *value)
{
    int      rc;
    uint8_t  end[STORE_INDEX_BYTES];

    memset(end, 0xff, sizeof(end));
    memcpy(end, prefix, n);

    rc = store_db_seek(cursor, end, key_len, found, value);

    if (rc == STORE_OK && store_db_has_prefix(found, key_len, prefix, n)) {
        return STORE_OK;
    }

    if (rc == STORE_OK) {
        rc = store_db_step(cursor, MDB_PREV, found, value);

    } else if (rc == STORE_NOT_FOUND) {
        rc = store_db_step(cursor, MDB_LAST, found, value);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_has_prefix(found, key_len, prefix, n) ? STORE_OK
                                                          : STORE_NOT_FOUND;
}


int
store_db_has_prefix(const MDB_val *key, size_t key_len, const void *prefix,
    size_t n)
{
    return key->mv_size == key_len && memcmp(key->mv_data, prefix, n) == 0;
}


int
store_meta_get(MDB_txn *txn, MDB_dbi db, const char *name, uint64_t *value)
{
    int      rc;
    MDB_val  v;

    rc = store_db_get(txn, db, name, strlen(name), &v);

    if (rc == STORE_NOT_FOUND) {
        *value = 0;
        return STORE_OK;
    }

    if (rc != STORE_OK) {
        return rc;
    }

    if (v.mv_size != 8) {
        return STORE_CORRUPT;
    }

    *value = store_be64_get(v.mv_data);

    return STORE_OK;
}


int
store_meta_put(MDB_txn *txn, MDB_dbi db, const char *name, uint64_t value)
{
    uint8_t  buf[8];

    store_be64_put(buf, value);

    return store_db_put(txn, db, name, strlen(name), buf, sizeof(buf), 0);
}


int
store_db_last(MDB_txn *txn, MDB_dbi db, uint64_t *seq)
{
    return store_db_edge(txn, db, MDB_LAST, seq);
}


int
store_db_first(MDB_txn *txn, MDB_dbi db, uint64_t *seq)
{
    return store_db_edge(txn, db, MDB_FIRST, seq);
}


static int
store_db_edge(MDB_txn *txn, MDB_dbi db, MDB_cursor_op op, uint64_t *seq)
{
    int          rc;
    MDB_val      k, v;
    MDB_cursor  *cursor;

    *seq = 0;

    rc = mdb_cursor_open(txn, db, &cursor);
    if (rc != 0) {
        return rc;
    }

    rc = store_db_step(cursor, op, &k, &v);

    if (rc == STORE_OK && k.mv_size != 8) {
        rc = STORE_CORRUPT;
    }

    if (rc == STORE_OK) {
        *seq = store_be64_get(k.mv_data);
    }

    mdb_cursor_close(cursor);

    return rc == STORE_NOT_FOUND ? STORE_OK : rc;
}


void
store_index_key(uint8_t index[STORE_INDEX_BYTES], const void *first,
    const uint8_t key[STORE_KEY_BYTES])
{
    memcpy(index, first, 8);
    memcpy(index + 8, key, STORE_KEY_BYTES);
}


void
store_expiry_key(uint8_t index[STORE_INDEX_BYTES], int64_t time,
    const uint8_t key[STORE_KEY_BYTES])
{
    store_be64_put(index, (uint64_t) time);
    memcpy(index + 8, key, STORE_KEY_BYTES);
}


void
store_event_key(uint8_t index[STORE_EVENT_INDEX_BYTES], const void *first,
    uint64_t seq)
{
    memcpy(index, first, 8);
    store_be64_put(index + 8, seq);
}


/* A realm cannot hold the zero byte, so no two pairs make one key. */
size_t
store_login_key(uint8_t key[STORE_LOGIN_KEY_MAX], const char *realm,
    size_t realm_len, const char *login, size_t login_len)
{
    size_t   i;
    uint8_t  c;

    memcpy(key, realm, realm_len);
    key[realm_len] = 0;

    for (i = 0; i < login_len; i++) {
        c = (uint8_t) login[i];
        key[realm_len + 1 + i] = (c >= 'A' && c <= 'Z') ? (uint8_t) (c | 0x20)
                                                        : c;
    }

    return realm_len + 1 + login_len;
}
