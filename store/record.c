#include <string.h>

#include <sodium.h>

#include "record.h"


#define STORE_RECORD_VERSION  1

#define STORE_RECORD_SESSION  1
#define STORE_RECORD_USER     2
#define STORE_RECORD_EVENT    3

/* Later versions may add types and reasons without a new record version. */
#define STORE_EVENT_TYPE_MAX  31
#define STORE_END_MAX         31

_Static_assert(2 + STORE_USER_BYTES + 6 * 8 + 2 * 4 + 1 + 6 * 2
               + STORE_REALM_MAX + STORE_LOGIN_MAX + STORE_NAME_MAX
               + STORE_ROLES_MAX + STORE_ADDRESS_MAX + STORE_AGENT_MAX
               + STORE_CHECK_BYTES <= STORE_RECORD_MAX, "session record");
_Static_assert(2 + 4 + 4 * 8 + 5 * 2 + STORE_REALM_MAX + STORE_LOGIN_MAX
               + STORE_NAME_MAX + STORE_ROLES_MAX + STORE_PHC_MAX
               + STORE_CHECK_BYTES <= STORE_RECORD_MAX, "user record");
_Static_assert(STORE_KEY_BYTES == crypto_shorthash_KEYBYTES,
               "a session key keys the check as it is");
_Static_assert(STORE_CHECK_BYTES == crypto_shorthash_BYTES, "check");


/* `bad` is set once something does not fit and stays; asked once at the end */
typedef struct {
    uint8_t        *pos;
    uint8_t        *start;
    int             bad;
} store_writer_t;

typedef struct {
    const uint8_t  *pos;
    const uint8_t  *end;
    int             bad;
} store_reader_t;


#define store_write_text(w, t)                                               \
    store_write_string(w, (t)->data, (t)->len, sizeof((t)->data) - 1)

#define store_read_text(r, t)                                                \
    store_read_string(r, (t)->data, &(t)->len, sizeof((t)->data) - 1)


static void store_record_check(const void *key, size_t key_len,
    const uint8_t *buf, size_t n, uint8_t check[STORE_CHECK_BYTES]);
static void store_write_start(store_writer_t *w, uint8_t *buf, uint8_t kind);
static int store_write_done(store_writer_t *w, const void *key,
    size_t key_len, size_t *n);
static void store_write_number(store_writer_t *w, uint64_t value, size_t n);
static void store_write_time(store_writer_t *w, int64_t time);
static void store_write_bytes(store_writer_t *w, const void *data, size_t n);
static void store_write_string(store_writer_t *w, const char *data,
    size_t n, size_t max);
static int store_read_start(store_reader_t *r, uint8_t kind, const void *key,
    size_t key_len, const void *data, size_t n);
static uint64_t store_read_number(store_reader_t *r, size_t n);
static int64_t store_read_time(store_reader_t *r);
static void store_read_bytes(store_reader_t *r, void *data, size_t n);
static void store_read_string(store_reader_t *r, char *data, uint16_t *len,
    size_t max);


int
store_session_encode(const store_live_t *live, uint8_t buf[STORE_RECORD_MAX],
    size_t *n)
{
    store_writer_t          w;
    const store_session_t  *s;

    s = &live->session;

    store_write_start(&w, buf, STORE_RECORD_SESSION);

    store_write_bytes(&w, s->user, STORE_USER_BYTES);
    store_write_number(&w, s->generation, 8);
    store_write_time(&w, s->created);
    store_write_time(&w, s->seen);
    store_write_time(&w, s->authenticated);
    store_write_time(&w, s->ended);
    store_write_time(&w, live->indexed);
    store_write_number(&w, s->idle, 4);
    store_write_number(&w, s->lifetime, 4);
    store_write_number(&w, s->end, 1);
    store_write_text(&w, &s->realm);
    store_write_text(&w, &s->login);
    store_write_text(&w, &s->name);
    store_write_text(&w, &s->roles);
    store_write_text(&w, &s->address);
    store_write_text(&w, &s->agent);

    if (s->end > STORE_END_MAX || (s->end == STORE_END_NONE) != (s->ended == 0))
    {
        return STORE_INVALID;
    }

    return store_write_done(&w, s->key, STORE_KEY_BYTES, n);
}


