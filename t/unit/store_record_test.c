#include "store_fixture.h"


/* as long as each may be, so that every length has been there */
static void
record_text(uint16_t *len, char *data, size_t max, char c)
{
    memset(data, c, max);
    data[max] = '\0';
    *len = (uint16_t) max;
}


#define fill(t, c)  record_text(&(t)->len, (t)->data, sizeof((t)->data) - 1, c)


static void
record_session(store_live_t *live)
{
    store_session_t  *s = &live->session;

    memset(live, 0, sizeof(store_live_t));
    fixture_key(s->key, 7);
    memset(s->user, 0x11, STORE_USER_BYTES);
    s->generation = UINT64_MAX;
    s->created = FIXTURE_NOW;
    s->seen = FIXTURE_NOW + 5;
    s->authenticated = FIXTURE_NOW + 3;
    s->ended = FIXTURE_NOW + 9;
    s->end = STORE_END_REVOKED;
    s->idle = 3600;
    s->lifetime = UINT32_MAX;
    live->indexed = STORE_TIME_MAX;
    fill(&s->realm, 'r');
    fill(&s->login, 'l');
    fill(&s->name, 'n');
    fill(&s->roles, 'o');
    fill(&s->address, 'a');
    fill(&s->agent, 'g');
}


static void
record_user(store_user_t *u)
{
    memset(u, 0, sizeof(store_user_t));
    memset(u->id, 0x22, STORE_USER_BYTES);
    u->generation = 3;
    u->flags = STORE_USER_DISABLED;
    u->created = 1;
    u->changed = 2;
    u->signed_in = STORE_TIME_MAX;
    fill(&u->realm, 'r');
    fill(&u->login, 'l');
    fill(&u->name, 'n');
    fill(&u->roles, 'o');
    fill(&u->phc, 'p');
}


static void
record_event(store_event_t *e)
{
    memset(e, 0, sizeof(store_event_t));
    e->seq = 77;
    e->type = STORE_EVENT_REFUSED;
    e->actor = STORE_BY_CLI;
    e->end = STORE_END_UNCERTAIN;
    e->reason = -30799;
    e->time = FIXTURE_NOW;
    e->generation = 5;
    e->count = UINT32_MAX;
    memset(e->user, 0x33, STORE_USER_BYTES);
    fixture_key(e->key, 9);
    fill(&e->realm, 'r');
    fill(&e->login, 'l');
    fill(&e->address, 'a');
    fill(&e->agent, 'g');
}


/* What the three kinds have in common, so that each is treated the same. */
typedef struct {
    uint8_t  key[STORE_KEY_BYTES];
    size_t   key_len;
    uint8_t  buf[STORE_RECORD_MAX + 64];
    size_t   n;
    int    (*decode)(const uint8_t *key, const uint8_t *buf, size_t n);
} record_t;


static int
decode_session(const uint8_t *key, const uint8_t *buf, size_t n)
{
    int              rc;
    int64_t          indexed;
    uint8_t         *copy;
    store_session_t  s;

    /* a heap block of this size alone: ASan sees one byte too many */

    copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, buf, n);

    rc = store_session_decode(key, copy, n, &s, &indexed);

    free(copy);

    return rc;
}


static int
decode_user(const uint8_t *key, const uint8_t *buf, size_t n)
{
    int           rc;
    uint8_t      *copy;
    store_user_t  u;

    copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, buf, n);

    rc = store_user_decode(key, copy, n, &u);

    free(copy);

    return rc;
}


static int
decode_event(const uint8_t *key, const uint8_t *buf, size_t n)
{
    int            rc;
    uint8_t       *copy;
    store_event_t  e;

    copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, buf, n);

    rc = store_event_decode(store_be64_get(key), copy, n, &e);

    free(copy);

    return rc;
}


static void
record_make(record_t r[3])
{
    store_live_t   live;
    store_user_t   u;
    store_event_t  e;

    memset(r, 0, sizeof(record_t) * 3);

    record_session(&live);
    memcpy(r[0].key, live.session.key, STORE_KEY_BYTES);
    r[0].key_len = STORE_KEY_BYTES;
    r[0].decode = decode_session;
    assert_int_equal(store_session_encode(&live, r[0].buf, &r[0].n), STORE_OK);

    record_user(&u);
    memcpy(r[1].key, u.id, STORE_USER_BYTES);
    r[1].key_len = STORE_USER_BYTES;
    r[1].decode = decode_user;
    assert_int_equal(store_user_encode(&u, r[1].buf, &r[1].n), STORE_OK);

    record_event(&e);
    store_be64_put(r[2].key, e.seq);
    r[2].key_len = 8;
    r[2].decode = decode_event;
    assert_int_equal(store_event_encode(&e, r[2].buf, &r[2].n), STORE_OK);
}


