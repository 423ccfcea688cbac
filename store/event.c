#include <arpa/inet.h>
#include <string.h>

#include <sodium.h>

#include "write.h"


#define STORE_GROUP_HASH_BYTES  16
#define STORE_MINUTE            60

_Static_assert(8 + STORE_GROUP_HASH_BYTES == STORE_GROUP_BYTES, "group key");


static int store_event_raise(store_write_t *w, const store_event_t *event,
    const uint8_t group[STORE_GROUP_BYTES]);
static size_t store_event_prefix(const store_address_t *address,
    uint8_t prefix[STORE_ADDRESS_MAX]);


/* Sequences of events are never given out again, so the last one stands in
 * meta: the rows themselves may all be trimmed. */
int
store_events_begin(store_t *store, store_write_t *w)
{
    int  rc;

    w->store = store;
    w->env = store->events;
    w->db = store->events->db;
    w->over_quota = 0;

    rc = store_write_begin(w->env, &w->txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_meta_get(w->txn, w->db[STORE_META], "last", &w->last);
    if (rc != STORE_OK) {
        mdb_txn_abort(w->txn);
        return rc;
    }

    return STORE_OK;
}


int
store_events_commit(store_write_t *w)
{
    int       rc;
    uint64_t  last;

    rc = store_meta_get(w->txn, w->db[STORE_META], "last", &last);

    if (rc == STORE_OK && last != w->last) {
        rc = store_meta_put(w->txn, w->db[STORE_META], "last", w->last);
    }

    if (rc != STORE_OK) {
        mdb_txn_abort(w->txn);
        return rc;
    }

    return mdb_txn_commit(w->txn);
}


int
store_event_add(store_write_t *w, store_op_t *op)
{
    return store_event_put(w, op->event, op->aggregate);
}


int
store_event_put(store_write_t *w, const store_event_t *event, int aggregate)
{
    int                   rc;
    size_t                n;
    uint8_t               key[8], time[8], index[STORE_EVENT_INDEX_BYTES];
    uint8_t               group[STORE_GROUP_BYTES], buf[STORE_RECORD_MAX];
    store_event_t         row;
    static const uint8_t  nobody[STORE_USER_BYTES];

    row = *event;
    row.seq = w->last + 1;

    if (row.count == 0) {
        row.count = 1;
    }

    rc = store_event_encode(&row, buf, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    if (aggregate) {
        store_event_group(&row, group);

        rc = store_event_raise(w, &row, group);
        if (rc != STORE_NOT_FOUND) {
            return rc;
        }
    }

    store_be64_put(key, row.seq);

    rc = store_db_put(w->txn, w->db[STORE_EVENT], key, sizeof(key), buf, n,
                      MDB_APPEND);
    if (rc != STORE_OK) {
        return rc;
    }

    w->last = row.seq;

    store_be64_put(time, (uint64_t) row.time);
    store_event_key(index, time, row.seq);

    rc = store_db_put(w->txn, w->db[STORE_EVENT_BY_TIME], index,
                      sizeof(index), NULL, 0, 0);
    if (rc != STORE_OK) {
        return rc;
    }

    if (memcmp(row.user, nobody, STORE_USER_BYTES) != 0) {
        store_event_key(index, row.user, row.seq);

        rc = store_db_put(w->txn, w->db[STORE_EVENT_BY_USER], index,
                          sizeof(index), NULL, 0, 0);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    if (aggregate) {
        return store_db_put(w->txn, w->db[STORE_EVENT_BY_GROUP], group,
                            sizeof(group), key, sizeof(key), 0);
    }

    return STORE_OK;
}


/* STORE_NOT_FOUND: this is the first of its minute.  A row that does not
 * decode is left alone and a new one begun. */
static int
store_event_raise(store_write_t *w, const store_event_t *event,
    const uint8_t group[STORE_GROUP_BYTES])
{
    int            rc;
    size_t         n;
    uint8_t        key[8], buf[STORE_RECORD_MAX];
    MDB_val        value;
    store_event_t  row;

    rc = store_db_get(w->txn, w->db[STORE_EVENT_BY_GROUP], group,
                      STORE_GROUP_BYTES, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    if (value.mv_size != sizeof(key)) {
        return STORE_NOT_FOUND;
    }

    memcpy(key, value.mv_data, sizeof(key));

    rc = store_db_get(w->txn, w->db[STORE_EVENT], key, sizeof(key), &value);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_event_decode(store_be64_get(key), value.mv_data, value.mv_size,
                            &row);
    if (rc != STORE_OK) {
        return STORE_NOT_FOUND;
    }

    row.count = row.count > UINT32_MAX - event->count
                ? UINT32_MAX : row.count + event->count;

    rc = store_event_encode(&row, buf, &n);
    if (rc != STORE_OK) {
        return rc;
    }

    return store_db_put(w->txn, w->db[STORE_EVENT], key, sizeof(key), buf, n,
                        0);
}


/*
 * Type, reason, realm, login in lower case and where from.  A hash, because
 * together they may be longer than a key can be.
 */
void
store_event_group(const store_event_t *event, uint8_t group[STORE_GROUP_BYTES])
{
    size_t                    n;
    uint8_t                   head[5], login[STORE_LOGIN_KEY_MAX];
    uint8_t                   prefix[STORE_ADDRESS_MAX], len;
    crypto_generichash_state  hash;

    store_be64_put(group, (uint64_t) event->time / STORE_MINUTE);

    (void) crypto_generichash_init(&hash, NULL, 0, STORE_GROUP_HASH_BYTES);

    head[0] = (uint8_t) event->type;
    head[1] = (uint8_t) ((uint32_t) event->reason >> 24);
    head[2] = (uint8_t) ((uint32_t) event->reason >> 16);
    head[3] = (uint8_t) ((uint32_t) event->reason >> 8);
    head[4] = (uint8_t) event->reason;

    (void) crypto_generichash_update(&hash, head, sizeof(head));

    n = store_event_prefix(&event->address, prefix);
    len = (uint8_t) n;

    (void) crypto_generichash_update(&hash, &len, 1);
    (void) crypto_generichash_update(&hash, prefix, n);

    n = store_login_key(login, event->realm.data, event->realm.len,
                        event->login.data, event->login.len);

    (void) crypto_generichash_update(&hash, login, n);
    (void) crypto_generichash_final(&hash, group + 8, STORE_GROUP_HASH_BYTES);
}


/* Whole IPv4 addresses, an IPv4 one inside IPv6 too; the first 64 bits of
 * others, which one customer has to himself; else the text. */
static size_t
store_event_prefix(const store_address_t *address,
    uint8_t prefix[STORE_ADDRESS_MAX])
{
    uint8_t               in6[16];
    static const uint8_t  mapped[12] = { [10] = 0xff, [11] = 0xff };

    if (inet_pton(AF_INET, address->data, prefix) == 1) {
        return 4;
    }

    if (inet_pton(AF_INET6, address->data, in6) == 1) {

        if (memcmp(in6, mapped, sizeof(mapped)) == 0) {
            memcpy(prefix, in6 + sizeof(mapped), 4);
            return 4;
        }

        memcpy(prefix, in6, 8);
        return 8;
    }

    memcpy(prefix, address->data, address->len);

    return address->len;
}
