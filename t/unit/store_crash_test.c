#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <time.h>

#include "store_fixture.h"


/* rounds of killing; a longer run: STORE_CRASH_ROUNDS=1000 */
#define ROUNDS       25
#define WORKERS      4
#define SIGN_INS     20         /* of each worker */
#define LIMIT        5
#define BATCH        8


/* What a worker says once a batch was acknowledged. */
typedef struct {
    uint32_t  first;            /* number of its first key */
    uint32_t  n;
} acknowledged_t;


/* What a child is to know, beside its fixture. */
static unsigned  child_from;
static unsigned  child_last;
static unsigned  child_worker;
static int       child_pipe;


static unsigned
rounds(void)
{
    const char  *text;

    text = getenv("STORE_CRASH_ROUNDS");

    return text ? (unsigned) atoi(text) : ROUNDS;
}


static int
child_init_user(fixture_t *f)
{
    int      fd;
    char     path[600];
    uint8_t  id[STORE_USER_BYTES];

    if (store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) != STORE_OK) {
        return 1;
    }

    fixture_open(f);
    fixture_user(f, "ann", id);

    (void) snprintf(path, sizeof(path), "%s/id", f->path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);

    return fd != -1 && write(fd, id, sizeof(id)) == sizeof(id) ? 0 : 2;
}


static void
user_of(fixture_t *f, uint8_t id[STORE_USER_BYTES])
{
    int   fd;
    char  path[600];

    (void) snprintf(path, sizeof(path), "%s/id", f->path);
    fd = open(path, O_RDONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(read(fd, id, STORE_USER_BYTES), STORE_USER_BYTES);
    (void) close(fd);
}


/* Signs BATCH people in and ends the BATCH before, over and over, and writes
 * of each batch only once it has been acknowledged. */
static void
worker_until_killed(fixture_t *f, int out, unsigned from)
{
    size_t          i;
    unsigned        n;
    uint8_t         id[STORE_USER_BYTES];
    store_op_t      ops[BATCH * 2], *list[BATCH * 2];
    acknowledged_t  done;

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        _exit(1);
    }

    user_of(f, id);

    for (n = from; ; n += BATCH) {

        for (i = 0; i < BATCH; i++) {
            fixture_sign_in_op(&ops[i], id, n + (unsigned) i, FIXTURE_NOW);
            ops[i].limit = 64;

            fixture_op(&ops[BATCH + i], STORE_OP_END, FIXTURE_NOW + 1);
            fixture_key(ops[BATCH + i].key, n - BATCH + (unsigned) i);
            ops[BATCH + i].end = STORE_END_SIGN_OUT;

            list[i] = &ops[i];
            list[BATCH + i] = &ops[BATCH + i];
        }

        if (store_batch_apply(f->store, list, BATCH * 2) != STORE_OK) {
            _exit(2);
        }

        for (i = 0; i < BATCH; i++) {

            if (ops[i].result != STORE_OK
                || (n != from && ops[BATCH + i].result != STORE_OK))
            {
                _exit(3);
            }
        }

        done.first = n;
        done.n = BATCH;

        if (write(out, &done, sizeof(done)) != sizeof(done)) {
            _exit(4);
        }
    }
}


/* In a child of its own, after the kill: what was acknowledged is there, the
 * batch after that is there whole or not at all, and nothing is out of tune. */
static int
child_look(fixture_t *f)
{
    size_t           i;
    unsigned         from, last, found, ended;
    uint8_t          id[STORE_USER_BYTES];
    uint64_t         problems;
    store_session_t  s;

    from = child_from;
    last = child_last;

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 1;
    }

    if (store_check(f->store, fixture_problem, NULL, &problems) != STORE_OK
        || problems)
    {
        return 2;
    }

    for (i = from; i < last; i++) {

        if (fixture_get(f, (unsigned) i, &s) != STORE_OK) {
            return 3;
        }

        /* all but the last batch have been signed out; the last may have been
         * by the one in flight */

        if (i + BATCH < last && s.end != STORE_END_SIGN_OUT) {
            return 4;
        }
    }

    for (i = 0, found = 0, ended = 0; i < BATCH; i++) {
        found += fixture_get(f, last + (unsigned) i, &s) == STORE_OK;

        if (last > from
            && fixture_get(f, last - BATCH + (unsigned) i, &s) == STORE_OK)
        {
            ended += s.end == STORE_END_SIGN_OUT;
        }
    }

    if (found != 0 && found != BATCH) {
        return 5;
    }

    if (last > from && ended != found) {
        return 6;
    }

    if (fixture_get(f, last + BATCH, &s) != STORE_NOT_FOUND) {
        return 7;
    }

    /* the write lock of the dead one has been taken over */

    user_of(f, id);

    return fixture_sign_in(f, id, last + 500, FIXTURE_NOW) == STORE_OK ? 0 : 8;
}


