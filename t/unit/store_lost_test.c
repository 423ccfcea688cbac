/*
 * A store that its processes must stop using: files that were replaced while
 * they are open, and what LMDB never gets over.
 */

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "store_fixture.h"


static const char *const  names[] = {
    STORE_FILE_OWNER, STORE_FILE_SESSIONS, STORE_FILE_EVENTS,
    STORE_FILE_SESSIONS "-lock", STORE_FILE_EVENTS "-lock"
};

#define NAMES  (sizeof(names) / sizeof(names[0]))


static void
named(fixture_t *f, const char *name, char path[600])
{
    (void) snprintf(path, 600, "%s/%s", f->path, name);
}


/* The same bytes in another file, as after mv of a copy. */
static void
replace(const char *path, const char *away)
{
    int   n;
    char  command[1400];

    n = snprintf(command, sizeof(command), "cp -p --sparse=always %s %s",
                 away, path);
    assert_true(n > 0 && n < (int) sizeof(command));

    assert_int_equal(rename(path, away), 0);
    assert_int_equal(system(command), 0);
}


static int
child_open(fixture_t *f)
{
    int       rc;
    store_t  *store;

    f->options.wait_ms = 0;
    rc = store_open(&f->options, &store, f->why);

    if (rc == STORE_BUSY) {
        return strstr(f->why, "opens when all of them have ended") ? 20 : 98;
    }

    return rc == STORE_OK ? 0 : 99;
}


static int
child_init(fixture_t *f)
{
    return store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) == STORE_OK
           ? 0 : 1;
}


static void
test_watch_every_file(void **state)
{
    char             path[600], away[600];
    size_t           i;
    uint8_t          id[STORE_USER_BYTES];
    fixture_t       *f = *state;
    store_session_t  s;

    fixture_user(f, "ann", id);
    named(f, "away", away);

    for (i = 0; i < NAMES; i++) {
        named(f, names[i], path);
        assert_int_equal(store_watch(f->store), STORE_OK);

        replace(path, away);

        assert_int_equal(store_watch(f->store), STORE_REPLACED);

        /* what would go into a file that nobody will open again */

        assert_int_equal(fixture_sign_in(f, id, (unsigned) i, FIXTURE_NOW),
                         STORE_REPLACED);

        /* another owner file is one that nobody holds yet */

        if (i > 0) {
            assert_int_equal(fixture_child(child_open, f), 20);
        }

        assert_int_equal(rename(away, path), 0);
        assert_int_equal(store_watch(f->store), STORE_OK);
        assert_int_equal(fixture_get(f, (unsigned) i, &s), STORE_NOT_FOUND);

        /* and gone altogether */

        assert_int_equal(rename(path, away), 0);
        assert_int_equal(store_watch(f->store), STORE_REPLACED);
        assert_int_equal(rename(away, path), 0);
    }

    assert_int_equal(fixture_child(child_open, f), 0);
    assert_int_equal(fixture_sign_in(f, id, 1, FIXTURE_NOW), STORE_OK);
    fixture_sound(f);
}


static void
test_watch_directory(void **state)
{
    char        away[600];
    fixture_t  *f = *state;

    (void) snprintf(away, sizeof(away), "%s-away", f->path);

    assert_int_equal(rename(f->path, away), 0);
    assert_int_equal(store_watch(f->store), STORE_REPLACED);

    /* another store in its place */

    assert_int_equal(fixture_child(child_init, f), 0);
    assert_int_equal(fixture_child(child_open, f), 0);
    assert_int_equal(store_watch(f->store), STORE_REPLACED);
    fixture_remove(f);

    /* a link to the very same is one that nobody may open */

    assert_int_equal(symlink(away, f->path), 0);
    assert_int_equal(store_watch(f->store), STORE_REPLACED);
    assert_int_equal(unlink(f->path), 0);

    assert_int_equal(rename(away, f->path), 0);
    assert_int_equal(store_watch(f->store), STORE_OK);
}


/* Where it cannot be told, nothing is given up. */
static int
child_blind(fixture_t *f)
{
    const struct rlimit  few = { 64, 64 };

    if (setrlimit(RLIMIT_NOFILE, &few) == -1) {
        return 2;
    }

    while (open("/dev/null", O_RDONLY) != -1) {
        /* void */
    }

    return store_watch(f->store) == STORE_OK ? 0 : 1;
}


static void
test_watch_without_descriptors(void **state)
{
    fixture_t  *f = *state;

    assert_int_equal(fixture_child(child_blind, f), 0);
}