static void
test_session_round_trip(void **state)
{
    size_t           n;
    int64_t          indexed;
    uint8_t          buf[STORE_RECORD_MAX];
    store_live_t     live;
    store_session_t  s;

    (void) state;

    record_session(&live);
    memset(&s, 0, sizeof(s));

    assert_int_equal(store_session_encode(&live, buf, &n), STORE_OK);
    assert_int_equal(store_session_decode(live.session.key, buf, n, &s,
                                          &indexed),
                     STORE_OK);
    assert_memory_equal(&s, &live.session, sizeof(s));
    assert_int_equal(indexed, live.indexed);

    /* without interest in the index */

    assert_int_equal(store_session_decode(live.session.key, buf, n, &s, NULL),
                     STORE_OK);
}


static void
test_user_and_event_round_trip(void **state)
{
    size_t         n;
    uint8_t        buf[STORE_RECORD_MAX];
    store_user_t   u, u2;
    store_event_t  e, e2;

    (void) state;

    record_user(&u);
    memset(&u2, 0, sizeof(u2));
    assert_int_equal(store_user_encode(&u, buf, &n), STORE_OK);
    assert_int_equal(store_user_decode(u.id, buf, n, &u2), STORE_OK);
    assert_memory_equal(&u, &u2, sizeof(u));

    record_event(&e);
    memset(&e2, 0, sizeof(e2));
    assert_int_equal(store_event_encode(&e, buf, &n), STORE_OK);
    assert_int_equal(store_event_decode(e.seq, buf, n, &e2), STORE_OK);
    assert_memory_equal(&e, &e2, sizeof(e));
}


static void
test_empty_texts(void **state)
{
    size_t         n;
    uint8_t        buf[STORE_RECORD_MAX], seq[8];
    store_event_t  e, e2;

    (void) state;

    memset(&e, 0, sizeof(e));
    memset(&e2, 0xff, sizeof(e2));
    e.type = STORE_EVENT_SIGN_IN;

    assert_int_equal(store_event_encode(&e, buf, &n), STORE_OK);
    store_be64_put(seq, 0);
    assert_int_equal(store_event_decode(0, buf, n, &e2), STORE_OK);
    assert_int_equal(e2.login.len, 0);
    assert_string_equal(e2.login.data, "");
}


static void
test_every_truncation(void **state)
{
    size_t    i, n;
    uint8_t   buf[STORE_RECORD_MAX + 64];
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {
        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n), STORE_OK);

        for (n = 0; n < r[i].n; n++) {
            assert_int_equal(r[i].decode(r[i].key, r[i].buf, n),
                             STORE_CORRUPT);
        }

        /* with a check that fits, so that only the lengths can tell */

        for (n = 2; n < r[i].n - STORE_CHECK_BYTES; n++) {
            memcpy(buf, r[i].buf, n);
            store_record_seal(r[i].key, r[i].key_len, buf, n);

            assert_int_equal(r[i].decode(r[i].key, buf,
                                         n + STORE_CHECK_BYTES),
                             STORE_CORRUPT);
        }
    }
}


static void
test_bytes_left_over(void **state)
{
    size_t    i, n;
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {
        n = r[i].n - STORE_CHECK_BYTES;
        r[i].buf[n] = 0;
        store_record_seal(r[i].key, r[i].key_len, r[i].buf, n + 1);

        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n + 1),
                         STORE_CORRUPT);
    }
}


static void
test_every_flipped_bit(void **state)
{
    size_t    i, bit;
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {

        for (bit = 0; bit < r[i].n * 8; bit++) {
            r[i].buf[bit / 8] ^= (uint8_t) (1 << (bit % 8));

            assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n),
                             STORE_CORRUPT);

            r[i].buf[bit / 8] ^= (uint8_t) (1 << (bit % 8));
        }

        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n), STORE_OK);
    }
}


/* A value that LMDB gives for another key is nobody's. */
static void
test_another_key(void **state)
{
    size_t    i;
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {
        r[i].key[r[i].key_len - 1] ^= 1;

        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n),
                         STORE_CORRUPT);
    }
}


static void
test_version_and_kind(void **state)
{
    size_t    i, n;
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {
        n = r[i].n - STORE_CHECK_BYTES;

        r[i].buf[0] = 2;
        store_record_seal(r[i].key, r[i].key_len, r[i].buf, n);
        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n),
                         STORE_VERSION);

        r[i].buf[0] = 1;
        r[i].buf[1] = (uint8_t) (r[i].buf[1] % 3 + 1);
        store_record_seal(r[i].key, r[i].key_len, r[i].buf, n);
        assert_int_equal(r[i].decode(r[i].key, r[i].buf, r[i].n),
                         STORE_CORRUPT);
    }
}


