#include "store_fixture.h"


#define DUMP_MAX  (64 * 1024)


typedef struct {
    char    *text;
    size_t   n;
} dump_t;

typedef struct {
    unsigned         n;
    store_session_t  rows[16];
} sessions_t;

typedef struct {
    unsigned       n;
    store_event_t  rows[64];
} events_t;


static int
visit_session(const store_session_t *s, void *data)
{
    sessions_t  *sessions = data;

    assert_true(sessions->n < 16);
    sessions->rows[sessions->n++] = *s;

    return 0;
}


static int
visit_event(const store_event_t *e, void *data)
{
    events_t  *events = data;

    assert_true(events->n < 64);
    events->rows[events->n++] = *e;

    return 0;
}


static void
dump_of(fixture_t *f, dump_t *dump)
{
    FILE  *out;

    out = open_memstream(&dump->text, &dump->n);
    assert_non_null(out);
    assert_int_equal(store_dump(f->store, out, NULL, NULL), STORE_OK);
    assert_int_equal(fclose(out), 0);
}


/* Two users, four sessions of which one has ended, some events copied and
 * some not. */
static void
fill(fixture_t *f, uint8_t id[STORE_USER_BYTES],
    uint8_t other[STORE_USER_BYTES])
{
    int            more;
    store_op_t     op;
    store_event_t  e;

    fixture_user(f, "Ann \"\\ \xe2\x82\xac", id);
    fixture_user(f, "bob", other);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    assert_int_equal(fixture_sign_in(f, id, 2, FIXTURE_NOW + 1), STORE_OK);
    assert_int_equal(fixture_sign_in(f, other, 3, FIXTURE_NOW + 2), STORE_OK);

    fixture_op(&op, STORE_OP_USER_NAME, FIXTURE_NOW + 3);
    memcpy(op.user, id, STORE_USER_BYTES);
    assert_int_equal(store_text_set(&op.name, "Ann", 3), STORE_OK);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    memset(&e, 0, sizeof(e));
    e.type = STORE_EVENT_SIGN_IN_FAILED;
    e.time = FIXTURE_NOW;
    e.reason = STORE_BAD_PASSWORD;
    fixture_op(&op, STORE_OP_EVENT, FIXTURE_NOW);
    op.event = &e;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    assert_int_equal(store_events_copy(f->store, 3, &more), STORE_OK);

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW + 4);
    fixture_key(op.key, 1);
    op.end = STORE_END_SIGN_OUT;
    assert_int_equal(fixture_apply(f, &op), STORE_OK);

    fixture_op(&op, STORE_OP_TOUCH, FIXTURE_NOW + 500);
    fixture_key(op.key, 2);
    assert_int_equal(fixture_apply(f, &op), STORE_OK);
}


static int
restore_into(fixture_t *g, const char *text, size_t n, unsigned flags)
{
    int    rc;
    FILE  *in;

    in = n ? fmemopen((void *) text, n, "r") : fopen("/dev/null", "r");
    assert_non_null(in);
    rc = store_restore(&g->options, in, flags, NULL, NULL, g->why);
    (void) fclose(in);

    return rc;
}


