#include <limits.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "store_fixture.h"


/*
 * A disk that is full after every single byte that an operation writes.  The
 * calls below are found before those of libc, by LMDB as well.
 */


/* of LMDB: from the map size to the transaction; a page is 4096 bytes */
#define META_MAX     512
#define META_BYTES   120
#define CHECK_EVERY  1000
#define DONE         77         /* of a child: it was done after all */

enum { OFF, PAGES, META };


static int      disk;
static size_t   disk_room;
static size_t   disk_used;
static int      disk_failed;


/* How many of n bytes there is room for. */
static size_t
room_for(size_t n)
{
    size_t  left;

    if (disk == OFF || (n < META_MAX) != (disk == META)) {
        return n;
    }

    left = disk_room - disk_used;

    if (left >= n) {
        disk_used += n;
        return n;
    }

    disk_used = disk_room;
    disk_failed++;

    return left;
}


ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
    size_t  room;

    room = room_for(n);

    if (n && room == 0) {
        errno = ENOSPC;
        return -1;
    }

    return syscall(SYS_pwrite64, fd, data, room, at);
}


ssize_t
writev(int fd, const struct iovec *parts, int count)
{
    int           i;
    size_t        n, room;
    struct iovec  some[IOV_MAX];

    for (i = 0, n = 0; i < count; i++) {
        n += parts[i].iov_len;
    }

    room = room_for(n);

    if (n && room == 0) {
        errno = ENOSPC;
        return -1;
    }

    for (i = 0; i < count && room; i++) {
        some[i] = parts[i];
        some[i].iov_len = some[i].iov_len < room ? some[i].iov_len : room;
        room -= some[i].iov_len;
    }

    return syscall(SYS_writev, fd, some, i);
}


static void
arm(int kind, size_t room)
{
    disk_room = room;
    disk_used = 0;
    disk_failed = 0;
    disk = kind;
}


static void
op_of(store_op_t *op, store_op_kind_t kind, const uint8_t id[STORE_USER_BYTES])
{
    if (kind == STORE_OP_SIGN_IN) {
        fixture_sign_in_op(op, id, 9, FIXTURE_NOW);
        return;
    }

    fixture_op(op, kind, FIXTURE_NOW + 1);
    memcpy(op->user, id, STORE_USER_BYTES);
    fixture_key(op->key, 3);
    op->end = STORE_END_SIGN_OUT;

    assert_int_equal(store_realm_set(&op->realm, "default", 7), STORE_OK);
    assert_int_equal(store_text_set(&op->login, "ann", 3), STORE_OK);
}


/* Is it done: 1, not begun: 0, neither: -1. */
static int
done(fixture_t *f, store_op_kind_t kind)
{
    int              i, rc, ended;
    store_stat_t     stat;
    store_session_t  s;

    for (i = 1, ended = 0; i <= 5; i++) {

        if (fixture_get(f, (unsigned) i, &s) != STORE_OK) {
            return -1;
        }

        ended += s.end != STORE_END_NONE;

        if (s.end != STORE_END_NONE && kind == STORE_OP_END && i != 3) {
            return -1;
        }
    }

    rc = fixture_get(f, 9, &s);

    if (store_stat(f->store, &stat) != STORE_OK) {
        return -1;
    }

    /* a row for the user, one for each session, and what was done */

    switch (kind) {
    case STORE_OP_SIGN_IN:
        if (ended || stat.change_last != 6 + (rc == STORE_OK)) {
            return -1;
        }

        return rc == STORE_OK;

    case STORE_OP_END:
        if (rc != STORE_NOT_FOUND
            || stat.change_last != 6 + (uint64_t) ended)
        {
            return -1;
        }

        return ended;

    default:
        if (rc != STORE_NOT_FOUND || (ended != 0 && ended != 5)
            || stat.change_last
               != (!ended ? 6 : kind == STORE_OP_END_ALL ? 11 : 12))
        {
            return -1;
        }

        return ended == 5;
    }
}


static void
ready(fixture_t *f, uint8_t id[STORE_USER_BYTES])
{
    unsigned  i;

    fixture_open(f);
    fixture_user(f, "ann", id);

    for (i = 1; i <= 5; i++) {
        assert_int_equal(fixture_sign_in(f, id, i, FIXTURE_NOW), STORE_OK);
    }
}


static store_op_kind_t  child_kind;
static size_t           child_room;