/* One byte longer than its field, in a record that is right otherwise. */
static void
test_text_too_long(void **state)
{
    size_t        i, at, n;
    uint8_t       buf[STORE_RECORD_MAX], out[STORE_RECORD_MAX];
    store_live_t  live;

    static const size_t  max[] = {
        STORE_REALM_MAX, STORE_LOGIN_MAX, STORE_NAME_MAX, STORE_ROLES_MAX,
        STORE_ADDRESS_MAX, STORE_AGENT_MAX
    };

    (void) state;

    record_session(&live);
    live.session.realm.len = 0;
    live.session.login.len = 0;
    live.session.name.len = 0;
    live.session.roles.len = 0;
    live.session.address.len = 0;
    live.session.agent.len = 0;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_OK);

    for (i = 0; i < 6; i++) {

        /* the six empty texts are the last that stands before the check */

        at = n - STORE_CHECK_BYTES - (6 - i) * 2;
        memset(out, 'x', sizeof(out));
        memcpy(out, buf, at);
        out[at] = (uint8_t) ((max[i] + 1) >> 8);
        out[at + 1] = (uint8_t) (max[i] + 1);
        memset(out + at + 2 + max[i] + 1, 0, (5 - i) * 2);
        store_record_seal(live.session.key, STORE_KEY_BYTES, out,
                          n - STORE_CHECK_BYTES + max[i] + 1);

        assert_int_equal(decode_session(live.session.key, out,
                                        n + max[i] + 1),
                         STORE_CORRUPT);

        out[at] = (uint8_t) (max[i] >> 8);
        out[at + 1] = (uint8_t) max[i];
        memset(out + at + 2 + max[i], 0, (5 - i) * 2);
        store_record_seal(live.session.key, STORE_KEY_BYTES, out,
                          n - STORE_CHECK_BYTES + max[i]);

        assert_int_equal(decode_session(live.session.key, out, n + max[i]),
                         STORE_OK);
    }
}


/* Every byte in turn becomes 0xff under a check that fits: whatever length or
 * number that is, nothing is read beyond the end. */
static void
test_wild_values(void **state)
{
    int       rc;
    size_t    i, at, n;
    uint8_t   byte;
    record_t  r[3];

    (void) state;

    record_make(r);

    for (i = 0; i < 3; i++) {
        n = r[i].n - STORE_CHECK_BYTES;

        for (at = 0; at < n; at++) {
            byte = r[i].buf[at];
            r[i].buf[at] = 0xff;
            store_record_seal(r[i].key, r[i].key_len, r[i].buf, n);

            rc = r[i].decode(r[i].key, r[i].buf, r[i].n);

            assert_true(rc == STORE_OK || rc == STORE_CORRUPT
                        || rc == STORE_VERSION);
            r[i].buf[at] = byte;
        }
    }
}


static void
test_end_without_time(void **state)
{
    size_t        n;
    uint8_t       buf[STORE_RECORD_MAX];
    store_live_t  live;

    (void) state;

    record_session(&live);
    live.session.ended = 0;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_INVALID);

    record_session(&live);
    live.session.end = STORE_END_NONE;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_INVALID);
}


static void
test_encode_refuses(void **state)
{
    size_t         n;
    uint8_t        buf[STORE_RECORD_MAX];
    store_live_t   live;
    store_user_t   u;
    store_event_t  e;

    (void) state;

    record_session(&live);
    live.session.created = -1;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_INVALID);

    record_session(&live);
    live.session.seen = STORE_TIME_MAX + 1;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_INVALID);

    record_session(&live);
    live.session.agent.len = STORE_AGENT_MAX + 1;
    assert_int_equal(store_session_encode(&live, buf, &n), STORE_INVALID);

    record_user(&u);
    u.phc.len = STORE_PHC_MAX + 1;
    assert_int_equal(store_user_encode(&u, buf, &n), STORE_INVALID);

    record_event(&e);
    e.type = 0;
    assert_int_equal(store_event_encode(&e, buf, &n), STORE_INVALID);

    record_event(&e);
    e.type = 32;
    assert_int_equal(store_event_encode(&e, buf, &n), STORE_INVALID);

    record_event(&e);
    e.time = INT64_MAX;
    assert_int_equal(store_event_encode(&e, buf, &n), STORE_INVALID);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_session_round_trip),
        cmocka_unit_test(test_user_and_event_round_trip),
        cmocka_unit_test(test_empty_texts),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_bytes_left_over),
        cmocka_unit_test(test_every_flipped_bit),
        cmocka_unit_test(test_another_key),
        cmocka_unit_test(test_version_and_kind),
        cmocka_unit_test(test_text_too_long),
        cmocka_unit_test(test_wild_values),
        cmocka_unit_test(test_end_without_time),
        cmocka_unit_test(test_encode_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