static void
test_killed_in_a_batch(void **state)
{
    int             rc, status, pipes[2];
    pid_t           pid;
    ssize_t         n;
    unsigned        round, from, last, wanted;
    fixture_t       f;
    acknowledged_t  done;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init_user, &f), 0);

    for (round = 0, from = 1000; round < rounds(); round++, from = last + 1000)
    {
        assert_int_equal(pipe(pipes), 0);
        (void) fflush(NULL);

        pid = fork();
        assert_int_not_equal(pid, -1);

        if (pid == 0) {
            (void) close(pipes[0]);
            worker_until_killed(&f, pipes[1], from);
        }

        (void) close(pipes[1]);

        /* some batches, and then at once, which is somewhere in the next */

        wanted = 1 + round % 4;
        last = from;

        while ((n = read(pipes[0], &done, sizeof(done))) == sizeof(done)) {
            last = done.first + done.n;

            if (wanted && --wanted == 0) {
                struct timespec  pause = { 0, (long) (round * 97) % 3000000 };

                /* spread over the length of one transaction */
                (void) nanosleep(&pause, NULL);
                assert_int_equal(kill(pid, SIGKILL), 0);
            }
        }

        assert_int_equal(n, 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        (void) close(pipes[0]);

        child_from = from;
        child_last = last;
        rc = fixture_child(child_look, &f);

        if (rc != 0) {
            fail_msg("round %u: %d", round, rc);
        }
    }

    fixture_remove(&f);
}


/* A worker that signs the same user in, and counts. */
static int
child_sign_ins(fixture_t *f)
{
    size_t           i, n;
    uint8_t          id[STORE_USER_BYTES];
    store_op_t       op;
    store_session_t  list[STORE_USER_SESSIONS_MAX];

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 1;
    }

    user_of(f, id);

    for (i = 0; i < SIGN_INS; i++) {
        fixture_sign_in_op(&op, id, 1 + (unsigned) i * WORKERS + child_worker,
                           FIXTURE_NOW);
        op.limit = LIMIT;

        if (fixture_apply(f, &op) != STORE_OK) {
            return 2;
        }

        n = STORE_USER_SESSIONS_MAX;

        if (store_session_list(f->store, id, list, &n) != STORE_OK
            || n > LIMIT)
        {
            return 3;
        }
    }

    return 0;
}


/* Forked before anybody has opened the store, as workers are. */
static void
test_limit_over_processes(void **state)
{
    int              status, bad;
    pid_t            pids[WORKERS];
    size_t           i, n;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t        f;
    store_stat_t     stat;
    store_session_t  list[STORE_USER_SESSIONS_MAX];

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init_user, &f), 0);
    (void) fflush(NULL);

    for (i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        assert_int_not_equal(pids[i], -1);

        if (pids[i] == 0) {
            child_worker = (unsigned) i;
            _exit(child_sign_ins(&f));
        }
    }

    for (i = 0, bad = 0; i < WORKERS; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }

    assert_int_equal(bad, 0);

    fixture_open(&f);
    user_of(&f, id);

    n = STORE_USER_SESSIONS_MAX;
    assert_int_equal(store_session_list(f.store, id, list, &n), STORE_OK);
    assert_int_equal(n, LIMIT);

    assert_int_equal(store_stat(f.store, &stat), STORE_OK);
    assert_int_equal(stat.sessions, WORKERS * SIGN_INS);
    assert_int_equal(stat.live, LIMIT);

    /* each sign-in and each end has its row */

    assert_int_equal(stat.change_last,
                     1 + WORKERS * SIGN_INS + WORKERS * SIGN_INS - LIMIT);

    fixture_sound(&f);
    fixture_remove(&f);
}


/* Copies as fast as it can, until told otherwise. */
static int
child_copies(fixture_t *f)
{
    int            i, more, over;
    struct pollfd  p;

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 1;
    }

    p.fd = child_pipe;
    p.events = POLLIN;

    for (i = 0; i < 100000; i++) {
        over = poll(&p, 1, 0) == 1;

        if (store_events_copy(f->store, 3, &more) != STORE_OK) {
            return 2;
        }

        /* asked before: what was changed until then has been copied */

        if (over && !more) {
            return 0;
        }
    }

    return 3;
}