/* Once nobody has the old ones open, the new ones are the store. */
static void
test_open_after_all_have_ended(void **state)
{
    char       path[600], away[600];
    size_t     i;
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_open, &f), 0);
    named(&f, "away", away);

    for (i = 0; i < NAMES; i++) {
        named(&f, names[i], path);
        replace(path, away);
        assert_int_equal(fixture_child(child_open, &f), 0);
        assert_int_equal(fixture_child(child_open, &f), 0);
    }

    /* lock files that are missing are made, with their mode */

    for (i = 3; i < NAMES; i++) {
        named(&f, names[i], path);
        assert_int_equal(unlink(path), 0);
    }

    (void) umask(0777);
    assert_int_equal(fixture_child(child_open, &f), 0);
    (void) umask(022);
    assert_int_equal(fixture_child(child_open, &f), 0);

    fixture_remove(&f);
}


/*
 * On an overlay a file of the lower layer is copied when it is first written,
 * and must not be taken for replaced by whoever comes second.
 */
static int
child_overlay(fixture_t *f)
{
    int    rc;
    char   options[1000], *path;
    char   lower[300], own[300], upper[310], work[310], all[300], store[320];

    (void) snprintf(lower, sizeof(lower), "%s/lower", f->path);
    (void) snprintf(own, sizeof(own), "%s/own", f->path);
    (void) snprintf(upper, sizeof(upper), "%s/upper", own);
    (void) snprintf(work, sizeof(work), "%s/work", own);
    (void) snprintf(all, sizeof(all), "%s/all", f->path);
    (void) snprintf(store, sizeof(store), "%s/store", lower);
    (void) snprintf(options, sizeof(options),
                    "xino=off,lowerdir=%s,upperdir=%s,workdir=%s", lower,
                    upper, work);

    if (unshare(CLONE_NEWNS) == -1
        || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1
        || mount("none", f->path, "tmpfs", 0, "mode=0700") == -1
        || mkdir(lower, 0700) == -1 || mkdir(own, 0700) == -1
        || mount("none", own, "tmpfs", 0, "mode=0700") == -1
        || mkdir(upper, 0700) == -1 || mkdir(work, 0700) == -1
        || mkdir(all, 0700) == -1)
    {
        return 77;
    }

    path = f->path;
    f->options.path = store;
    rc = fixture_child(child_init, f);

    /* opened once, so that its owner file is that of the lower layer */

    if (rc != 0 || fixture_child(child_open, f) != 0) {
        return 1;
    }

    if (mount("none", all, "overlay", 0, options) == -1) {
        return 77;
    }

    (void) snprintf(store, sizeof(store), "%s/store", all);

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 2;
    }

    if (fixture_child(child_open, f) != 0) {
        return 3;
    }

    rc = store_watch(f->store) == STORE_OK ? 0 : 4;
    f->options.path = path;

    return rc;
}


static void
test_overlay(void **state)
{
    int        rc;
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    rc = fixture_child(child_overlay, &f);
    fixture_remove(&f);

    if (rc == 77) {
        skip();
    }

    assert_int_equal(rc, 0);
}


static void
test_lost_codes(void **state)
{
    size_t      i;
    fixture_t  *f = *state;

    static const int  passing[] = {
        STORE_OK, STORE_NOT_FOUND, STORE_CORRUPT, STORE_INVALID, ENOSPC, EIO,
        ENOMEM, EINVAL, MDB_MAP_FULL, MDB_READERS_FULL, MDB_CORRUPTED
    };

    for (i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
        assert_int_equal(store_lost(f->store, passing[i]),
                         STORE_LOST_NOT);
    }

    /* sessions can be read, so it was not theirs */

    assert_int_equal(store_lost(f->store, MDB_PANIC), STORE_LOST_EVENTS);
    assert_int_equal(store_lost(f->store, MDB_BAD_RSLOT), STORE_LOST_EVENTS);
    assert_int_equal(store_lost(f->store, STORE_REPLACED), STORE_LOST_ALL);

    /* these are one process's trouble */

    assert_int_equal(store_watch(f->store), STORE_OK);
    assert_int_equal(fixture_child(child_open, f), 0);

    /* and this one everybody's */

    assert_int_equal(store_lost(f->store, ENOTRECOVERABLE), STORE_LOST_ALL);
    assert_int_equal(store_watch(f->store), STORE_REPLACED);
    assert_int_equal(fixture_child(child_open, f), 20);
}


int
main(void)
{
#define test(name)                                                           \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

    const struct CMUnitTest  tests[] = {
        test(test_watch_every_file),
        test(test_watch_directory),
        test(test_watch_without_descriptors),
        cmocka_unit_test(test_open_after_all_have_ended),
        cmocka_unit_test(test_overlay),
        test(test_lost_codes)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