int
store_session_decode(const uint8_t key[STORE_KEY_BYTES], const void *data,
    size_t n, store_session_t *s, int64_t *indexed)
{
    int             rc;
    int64_t         when;
    uint64_t        end;
    store_reader_t  r;

    rc = store_read_start(&r, STORE_RECORD_SESSION, key, STORE_KEY_BYTES,
                          data, n);
    if (rc != STORE_OK) {
        return rc;
    }

    memcpy(s->key, key, STORE_KEY_BYTES);
    store_read_bytes(&r, s->user, STORE_USER_BYTES);
    s->generation = store_read_number(&r, 8);
    s->created = store_read_time(&r);
    s->seen = store_read_time(&r);
    s->authenticated = store_read_time(&r);
    s->ended = store_read_time(&r);
    when = store_read_time(&r);
    s->idle = (uint32_t) store_read_number(&r, 4);
    s->lifetime = (uint32_t) store_read_number(&r, 4);
    end = store_read_number(&r, 1);
    store_read_text(&r, &s->realm);
    store_read_text(&r, &s->login);
    store_read_text(&r, &s->name);
    store_read_text(&r, &s->roles);
    store_read_text(&r, &s->address);
    store_read_text(&r, &s->agent);

    if (r.bad || r.pos != r.end) {
        return STORE_CORRUPT;
    }

    if (end > STORE_END_MAX || (end == STORE_END_NONE) != (s->ended == 0)) {
        return STORE_CORRUPT;
    }

    s->end = (store_end_t) end;

    if (indexed) {
        *indexed = when;
    }

    return STORE_OK;
}


int
store_user_encode(const store_user_t *u, uint8_t buf[STORE_RECORD_MAX],
    size_t *n)
{
    store_writer_t  w;

    store_write_start(&w, buf, STORE_RECORD_USER);

    store_write_number(&w, u->flags, 4);
    store_write_number(&w, u->generation, 8);
    store_write_time(&w, u->created);
    store_write_time(&w, u->changed);
    store_write_time(&w, u->signed_in);
    store_write_text(&w, &u->realm);
    store_write_text(&w, &u->login);
    store_write_text(&w, &u->name);
    store_write_text(&w, &u->roles);
    store_write_text(&w, &u->phc);

    return store_write_done(&w, u->id, STORE_USER_BYTES, n);
}


int
store_user_decode(const uint8_t id[STORE_USER_BYTES], const void *data,
    size_t n, store_user_t *u)
{
    int             rc;
    store_reader_t  r;

    rc = store_read_start(&r, STORE_RECORD_USER, id, STORE_USER_BYTES,
                          data, n);
    if (rc != STORE_OK) {
        return rc;
    }

    memcpy(u->id, id, STORE_USER_BYTES);
    u->flags = (uint32_t) store_read_number(&r, 4);
    u->generation = store_read_number(&r, 8);
    u->created = store_read_time(&r);
    u->changed = store_read_time(&r);
    u->signed_in = store_read_time(&r);
    store_read_text(&r, &u->realm);
    store_read_text(&r, &u->login);
    store_read_text(&r, &u->name);
    store_read_text(&r, &u->roles);
    store_read_text(&r, &u->phc);

    if (r.bad || r.pos != r.end) {
        return STORE_CORRUPT;
    }

    return STORE_OK;
}


int
store_event_encode(const store_event_t *e, uint8_t buf[STORE_RECORD_MAX],
    size_t *n)
{
    uint8_t         seq[8];
    store_writer_t  w;

    store_write_start(&w, buf, STORE_RECORD_EVENT);

    store_write_number(&w, e->type, 1);
    store_write_number(&w, e->actor, 1);
    store_write_number(&w, e->end, 1);
    store_write_number(&w, (uint32_t) e->reason, 4);
    store_write_number(&w, e->count, 4);
    store_write_time(&w, e->time);
    store_write_number(&w, e->generation, 8);
    store_write_bytes(&w, e->user, STORE_USER_BYTES);
    store_write_bytes(&w, e->key, STORE_KEY_BYTES);
    store_write_text(&w, &e->realm);
    store_write_text(&w, &e->login);
    store_write_text(&w, &e->address);
    store_write_text(&w, &e->agent);

    if (e->type < STORE_EVENT_SIGN_IN || e->type > STORE_EVENT_TYPE_MAX
        || e->actor > STORE_BY_CLI || e->end > STORE_END_MAX)
    {
        return STORE_INVALID;
    }

    store_be64_put(seq, e->seq);

    return store_write_done(&w, seq, sizeof(seq), n);
}


int
store_event_decode(uint64_t seq, const void *data, size_t n,
    store_event_t *e)
{
    int             rc;
    uint8_t         key[8];
    uint64_t        type, actor, end;
    store_reader_t  r;

    store_be64_put(key, seq);

    rc = store_read_start(&r, STORE_RECORD_EVENT, key, sizeof(key), data, n);
    if (rc != STORE_OK) {
        return rc;
    }

    e->seq = seq;
    type = store_read_number(&r, 1);
    actor = store_read_number(&r, 1);
    end = store_read_number(&r, 1);
    e->reason = (int32_t) (uint32_t) store_read_number(&r, 4);
    e->count = (uint32_t) store_read_number(&r, 4);
    e->time = store_read_time(&r);
    e->generation = store_read_number(&r, 8);
    store_read_bytes(&r, e->user, STORE_USER_BYTES);
    store_read_bytes(&r, e->key, STORE_KEY_BYTES);
    store_read_text(&r, &e->realm);
    store_read_text(&r, &e->login);
    store_read_text(&r, &e->address);
    store_read_text(&r, &e->agent);

    if (r.bad || r.pos != r.end) {
        return STORE_CORRUPT;
    }

    if (type < STORE_EVENT_SIGN_IN || type > STORE_EVENT_TYPE_MAX
        || actor > STORE_BY_CLI || end > STORE_END_MAX)
    {
        return STORE_CORRUPT;
    }

    e->type = (store_event_type_t) type;
    e->actor = (store_actor_t) actor;
    e->end = (store_end_t) end;

    return STORE_OK;
}