static void
test_round_trip(void **state)
{
    uint8_t       id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    dump_t        dump, again;
    events_t      events;
    fixture_t    *f = *state;
    fixture_t     g;
    sessions_t    before, after;
    store_user_t  u, v;

    fill(f, id, other);
    dump_of(f, &dump);

    fixture_init(&g);
    assert_int_equal(restore_into(&g, dump.text, dump.n,
                                  STORE_RESTORE_SESSIONS),
                     STORE_OK);
    fixture_open(&g);
    fixture_sound(&g);

    assert_int_equal(store_user_get(f->store, id, &u), STORE_OK);
    memset(&v, 0, sizeof(v));
    assert_int_equal(store_user_get(g.store, id, &v), STORE_OK);
    assert_string_equal(v.login.data, "Ann \"\\ \xe2\x82\xac");
    assert_string_equal(v.phc.data, u.phc.data);
    assert_string_equal(v.name.data, "Ann");
    assert_string_equal(v.roles.data, u.roles.data);
    assert_int_equal(v.generation, u.generation);
    assert_int_equal(v.created, u.created);
    assert_int_equal(v.changed, u.changed);
    assert_int_equal(v.signed_in, u.signed_in);
    assert_int_equal(store_user_find(g.store, "default", 7, "BOB", 3, &v),
                     STORE_OK);

    memset(&before, 0, sizeof(before));
    memset(&after, 0, sizeof(after));
    assert_int_equal(store_session_each(f->store, visit_session, &before),
                     STORE_OK);
    assert_int_equal(store_session_each(g.store, visit_session, &after),
                     STORE_OK);
    assert_int_equal(before.n, 3);
    assert_int_equal(after.n, 3);
    assert_int_equal(after.rows[0].end, STORE_END_SIGN_OUT);
    assert_int_equal(after.rows[1].end, STORE_END_NONE);
    assert_int_equal(after.rows[1].seen, FIXTURE_NOW + 500);

    /* the events, each once and in order, and last that this was restored */

    events.n = 0;
    assert_int_equal(store_event_each(g.store, 0, visit_event, &events),
                     STORE_OK);
    assert_int_equal(events.n, 8);
    assert_int_equal(events.rows[0].type, STORE_EVENT_SIGN_IN_FAILED);
    assert_int_equal(events.rows[0].reason, STORE_BAD_PASSWORD);
    assert_int_equal(events.rows[7].type, STORE_EVENT_SESSION_END);
    assert_string_equal(events.rows[7].address.data, "192.0.2.7");

    events.n = 0;
    assert_int_equal(store_change_each(g.store, 0, NULL, visit_event, &events),
                     STORE_OK);
    assert_int_equal(events.n, 1);
    assert_int_equal(events.rows[0].type, STORE_EVENT_RESTORED);

    /* it works on */

    assert_int_equal(fixture_sign_in(&g, id, 9, FIXTURE_NOW + 600), STORE_OK);
    assert_int_equal(fixture_sign_in(&g, id, 1, FIXTURE_NOW + 600),
                     STORE_EXISTS);
    fixture_sound(&g);

    /* and dumps */

    dump_of(&g, &again);
    assert_true(again.n > dump.n);

    free(dump.text);
    free(again.text);
    fixture_remove(&g);
}


static void
test_without_sessions(void **state)
{
    uint8_t       id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    dump_t        dump;
    fixture_t    *f = *state;
    fixture_t     g;
    store_stat_t  stat;

    fill(f, id, other);
    dump_of(f, &dump);

    fixture_init(&g);
    assert_int_equal(restore_into(&g, dump.text, dump.n, 0), STORE_OK);
    fixture_open(&g);

    assert_int_equal(store_stat(g.store, &stat), STORE_OK);
    assert_int_equal(stat.users, 2);
    assert_int_equal(stat.sessions, 0);
    assert_int_equal(stat.live, 0);
    fixture_sound(&g);

    free(dump.text);
    fixture_remove(&g);
}


static void
untouched(fixture_t *g)
{
    store_stat_t  stat;

    assert_int_equal(store_stat(g->store, &stat), STORE_OK);
    assert_int_equal(stat.users, 0);
    assert_int_equal(stat.sessions, 0);
    assert_int_equal(stat.events, 0);
    assert_int_equal(stat.change_last, 0);
    fixture_sound(g);
}