typedef struct {
    uint64_t  n;
    uint64_t  sign_ins;
} counted_t;


static int
count_event(const store_event_t *e, void *data)
{
    counted_t  *counted = data;

    counted->n++;
    counted->sign_ins += e->type == STORE_EVENT_SIGN_IN;

    return 0;
}


/* Several copy at once while others change: each row arrives once. */
static void
test_copies_over_processes(void **state)
{
    int            status, bad, pipes[2];
    pid_t          pids[WORKERS];
    size_t         i;
    fixture_t      f;
    counted_t      counted = { 0 };
    store_stat_t   stat;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init_user, &f), 0);
    assert_int_equal(pipe(pipes), 0);
    (void) fflush(NULL);

    for (i = 0; i < WORKERS; i++) {
        pids[i] = fork();
        assert_int_not_equal(pids[i], -1);

        if (pids[i] == 0) {
            (void) close(pipes[1]);
            child_worker = (unsigned) i;
            child_pipe = pipes[0];
            _exit(i < 2 ? child_sign_ins(&f) : child_copies(&f));
        }
    }

    for (i = 0, bad = 0; i < WORKERS; i++) {

        if (i == 2) {
            (void) close(pipes[1]);     /* those that change are done */
        }

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }

    (void) close(pipes[0]);
    assert_int_equal(bad, 0);

    fixture_open(&f);
    assert_int_equal(store_stat(f.store, &stat), STORE_OK);
    assert_int_equal(stat.change_copied, stat.change_last);
    assert_int_equal(store_event_each(f.store, 0, count_event, &counted),
                     STORE_OK);
    assert_int_equal(counted.n, stat.change_last);
    assert_int_equal(counted.sign_ins, 2 * SIGN_INS);
    fixture_sound(&f);
    fixture_remove(&f);
}


/* On a disk of its own, which is nearly full. */
static int
child_full_disk(fixture_t *f)
{
    int              fd, rc;
    char             path[600], block[4096];
    uint8_t          id[STORE_USER_BYTES];
    uint64_t         problems;
    unsigned         i, n;
    store_op_t       op;
    store_session_t  s;

    if (unshare(CLONE_NEWNS) == -1
        || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1
        || mount("none", f->path, "tmpfs", 0, "size=1m,mode=0700") == -1)
    {
        return 77;
    }

    if (store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) != STORE_OK) {
        return 1;
    }

    fixture_open(f);
    fixture_user(f, "ann", id);

    (void) snprintf(path, sizeof(path), "%s/filler", f->path);
    memset(block, 'x', sizeof(block));
    fd = open(path, O_CREAT | O_WRONLY, 0600);

    while (fd != -1 && write(fd, block, sizeof(block)) == sizeof(block)) {
        /* void */
    }

    /* room for some */

    if (fd == -1 || ftruncate(fd, lseek(fd, 0, SEEK_CUR) - 40 * 4096) == -1) {
        return 9;
    }

    for (i = 1, rc = STORE_OK; rc == STORE_OK && i < 1000; i++) {
        rc = fixture_sign_in(f, id, i, FIXTURE_NOW);
    }

    n = i - 1;

    if (rc != ENOSPC) {
        return 2;
    }

    if (fixture_get(f, n, &s) != STORE_NOT_FOUND
        || fixture_get(f, n - 1, &s) != STORE_OK
        || s.end != STORE_END_NONE)
    {
        return 3;
    }

    /* a sign-out is done or reported as not done */

    fixture_op(&op, STORE_OP_END, FIXTURE_NOW);
    fixture_key(op.key, n - 1);
    op.end = STORE_END_SIGN_OUT;
    rc = fixture_apply(f, &op);

    if (fixture_get(f, n - 1, &s) != STORE_OK
        || (s.end == STORE_END_NONE) != (rc == ENOSPC))
    {
        return 4;
    }

    /* and all is well when there is room again */

    if (ftruncate(fd, 0) == -1) {
        return 5;
    }

    if (rc == ENOSPC && fixture_apply(f, &op) != STORE_OK) {
        return 6;
    }

    if (fixture_sign_in(f, id, n, FIXTURE_NOW) != STORE_OK
        || store_check(f->store, fixture_problem, NULL, &problems) != STORE_OK)
    {
        return 7;
    }

    return problems ? 8 : 0;
}


static void
test_full_disk(void **state)
{
    (void) state;

    fixture_child_test(child_full_disk);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_killed_in_a_batch),
        cmocka_unit_test(test_limit_over_processes),
        cmocka_unit_test(test_copies_over_processes),
        cmocka_unit_test(test_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