static int
child_pages(fixture_t *f)
{
    int         rc;
    size_t      n;
    uint8_t     id[STORE_USER_BYTES];
    uint64_t    problems;
    store_op_t  op;

    ready(f, id);

    for (n = 0; n < 1000000; n++) {
        op_of(&op, child_kind, id);

        arm(PAGES, n);
        rc = fixture_apply(f, &op);
        disk = OFF;

        if (disk_failed == 0) {
            break;
        }

        /* LMDB says EIO of a write that was short */

        if ((rc != ENOSPC && rc != EIO) || done(f, child_kind) != 0) {
            print_error("byte %zu: %s\n", n, store_strerror(rc));
            return 1;
        }

        if (n % CHECK_EVERY == 0
            && (store_check(f->store, fixture_problem, NULL, &problems)
                != STORE_OK || problems))
        {
            return 2;
        }
    }

    fixture_sound(f);

    if (rc != STORE_OK || done(f, child_kind) != 1) {
        return 3;
    }

    /* all of its pages were written, byte by byte */

    return n % 4096 || n < 4 * 4096 ? 4 : 0;
}


static void
test_every_byte(void **state)
{
    int        rc;
    size_t     i;
    fixture_t  f;

    static const store_op_kind_t  kinds[] = {
        STORE_OP_SIGN_IN, STORE_OP_END, STORE_OP_END_ALL,
        STORE_OP_USER_DISABLE, STORE_OP_USER_DELETE
    };

    (void) state;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fixture_init(&f);
        child_kind = kinds[i];
        rc = fixture_child(child_pages, &f);
        fixture_remove(&f);

        if (rc != 0) {
            fail_msg("kind %d: %d", (int) kinds[i], rc);
        }
    }
}


static int
child_make(fixture_t *f)
{
    int      fd;
    char     path[600];
    uint8_t  id[STORE_USER_BYTES];

    ready(f, id);

    (void) snprintf(path, sizeof(path), "%s/id", f->path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);

    return fd != -1 && write(fd, id, sizeof(id)) == sizeof(id) ? 0 : 1;
}


static int
child_meta(fixture_t *f)
{
    int         fd, rc;
    char        path[600];
    uint8_t     id[STORE_USER_BYTES];
    store_op_t  op;

    (void) snprintf(path, sizeof(path), "%s/id", f->path);
    fd = open(path, O_RDONLY);

    if (fd == -1 || read(fd, id, sizeof(id)) != sizeof(id)) {
        return 1;
    }

    fixture_open(f);
    op_of(&op, child_kind, id);

    arm(META, child_room);
    rc = fixture_apply(f, &op);
    disk = OFF;

    if (rc == STORE_OK || disk_failed == 0) {
        return 2;
    }

    return store_lost(f->store, rc) ? 0 : 3;
}


/* By the next one who opens it: there whole, or not at all.  Whole only where
 * all but zeros of the number at the end was written. */
static int
child_meta_after(fixture_t *f)
{
    int  rc;

    fixture_open(f);
    fixture_sound(f);

    rc = done(f, child_kind);

    if (rc < 0 || (rc == 1 && child_room <= META_BYTES - 8)) {
        return 1;
    }

    if (fixture_apply(f, &(store_op_t) {
            .kind = STORE_OP_SWEEP, .now = FIXTURE_NOW, .max = 10 })
        != STORE_OK)
    {
        return 2;
    }

    return rc ? DONE : 0;
}


static void
test_every_byte_of_a_meta_page(void **state)
{
    int        rc, after;
    size_t     i;
    fixture_t  f;

    (void) state;

    fixture_init(&f);
    assert_int_equal(fixture_child(child_make, &f), 0);

    for (i = 0; i < 2 * META_BYTES; i++) {
        child_kind = i % 2 ? STORE_OP_END : STORE_OP_SIGN_IN;
        child_room = i / 2;

        rc = fixture_child(child_meta, &f);
        after = fixture_child(child_meta_after, &f);

        if (rc || (after && after != DONE)) {
            fail_msg("byte %zu of kind %d: %d, then %d", child_room,
                     (int) child_kind, rc, after);
        }

        if (after == DONE) {
            fixture_remove(&f);
            fixture_init(&f);
            assert_int_equal(fixture_child(child_make, &f), 0);
        }
    }

    fixture_remove(&f);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_every_byte_of_a_meta_page),
    };

    /* where syncing costs nothing, if there is such a place */

    if (access("/dev/shm", W_OK) == 0) {
        (void) setenv("TMPDIR", "/dev/shm", 0);
    }

    return cmocka_run_group_tests(tests, NULL, NULL);
}