/* Cut anywhere, a dump restores nothing. */
static void
test_every_cut(void **state)
{
    size_t      i, n;
    uint8_t     id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    dump_t      dump;
    fixture_t  *f = *state;
    fixture_t   g;

    fill(f, id, other);
    dump_of(f, &dump);

    fixture_init(&g);

    for (n = 0; n < dump.n; n += n > 400 && n < dump.n - 200 ? 37 : 1) {
        assert_int_equal(restore_into(&g, dump.text, n,
                                      STORE_RESTORE_SESSIONS),
                         STORE_MALFORMED);
        assert_true(g.why[0] == '"');
    }

    fixture_open(&g);
    untouched(&g);
    fixture_remove(&g);

    /* a line that is missing */

    fixture_init(&g);

    for (i = 0; i + 1 < dump.n; i++) {
        char  *text;

        if (dump.text[i] != '\n') {
            continue;
        }

        n = (size_t) ((char *) memchr(dump.text + i + 1, '\n',
                                      dump.n - i - 1)
                      - (dump.text + i));

        text = malloc(dump.n);
        assert_non_null(text);
        memcpy(text, dump.text, i);
        memcpy(text + i, dump.text + i + n, dump.n - i - n);
        assert_int_equal(restore_into(&g, text, dump.n - n,
                                      STORE_RESTORE_SESSIONS),
                         STORE_MALFORMED);
        free(text);
    }

    fixture_open(&g);
    untouched(&g);

    free(dump.text);
    fixture_remove(&g);
}


#define HEAD  "{\"record\":\"store\",\"format\":1,\"id\":"                   \
              "\"00000000000000000000000000000000\"}\n"
#define END   "{\"record\":\"end\",\"users\":%d,\"sessions\":%d,\"events\":0}\n"

#define USER(id, login, roles, generation)                                   \
    "{\"record\":\"user\",\"id\":\"" id "\",\"realm\":\"default\","         \
    "\"login\":\"" login "\",\"name\":\"\",\"roles\":\"" roles "\","       \
    "\"phc\":\"\",\"generation\":" generation ",\"flags\":0,\"created\":1," \
    "\"changed\":1,\"signed_in\":0}\n"

#define SESSION(key, user, generation, ended, end)                           \
    "{\"record\":\"session\",\"key\":\"" key "\",\"user\":\"" user "\","   \
    "\"realm\":\"other\",\"login\":\"x\",\"name\":\"y\",\"roles\":\"root\"," \
    "\"generation\":" generation ",\"created\":5,\"seen\":5,"               \
    "\"authenticated\":5,\"idle\":10,\"lifetime\":100,\"ended\":" ended "," \
    "\"end\":" end ",\"address\":\"\",\"agent\":\"\"}\n"

#define A  "0101010101010101"
#define B  "0202020202020202"
#define K  "000000010101010101010101010101"