void
store_record_seal(const void *key, size_t key_len, uint8_t *buf, size_t n)
{
    store_record_check(key, key_len, buf, n, buf + n);
}


static void
store_record_check(const void *key, size_t key_len, const uint8_t *buf,
    size_t n, uint8_t check[STORE_CHECK_BYTES])
{
    uint8_t  secret[crypto_shorthash_KEYBYTES] = { 0 };

    memcpy(secret, key, key_len);
    (void) crypto_shorthash(check, buf, n, secret);
}


static void
store_write_start(store_writer_t *w, uint8_t *buf, uint8_t kind)
{
    w->start = buf;
    w->pos = buf;
    w->bad = 0;

    store_write_number(w, STORE_RECORD_VERSION, 1);
    store_write_number(w, kind, 1);
}


static int
store_write_done(store_writer_t *w, const void *key, size_t key_len, size_t *n)
{
    if (w->bad) {
        return STORE_INVALID;
    }

    store_record_seal(key, key_len, w->start, (size_t) (w->pos - w->start));
    *n = (size_t) (w->pos - w->start) + STORE_CHECK_BYTES;

    return STORE_OK;
}


static void
store_write_number(store_writer_t *w, uint64_t value, size_t n)
{
    while (n) {
        n--;
        *w->pos++ = (uint8_t) (value >> (n * 8));
    }
}


static void
store_write_time(store_writer_t *w, int64_t time)
{
    if (time < 0 || time > STORE_TIME_MAX) {
        w->bad = 1;
    }

    store_write_number(w, (uint64_t) time, 8);
}


static void
store_write_bytes(store_writer_t *w, const void *data, size_t n)
{
    memcpy(w->pos, data, n);
    w->pos += n;
}


static void
store_write_string(store_writer_t *w, const char *data, size_t n, size_t max)
{
    if (n > max) {
        w->bad = 1;
        return;
    }

    store_write_number(w, n, 2);
    store_write_bytes(w, data, n);
}


static int
store_read_start(store_reader_t *r, uint8_t kind, const void *key,
    size_t key_len, const void *data, size_t n)
{
    uint8_t  check[STORE_CHECK_BYTES];

    if (n < 2 + STORE_CHECK_BYTES) {
        return STORE_CORRUPT;
    }

    r->pos = data;
    r->end = r->pos + n - STORE_CHECK_BYTES;
    r->bad = 0;

    store_record_check(key, key_len, data, n - STORE_CHECK_BYTES, check);

    if (memcmp(check, r->end, STORE_CHECK_BYTES) != 0) {
        return STORE_CORRUPT;
    }

    if (store_read_number(r, 1) != STORE_RECORD_VERSION) {
        return STORE_VERSION;
    }

    if (store_read_number(r, 1) != kind) {
        return STORE_CORRUPT;
    }

    return STORE_OK;
}


static uint64_t
store_read_number(store_reader_t *r, size_t n)
{
    uint64_t  value;

    if (r->bad || (size_t) (r->end - r->pos) < n) {
        r->bad = 1;
        return 0;
    }

    for (value = 0; n; n--) {
        value = value << 8 | *r->pos++;
    }

    return value;
}


static int64_t
store_read_time(store_reader_t *r)
{
    uint64_t  value;

    value = store_read_number(r, 8);

    if (value > (uint64_t) STORE_TIME_MAX) {
        r->bad = 1;
        return 0;
    }

    return (int64_t) value;
}


static void
store_read_bytes(store_reader_t *r, void *data, size_t n)
{
    if (r->bad || (size_t) (r->end - r->pos) < n) {
        r->bad = 1;
        return;
    }

    memcpy(data, r->pos, n);
    r->pos += n;
}


static void
store_read_string(store_reader_t *r, char *data, uint16_t *len, size_t max)
{
    size_t  n;

    n = (size_t) store_read_number(r, 2);

    if (n > max) {
        r->bad = 1;
        return;
    }

    store_read_bytes(r, data, n);

    if (r->bad) {
        return;
    }

    data[n] = '\0';
    *len = (uint16_t) n;
}


void
store_be64_put(uint8_t *p, uint64_t value)
{
    unsigned  i;

    for (i = 0; i < 8; i++) {
        p[i] = (uint8_t) (value >> (56 - i * 8));
    }
}


uint64_t
store_be64_get(const uint8_t *p)
{
    unsigned  i;
    uint64_t  value;

    for (i = 0, value = 0; i < 8; i++) {
        value = value << 8 | p[i];
    }

    return value;
}
