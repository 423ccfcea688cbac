#include <lmdb.h>
#include <sched.h>
#include <sys/mount.h>

#include "store_fixture.h"


/* What an init whose machine lost power may leave, and what it may not touch.
 * The rest is in store_open_test.c and t/flow/power.t. */


#define PAGE  4096


static void
path_of(const fixture_t *f, const char *name, char path[600])
{
    (void) snprintf(path, 600, "%s/%s", f->path, name);
}


static void
write_file(const fixture_t *f, const char *name, const void *data, size_t n)
{
    int   fd;
    char  path[600];

    path_of(f, name, path);
    fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, data, n), n);
    (void) close(fd);
}


static void
read_file(const fixture_t *f, const char *name, void *data, size_t n)
{
    int   fd;
    char  path[600];

    path_of(f, name, path);
    fd = open(path, O_RDONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(read(fd, data, n), n);
    (void) close(fd);
}


static int
child_init(fixture_t *f)
{
    return store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) == STORE_OK
           ? 0 : 1;
}


/* 0: it is a store now, and a new one. */
static int
child_init_again(fixture_t *f)
{
    store_stat_t  stat;

    if (child_init(f) != 0) {
        return 1;
    }

    if (store_open(&f->options, &f->store, f->why) != STORE_OK
        || store_stat(f->store, &stat) != STORE_OK)
    {
        return 2;
    }

    fixture_sound(f);

    return stat.users != 0;
}


/* The two pages that LMDB begins a file with. */
static void
first_pages(uint8_t pages[2 * PAGE])
{
    MDB_env    *env;
    fixture_t   f;
    char        path[600];

    fixture_directory(&f);
    path_of(&f, "env", path);

    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_mapsize(env, FIXTURE_MAP), 0);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0600), 0);
    mdb_env_close(env);

    read_file(&f, "env", pages, 2 * PAGE);
    fixture_remove(&f);
}


static void
test_init_goes_on(void **state)
{
    int        rc;
    size_t     i, n;
    uint8_t    pages[2 * PAGE], cut[2 * PAGE];
    fixture_t  f;

    static const size_t  sizes[] = {
        0, 1, 17, 100, 512, PAGE, PAGE + 100, PAGE + 512, 2 * PAGE
    };

    (void) state;

    first_pages(pages);

    for (i = 0; i < 4 * sizeof(sizes) / sizeof(sizes[0]); i++) {
        n = sizes[i / 4];

        /* all of it, none of it, the first of its pages, the second */

        memset(cut, 0, sizeof(cut));

        if (i % 4 == 0 || i % 4 == 2) {
            memcpy(cut, pages, PAGE);
        }

        if (i % 4 == 0 || i % 4 == 3) {
            memcpy(cut + PAGE, pages + PAGE, PAGE);
        }

        fixture_directory(&f);
        write_file(&f, "open.lock", "", 0);
        write_file(&f, "owner", "boot", i % 3);
        write_file(&f, "sessions.v1.mdb", cut, n);
        write_file(&f, "events.v1.mdb", cut, i % 2 ? n : sizeof(cut));

        rc = fixture_child(child_init_again, &f);

        if (rc != 0) {
            fail_msg("%zu bytes, %zu: %d", n, i % 4, rc);
        }

        fixture_remove(&f);
    }
}


/* Neither a file of somebody's nor a damaged one of ours is made anew. */
static void
test_init_overwrites_nothing(void **state)
{
    size_t     i;
    uint8_t    text[2 * PAGE], pages[2 * PAGE], found[2 * PAGE];
    fixture_t  f;

    (void) state;

    first_pages(pages);

    for (i = 0; i < 5; i++) {
        memset(text, 0, sizeof(text));

        switch (i) {
        case 0: memset(text, 'x', sizeof(text)); break;
        case 1: text[8] = 'x'; break;
        case 2: text[PAGE + 4] = 1; break;
        case 3: memcpy(text, pages, PAGE); text[16] ^= 1; break;
        case 4: memcpy(text, pages, sizeof(text)); text[144] = 7; break;
        }

        fixture_directory(&f);
        write_file(&f, "sessions.v1.mdb", text, sizeof(text));

        assert_int_equal(fixture_child(child_init, &f), i == 4 ? 0 : 1);

        if (i < 4) {
            read_file(&f, "sessions.v1.mdb", found, sizeof(found));
            assert_memory_equal(found, text, sizeof(found));
        }

        fixture_remove(&f);
    }
}


/* A store whose beginning was wiped holds what somebody may want to save. */
static void
test_init_leaves_a_wiped_store(void **state)
{
    int          fd;
    char         path[600];
    uint8_t      zeros[2 * PAGE] = { 0 };
    fixture_t    f;
    struct stat  before, after;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);

    path_of(&f, "sessions.v1.mdb", path);
    fd = open(path, O_WRONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
    assert_int_equal(fstat(fd, &before), 0);

    assert_int_equal(fixture_child(child_init, &f), 1);
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);

    (void) close(fd);
    fixture_remove(&f);
}


static void
fill(const fixture_t *f)
{
    int   fd;
    char  path[600], block[4096];

    path_of(f, "filler", path);
    memset(block, 'x', sizeof(block));
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);

    while (write(fd, block, sizeof(block)) == sizeof(block)) {
        /* void */
    }

    (void) close(fd);
}


static int
child_lock_files(fixture_t *f)
{
    int          i;
    char         path[600];
    struct stat  st;

    static const char *const  names[] = {
        "sessions.v1.mdb-lock", "events.v1.mdb-lock"
    };

    if (unshare(CLONE_NEWNS) == -1
        || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1
        || mount("none", f->path, "tmpfs", 0, "size=1m,mode=0700") == -1)
    {
        return 77;
    }

    if (fixture_child(child_init, f) != 0) {
        return 1;
    }

    for (i = 0; i < 2; i++) {
        path_of(f, names[i], path);

        if (stat(path, &st) == -1 || st.st_blocks * 512 < st.st_size
            || unlink(path) == -1)
        {
            return 2;
        }
    }

    fill(f);

    if (store_open(&f->options, &f->store, f->why) != ENOSPC
        || strstr(f->why, names[0]) == NULL)
    {
        return 3;
    }

    path_of(f, names[0], path);

    if (access(path, F_OK) == 0) {
        return 4;
    }

    path_of(f, "filler", path);
    (void) unlink(path);
    fixture_open(f);
    fixture_sound(f);

    return 0;
}


/* LMDB writes them through a map, where no room is SIGBUS. */
static void
test_lock_files_have_room(void **state)
{
    (void) state;

    fixture_child_test(child_lock_files);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_init_goes_on),
        cmocka_unit_test(test_init_overwrites_nothing),
        cmocka_unit_test(test_init_leaves_a_wiped_store),
        cmocka_unit_test(test_lock_files_have_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