static void
test_refused_lines(void **state)
{
    size_t     i;
    char       text[DUMP_MAX];
    fixture_t  g;

    static const struct {
        const char  *lines;
        int          rc;
        const char  *words;
    } cases[] = {
        { USER(A, "ann", "", "1"), STORE_MALFORMED, "line 1: not a dump" },
        { "{\"record\":\"store\",\"format\":2,\"id\":\"\"}\n", STORE_VERSION,
          "line 1: made by another version" },
        { "{\"record\":\"store\",\"format\":1,\"id\":\"\"}\n",
          STORE_MALFORMED, "line 1: id" },
        { "{\"record\":\"store\",\"format\":1,\"id\":"
          "\"00000000000000000000000000000000\",\"x\":1}\n", STORE_MALFORMED,
          "line 1: a member is unknown" },
        { "nonsense\n", STORE_MALFORMED, "line 1: not a flat JSON" },
        { "{\"format\":1}\n", STORE_MALFORMED, "line 1: record" },
        { HEAD HEAD, STORE_MALFORMED, "line 2: unknown record" },
        { HEAD "{\"record\":\"thing\"}\n", STORE_MALFORMED,
          "line 2: unknown record" },
        { HEAD "\n", STORE_MALFORMED, "line 2: not a flat JSON" },
        { HEAD USER(A, "", "", "1"), STORE_MALFORMED, "line 2: not a valid" },
        { HEAD USER(A, " ann", "", "1"), STORE_MALFORMED, "line 2: login" },
        { HEAD USER(A, "a\\nn", "", "1"), STORE_MALFORMED, "line 2: login" },
        { HEAD USER(A, "ann", "b,a", "1"), STORE_MALFORMED,
          "line 2: not a valid user" },
        { HEAD USER(A, "ann", "", "0"), STORE_MALFORMED,
          "line 2: not a valid user" },
        { HEAD USER(A, "ann", "", "-1"), STORE_MALFORMED,
          "line 2: generation" },
        { HEAD USER("0101", "ann", "", "1"), STORE_MALFORMED, "line 2: id" },
        { HEAD USER(A, "ann", "", "1") USER(A, "bob", "", "1"),
          STORE_MALFORMED, "line 3: the user stands there twice" },
        { HEAD USER(A, "ann", "", "1") USER(B, "ANN", "", "1"),
          STORE_MALFORMED, "line 3: the user stands there twice" },
        { HEAD SESSION(K "00", A, "1", "0", "1"), STORE_MALFORMED,
          "line 2: not a valid session" },
        { HEAD SESSION(K "00", A, "1", "9", "0"), STORE_MALFORMED,
          "line 2: not a valid session" },
        { HEAD SESSION(K "00", A, "1", "9", "11"), STORE_MALFORMED,
          "line 2: end" },
        { HEAD SESSION(K "00", A, "1", "9", "1")
          SESSION(K "00", A, "1", "9", "1"), STORE_MALFORMED,
          "line 3: the session stands there twice" },
    };

    (void) state;

    fixture_init(&g);

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void) snprintf(text, sizeof(text), "%s" END, cases[i].lines, 1, 0);

        assert_int_equal(restore_into(&g, text, strlen(text),
                                      STORE_RESTORE_SESSIONS),
                         cases[i].rc);

        if (strstr(g.why, cases[i].words) == NULL) {
            fail_msg("expected \"%s\" in: %s", cases[i].words, g.why);
        }
    }

    (void) snprintf(text, sizeof(text), HEAD END END, 0, 0, 0, 0);
    assert_int_equal(restore_into(&g, text, strlen(text), 0),
                     STORE_MALFORMED);
    assert_non_null(strstr(g.why, "after the end line"));

    memset(text, 'x', sizeof(text));
    assert_int_equal(restore_into(&g, text, sizeof(text), 0), STORE_LIMIT);
    assert_non_null(strstr(g.why, "line 1: the line is too long"));

    fixture_open(&g);
    untouched(&g);
    fixture_remove(&g);
}


/* A session takes from its user what a decision needs; one that fits no user
 * is left out. */
static void
test_sessions_follow_users(void **state)
{
    char             text[DUMP_MAX];
    uint8_t          key[STORE_KEY_BYTES];
    fixture_t        g;
    store_stat_t     stat;
    store_session_t  s;

    (void) state;

    fixture_init(&g);

    (void) snprintf(text, sizeof(text), HEAD
                    USER(A, "ann", "admin", "3")
                    SESSION(K "00", A, "3", "0", "0")
                    SESSION(K "01", A, "2", "0", "0")
                    SESSION(K "02", B, "3", "0", "0")
                    SESSION(K "03", B, "3", "7", "2")
                    END, 1, 4);

    assert_int_equal(restore_into(&g, text, strlen(text),
                                  STORE_RESTORE_SESSIONS),
                     STORE_OK);
    fixture_open(&g);
    fixture_sound(&g);

    assert_int_equal(store_stat(g.store, &stat), STORE_OK);
    assert_int_equal(stat.sessions, 2);
    assert_int_equal(stat.live, 1);

    memset(key, 1, sizeof(key));
    memset(key, 0, 3);
    key[15] = 0;
    assert_int_equal(store_session_get(g.store, key, &s), STORE_OK);
    assert_string_equal(s.realm.data, "default");
    assert_string_equal(s.login.data, "ann");
    assert_string_equal(s.roles.data, "admin");
    assert_string_equal(s.name.data, "");

    fixture_remove(&g);
}


