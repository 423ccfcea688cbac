#include <string.h>

#include "check.h"


typedef struct {
    uint64_t  last;             /* given out, says meta */
} store_check_events_t;


static int store_check_event(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_event_by_user(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_event_by_time(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_event_by_group(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state);
static int store_check_event_get(store_checker_t *c, const uint8_t *seq,
    const char *name, store_event_t *event, int *found);


int
store_check_events(store_checker_t *c)
{
    int                   rc;
    store_check_events_t  events;

    rc = store_meta_get(c->txn, c->db[STORE_META], "last", &events.last);

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_EVENT], 8, "event",
                              store_check_event, &events);
    }

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_EVENT_BY_USER],
                              STORE_EVENT_INDEX_BYTES, "event_by_user",
                              store_check_event_by_user, NULL);
    }

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_EVENT_BY_TIME],
                              STORE_EVENT_INDEX_BYTES, "event_by_time",
                              store_check_event_by_time, NULL);
    }

    if (rc == STORE_OK) {
        rc = store_check_rows(c, c->db[STORE_EVENT_BY_GROUP],
                              STORE_GROUP_BYTES, "event_by_group",
                              store_check_event_by_group, NULL);
    }

    return rc;
}


static int
store_check_event(store_checker_t *c, const MDB_val *key, const MDB_val *value,
    void *state)
{
    int                    rc;
    uint8_t                time[8], index[STORE_EVENT_INDEX_BYTES];
    uint64_t               seq;
    store_event_t          e;
    store_check_events_t  *events = state;
    static const uint8_t   nobody[STORE_USER_BYTES];

    seq = store_be64_get(key->mv_data);

    if (seq > events->last) {
        rc = store_check_report(c, "event %llu: beyond the last, %llu",
                                (unsigned long long) seq,
                                (unsigned long long) events->last);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    rc = store_event_decode(seq, value->mv_data, value->mv_size, &e);
    if (rc != STORE_OK) {
        return store_check_report(c, "event %llu: %s",
                                  (unsigned long long) seq,
                                  store_strerror(rc));
    }

    store_be64_put(time, (uint64_t) e.time);
    store_event_key(index, time, seq);

    rc = store_check_has(c, c->db[STORE_EVENT_BY_TIME], index, sizeof(index),
                         "event %llu: not in event_by_time",
                         (unsigned long long) seq);

    if (rc != STORE_OK || memcmp(e.user, nobody, STORE_USER_BYTES) == 0) {
        return rc;
    }

    store_event_key(index, e.user, seq);

    return store_check_has(c, c->db[STORE_EVENT_BY_USER], index,
                           sizeof(index), "event %llu: not in event_by_user",
                           (unsigned long long) seq);
}


static int
store_check_event_by_user(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int            rc, found;
    store_event_t  e;

    (void) value;
    (void) state;

    rc = store_check_event_get(c, (const uint8_t *) key->mv_data + 8,
                               "event_by_user", &e, &found);

    if (rc != STORE_OK || !found) {
        return rc;
    }

    if (memcmp(e.user, key->mv_data, STORE_USER_BYTES) != 0) {
        return store_check_report(c, "event_by_user: event %llu is of another"
                                  " user", (unsigned long long) e.seq);
    }

    return STORE_OK;
}


static int
store_check_event_by_time(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int            rc, found;
    store_event_t  e;

    (void) value;
    (void) state;

    rc = store_check_event_get(c, (const uint8_t *) key->mv_data + 8,
                               "event_by_time", &e, &found);

    if (rc != STORE_OK || !found) {
        return rc;
    }

    if ((uint64_t) e.time != store_be64_get(key->mv_data)) {
        return store_check_report(c, "event_by_time: event %llu has another"
                                  " time", (unsigned long long) e.seq);
    }

    return STORE_OK;
}


static int
store_check_event_by_group(store_checker_t *c, const MDB_val *key,
    const MDB_val *value, void *state)
{
    int            rc, found;
    uint8_t        group[STORE_GROUP_BYTES];
    store_event_t  e;

    (void) state;

    if (value->mv_size != 8) {
        return store_check_report(c, "event_by_group: an entry of %zu bytes",
                                  value->mv_size);
    }

    rc = store_check_event_get(c, value->mv_data, "event_by_group", &e,
                               &found);

    if (rc != STORE_OK || !found) {
        return rc;
    }

    store_event_group(&e, group);

    if (memcmp(group, key->mv_data, sizeof(group)) != 0) {
        return store_check_report(c, "event_by_group: event %llu is of another"
                                  " group", (unsigned long long) e.seq);
    }

    return STORE_OK;
}


/* Reports an entry without an event; one that does not decode has been
 * reported before. */
static int
store_check_event_get(store_checker_t *c, const uint8_t *seq, const char *name,
    store_event_t *event, int *found)
{
    int       rc;
    uint64_t  number;
    MDB_val   value;

    *found = 0;
    number = store_be64_get(seq);

    rc = store_db_get(c->txn, c->db[STORE_EVENT], seq, 8, &value);

    if (rc == STORE_NOT_FOUND) {
        return store_check_report(c, "%s: no event %llu", name,
                                  (unsigned long long) number);
    }

    if (rc != STORE_OK) {
        return rc;
    }

    *found = store_event_decode(number, value.mv_data, value.mv_size, event)
             == STORE_OK;

    return STORE_OK;
}