static void
test_too_many_sessions(void **state)
{
    int        i;
    char       text[DUMP_MAX];
    size_t     n;
    fixture_t  g;

    (void) state;

    fixture_init(&g);

    n = (size_t) snprintf(text, sizeof(text), HEAD USER(A, "ann", "", "1"));

    for (i = 0; i <= STORE_USER_SESSIONS_MAX; i++) {
        n += (size_t) snprintf(text + n, sizeof(text) - n,
                               SESSION(K "%02x", A, "1", "0", "0"), i);
    }

    (void) snprintf(text + n, sizeof(text) - n, END, 1,
                    STORE_USER_SESSIONS_MAX + 1);

    assert_int_equal(restore_into(&g, text, strlen(text),
                                  STORE_RESTORE_SESSIONS),
                     STORE_LIMIT);
    assert_non_null(strstr(g.why, "too many sessions"));

    /* they do not matter where they are not wanted */

    assert_int_equal(restore_into(&g, text, strlen(text), 0), STORE_OK);
    fixture_remove(&g);
}


static int
child_restore(fixture_t *g)
{
    int   rc;
    char  text[1024];

    (void) snprintf(text, sizeof(text), HEAD END, 0, 0);

    rc = restore_into(g, text, strlen(text), 0);

    return rc <= 0 ? -rc : 99;
}


static void
test_refused_while_open(void **state)
{
    fixture_t  *f = *state;

    assert_int_equal(fixture_child(child_restore, f), -STORE_BUSY);
    assert_int_equal(store_ping(f->store), STORE_OK);

    /* in the process that has it open, too */

    assert_int_equal(child_restore(f), -STORE_BUSY);
    assert_non_null(strstr(f->why, "in use"));
    assert_int_equal(store_ping(f->store), STORE_OK);
}


/* Who comes while it runs is told why he must wait. */
static int
child_open(fixture_t *g)
{
    int  rc;

    g->options.wait_ms = 0;
    rc = store_open(&g->options, &g->store, g->why);

    if (rc == STORE_BUSY && strstr(g->why, "restore") == NULL) {
        return 98;
    }

    return rc <= 0 ? -rc : 99;
}


static void
progress_open(uint64_t done, void *data)
{
    fixture_t  *g = data;

    assert_int_equal(done, 2);
    assert_int_equal(fixture_child(child_open, g), -STORE_BUSY);
    g->options.quota++;
}


static void
test_nobody_opens_meanwhile(void **state)
{
    FILE       *in;
    char        text[1024];
    fixture_t   g;

    (void) state;

    fixture_init(&g);
    (void) snprintf(text, sizeof(text), HEAD END, 0, 0);

    in = fmemopen(text, strlen(text), "r");
    assert_non_null(in);
    assert_int_equal(store_restore(&g.options, in, 0, progress_open, &g,
                                   g.why),
                     STORE_OK);
    (void) fclose(in);

    assert_int_equal(g.options.quota, 1);
    assert_int_equal(fixture_child(child_open, &g), 0);
    fixture_remove(&g);
}


static void
test_refused_over_users(void **state)
{
    uint8_t     id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    dump_t      dump;
    fixture_t  *f = *state;
    fixture_t   g;

    fill(f, id, other);
    dump_of(f, &dump);

    fixture_init(&g);
    assert_int_equal(restore_into(&g, dump.text, dump.n, 0), STORE_OK);
    assert_int_equal(restore_into(&g, dump.text, dump.n, 0), STORE_EXISTS);
    assert_non_null(strstr(g.why, "there are users already"));

    fixture_open(&g);
    fixture_sound(&g);

    free(dump.text);
    fixture_remove(&g);
}


static void
test_restore_missing(void **state)
{
    fixture_t  g;

    (void) state;

    fixture_directory(&g);
    assert_int_equal(restore_into(&g, "x", 1, 0), STORE_MISSING);
    fixture_remove(&g);
}


/* The disk is full. */
static void
test_dump_to_full_disk(void **state)
{
    FILE       *out;
    fixture_t  *f = *state;

    out = fopen("/dev/full", "w");

    if (out == NULL) {
        skip();
    }

    assert_int_equal(store_dump(f->store, out, NULL, NULL), ENOSPC);
    (void) fclose(out);
}


/* What can be saved of a damaged store is, and the result says that it is not
 * all. */
static void
test_dump_of_damage(void **state)
{
    char       *text;
    FILE       *out;
    size_t      n;
    uint8_t     id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    MDB_txn    *txn;
    fixture_t  *f = *state;
    fixture_t   g;

    fill(f, id, other);

    assert_int_equal(store_write_begin(f->store->sessions, &txn), STORE_OK);
    assert_int_equal(store_db_put(txn, f->store->sessions->db[STORE_USER],
                                  other, sizeof(other), "junk", 4, 0),
                     STORE_OK);
    assert_int_equal(mdb_txn_commit(txn), 0);

    out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_int_equal(store_dump(f->store, out, NULL, NULL), STORE_CORRUPT);
    assert_int_equal(fclose(out), 0);

    fixture_init(&g);
    assert_int_equal(restore_into(&g, text, n, STORE_RESTORE_SESSIONS),
                     STORE_OK);
    fixture_open(&g);
    fixture_sound(&g);

    free(text);
    fixture_remove(&g);
}


static int
child_init(fixture_t *g)
{
    return store_init(&g->options, (uid_t) -1, (gid_t) -1, g->why) == STORE_OK
           ? 0 : 1;
}


/* A backup in an empty directory, and init around it. */
static void
test_backup(void **state)
{
    int              fd;
    char             path[600];
    uint8_t          id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    fixture_t       *f = *state;
    fixture_t        g;
    store_user_t     u;
    store_session_t  s;

    fill(f, id, other);
    fixture_directory(&g);

    (void) snprintf(path, sizeof(path), "%s/%s", g.path, STORE_FILE_SESSIONS);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    assert_int_equal(store_backup(f->store, 0, fd), STORE_OK);
    assert_int_equal(close(fd), 0);

    (void) snprintf(path, sizeof(path), "%s/%s", g.path, STORE_FILE_EVENTS);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    assert_int_equal(store_backup(f->store, 1, fd), STORE_OK);
    assert_int_equal(close(fd), 0);

    assert_int_equal(fixture_child(child_init, &g), 0);
    fixture_open(&g);
    fixture_sound(&g);

    assert_int_equal(store_user_get(g.store, id, &u), STORE_OK);
    assert_int_equal(fixture_get(&g, 2, &s), STORE_OK);
    assert_int_equal(fixture_sign_in(&g, other, 8, FIXTURE_NOW), STORE_OK);

    /* into nothing */

    fd = open("/dev/full", O_WRONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(store_backup(f->store, 0, fd), ENOSPC);
    (void) close(fd);

    fixture_remove(&g);
}


static void
count_progress(uint64_t done, void *data)
{
    uint64_t  *last = data;

    assert_true(done >= *last);
    *last = done;
}


static void
test_progress(void **state)
{
    FILE       *out;
    uint8_t     id[STORE_USER_BYTES], other[STORE_USER_BYTES];
    uint64_t    last;
    fixture_t  *f = *state;

    fill(f, id, other);

    out = fopen("/dev/null", "w");
    assert_non_null(out);
    last = 0;
    assert_int_equal(store_dump(f->store, out, count_progress, &last),
                     STORE_OK);
    assert_int_equal(last, 2 + 3 + 8);
    (void) fclose(out);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        with_store(test_round_trip),
        with_store(test_without_sessions),
        with_store(test_every_cut),
        cmocka_unit_test(test_refused_lines),
        cmocka_unit_test(test_sessions_follow_users),
        cmocka_unit_test(test_too_many_sessions),
        with_store(test_refused_while_open),
        cmocka_unit_test(test_nobody_opens_meanwhile),
        with_store(test_refused_over_users),
        cmocka_unit_test(test_restore_missing),
        with_store(test_dump_to_full_disk),
        with_store(test_dump_of_damage),
        with_store(test_backup),
        with_store(test_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
