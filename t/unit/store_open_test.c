#include <grp.h>
#include <sched.h>
#include <sys/file.h>

#include "store_fixture.h"


#define COMPARED  (64 * 1024)


/* What an operator might have done to a file, and what is said of it. */
typedef struct {
    const char  *name;
    off_t        at;            /* -1: cut to n bytes */
    size_t       n;
    uint8_t      byte;
    int          rc;
    const char  *words;
} damage_t;


static void
named(fixture_t *f, const char *name, char path[600])
{
    (void) snprintf(path, 600, "%s/%s", f->path, name);
}


static int
open_again(fixture_t *f)
{
    store_t  *store;

    return store_open(&f->options, &store, f->why);
}


/* Codes are small negatives; a child can only return what is not. */
static int
child_open(fixture_t *f)
{
    int  rc;

    rc = open_again(f);

    return rc <= 0 && rc >= -90 ? -rc : 99;
}


static void
test_missing(void **state)
{
    char       path[300], why[STORE_WHY_CHARS], expected[1024];
    fixture_t  f;

    (void) state;

    fixture_directory(&f);

    (void) snprintf(path, sizeof(path), "%s/none", f.path);
    (void) snprintf(expected, sizeof(expected),
                    "\"%s\": store missing: run sessionctl init %s", path,
                    path);
    f.options.path = path;

    assert_int_equal(open_again(&f), STORE_MISSING);
    assert_string_equal(f.why, expected);
    assert_int_equal(store_look(path, why), STORE_MISSING);
    assert_string_equal(why, expected);
    assert_int_equal(access(path, F_OK), -1);

    /* a directory without a store in it */

    f.options.path = f.path;
    assert_int_equal(open_again(&f), STORE_MISSING);
    assert_int_equal(store_look(f.path, why), STORE_MISSING);
    assert_non_null(strstr(why, "run sessionctl init"));

    fixture_remove(&f);
}


static void
test_paths(void **state)
{
    char       *path, why[STORE_WHY_CHARS];
    fixture_t   f;

    (void) state;

    memset(&f, 0, sizeof(f));

    f.options.path = "";
    assert_int_equal(open_again(&f), STORE_INVALID);
    assert_int_equal(store_look("", why), STORE_INVALID);

    path = malloc(5000);
    assert_non_null(path);
    memset(path, 'a', 4999);
    path[0] = '/';
    path[4999] = '\0';
    f.options.path = path;

    assert_int_equal(open_again(&f), STORE_INVALID);
    assert_int_equal(store_look(path, why), STORE_INVALID);
    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, why),
                     STORE_INVALID);

    free(path);
}


static void
test_init(void **state)
{
    char         path[600];
    size_t       i;
    fixture_t    f;
    struct stat  st;

    static const char *const  names[] = {
        STORE_FILE_OWNER, STORE_FILE_LOCK, STORE_FILE_SESSIONS,
        STORE_FILE_EVENTS, STORE_FILE_SESSIONS "-lock",
        STORE_FILE_EVENTS "-lock"
    };

    (void) state;

    (void) umask(0);
    fixture_directory(&f);
    assert_int_equal(rmdir(f.path), 0);
    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_OK);
    (void) umask(022);

    assert_int_equal(stat(f.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        named(&f, names[i], path);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_int_equal(st.st_mode & 07777, 0600);
    }

    assert_int_equal(store_look(f.path, f.why), STORE_OK);

    /* a second time, with the store open or not */

    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_EXISTS);
    fixture_open(&f);
    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_EXISTS);
    assert_int_equal(store_ping(f.store), STORE_OK);

    fixture_remove(&f);
}


/* Killed after each of its steps, init goes on where it stopped. */
static void
test_init_half_done(void **state)
{
    int        fd;
    char       path[600];
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    named(&f, STORE_FILE_LOCK, path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    (void) close(fd);
    named(&f, STORE_FILE_OWNER, path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    (void) close(fd);
    named(&f, STORE_FILE_SESSIONS, path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    (void) close(fd);

    assert_int_equal(open_again(&f), STORE_MISSING);
    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_OK);
    fixture_open(&f);
    fixture_sound(&f);
    fixture_remove(&f);
}


/* The events were lost; what is left of the store takes new ones. */
static int
child_events_again(fixture_t *f)
{
    char             path[600];
    store_session_t  s;

    named(f, STORE_FILE_EVENTS, path);

    if (unlink(path) != 0) {
        return 1;
    }

    if (open_again(f) != STORE_MISSING) {
        return 2;
    }

    if (store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) != STORE_OK) {
        return 3;
    }

    if (store_open(&f->options, &f->store, f->why) != STORE_OK) {
        return 4;
    }

    return fixture_get(f, 1, &s) == STORE_OK ? 0 : 5;
}


static int
child_one_session(fixture_t *f)
{
    uint8_t  id[STORE_USER_BYTES];

    fixture_open(f);
    fixture_user(f, "ann", id);

    return fixture_sign_in(f, id, 1, FIXTURE_NOW) == STORE_OK ? 0 : 1;
}


static int
child_init(fixture_t *f)
{
    return store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why) == STORE_OK
           ? 0 : 1;
}


static void
test_init_adds_what_is_missing(void **state)
{
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_one_session, &f), 0);
    assert_int_equal(fixture_child(child_events_again, &f), 0);
    fixture_remove(&f);
}


/* While others have it open, nothing is put in the place of a lost file. */
static void
test_init_while_open(void **state)
{
    char        path[600];
    fixture_t  *f = *state;

    named(f, STORE_FILE_EVENTS, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fixture_child(child_init, f), 1);
    assert_int_equal(store_ping(f->store), STORE_OK);
}


static void
test_unsafe_modes(void **state)
{
    char        path[600], link[600];
    size_t      i;
    fixture_t  *f = *state;

    static const struct {
        const char  *name;
        mode_t       bad;
        mode_t       good;
    } modes[] = {
        { ".", 0755, 0700 },
        { ".", 0710, 0700 },
        { ".", 01700, 0700 },
        { ".", 0500, 0700 },
        { STORE_FILE_OWNER, 0644, 0600 },
        { STORE_FILE_LOCK, 0660, 0600 },
        { STORE_FILE_SESSIONS, 0604, 0600 },
        { STORE_FILE_EVENTS, 04600, 0600 },
    };

    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        named(f, modes[i].name, path);
        assert_int_equal(chmod(path, modes[i].bad), 0);

        assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
        assert_int_equal(store_look(f->path, f->why), STORE_UNSAFE);

        assert_int_equal(chmod(path, modes[i].good), 0);
        assert_int_equal(fixture_child(child_open, f), 0);
        assert_int_equal(store_look(f->path, f->why), STORE_OK);
    }

    /* LMDB's own file, which may be missing but not open to others */

    named(f, STORE_FILE_SESSIONS "-lock", path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(f->path, f->why), STORE_UNSAFE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(store_look(f->path, f->why), STORE_OK);

    /* links: to the directory, with a slash, and in it */

    (void) snprintf(link, sizeof(link), "%s-link", f->path);
    assert_int_equal(symlink(f->path, link), 0);
    f->options.path = link;
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(link, f->why), STORE_UNSAFE);
    assert_int_equal(store_init(&f->options, (uid_t) -1, (gid_t) -1, f->why),
                     STORE_UNSAFE);
    assert_int_equal(unlink(link), 0);

    f->options.path = f->path;
    named(f, STORE_FILE_EVENTS, path);
    named(f, "moved", link);
    assert_int_equal(rename(path, link), 0);
    assert_int_equal(symlink(link, path), 0);
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(f->path, f->why), STORE_UNSAFE);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(f->path, f->why), STORE_UNSAFE);
}


static void
test_slash_does_not_follow_links(void **state)
{
    char        link[600];
    fixture_t  *f = *state;

    (void) snprintf(link, sizeof(link), "%s-link", f->path);
    assert_int_equal(symlink(f->path, link), 0);
    (void) strcat(link, "///");
    f->options.path = link;

    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(link, f->why), STORE_UNSAFE);

    link[strlen(link) - 3] = '\0';
    assert_int_equal(unlink(link), 0);

    /* a slash behind the real one does no harm */

    (void) snprintf(link, sizeof(link), "%s//", f->path);
    assert_int_equal(fixture_child(child_open, f), 0);
    assert_int_equal(store_look(link, f->why), STORE_OK);
}


static void
test_not_a_directory(void **state)
{
    char        path[600], why[STORE_WHY_CHARS];
    fixture_t  *f = *state;

    named(f, STORE_FILE_OWNER, path);
    f->options.path = path;

    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(path, why), STORE_UNSAFE);
    assert_int_equal(store_init(&f->options, (uid_t) -1, (gid_t) -1, why),
                     STORE_UNSAFE);
}


static void
test_other_owner(void **state)
{
    char        path[600];
    fixture_t  *f = *state;

    if (geteuid() != 0) {
        skip();
    }

    named(f, STORE_FILE_SESSIONS, path);
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
    assert_int_equal(store_look(f->path, f->why), STORE_UNSAFE);
    assert_int_equal(chown(path, 0, 0), 0);

    assert_int_equal(chown(f->path, 65534, 65534), 0);
    assert_int_equal(fixture_child(child_open, f), -STORE_UNSAFE);
}


static void
read_file(const char *path, uint8_t *data, struct stat *st)
{
    int      fd;
    ssize_t  n;

    fd = open(path, O_RDONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(fstat(fd, st), 0);
    memset(data, 0, COMPARED);
    n = read(fd, data, COMPARED);
    assert_true(n >= 0);
    (void) close(fd);
}


static void
write_file(const char *path, off_t at, const uint8_t *data, size_t n)
{
    int  fd;

    fd = open(path, O_WRONLY);
    assert_int_not_equal(fd, -1);

    if (data) {
        assert_int_equal(pwrite(fd, data, n, at), n);

    } else {
        assert_int_equal(ftruncate(fd, (off_t) n), 0);
    }

    (void) close(fd);
}


static int
child_words(fixture_t *f)
{
    int          rc;
    const char  *words = (const char *) f->store;

    rc = open_again(f);

    return strstr(f->why, words) ? -rc : 98;
}


/* Refused in so many words, and not a byte of it changed. */
static void
test_damaged_files(void **state)
{
    int          fd;
    char         path[600];
    size_t       i;
    uint8_t     *before, *after, whole[COMPARED];
    fixture_t   *f = *state;
    struct stat  a, b;

    static const damage_t  damages[] = {
        { STORE_FILE_SESSIONS, 16, 1, 0x00, STORE_CORRUPT, "meta page 0" },
        { STORE_FILE_SESSIONS, 4096 + 17, 1, 0x77, STORE_CORRUPT,
          "meta page 1" },
        { STORE_FILE_SESSIONS, 10, 1, 0x00, STORE_CORRUPT, "meta page 0" },
        { STORE_FILE_SESSIONS, 20, 1, 0x02, STORE_VERSION,
          "another version of LMDB" },
        { STORE_FILE_SESSIONS, 41, 1, 0x00, STORE_CORRUPT, "page size" },
        { STORE_FILE_SESSIONS, 43, 1, 0x01, STORE_CORRUPT, "page size" },
        { STORE_FILE_SESSIONS, 41, 1, 0x30, STORE_CORRUPT, "page size" },
        { STORE_FILE_SESSIONS, -1, 0, 0, STORE_CORRUPT, "no meta page 0" },
        { STORE_FILE_SESSIONS, -1, 100, 0, STORE_CORRUPT, "no meta page 0" },
        { STORE_FILE_SESSIONS, -1, 4096, 0, STORE_CORRUPT, "no meta page 1" },
        { STORE_FILE_SESSIONS, -1, 8192, 0, STORE_CORRUPT, "truncated" },
        { STORE_FILE_SESSIONS, -1, 12288, 0, STORE_CORRUPT, "truncated" },
        { STORE_FILE_EVENTS, 16, 1, 0x00, STORE_CORRUPT, "events.v1.mdb" },
        { STORE_FILE_EVENTS, -1, 8192, 0, STORE_CORRUPT, "truncated" },
    };

    before = malloc(COMPARED);
    after = malloc(COMPARED);
    assert_non_null(before);
    assert_non_null(after);

    for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        named(f, damages[i].name, path);
        read_file(path, whole, &a);

        if (damages[i].at == -1) {
            write_file(path, 0, NULL, damages[i].n);

        } else {
            write_file(path, damages[i].at, &damages[i].byte, 1);
        }

        read_file(path, before, &a);

        f->store = (store_t *) damages[i].words;
        assert_int_equal(fixture_child(child_words, f), -damages[i].rc);

        read_file(path, after, &b);
        assert_int_equal(a.st_size, b.st_size);
        assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
        assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
        assert_memory_equal(before, after, COMPARED);

        /* as it was, for the next */

        write_file(path, 0, whole, COMPARED);
        write_file(path, 0, NULL, FIXTURE_MAP / 2);
        assert_int_equal(fixture_child(child_open, f), 0);
    }

    /* a root page that is none */

    named(f, STORE_FILE_SESSIONS, path);
    memset(after, 0x5a, COMPARED);
    fd = open(path, O_WRONLY);
    assert_int_not_equal(fd, -1);
    assert_int_equal(pwrite(fd, after, COMPARED - 8192, 8192),
                     COMPARED - 8192);
    (void) close(fd);

    f->store = (store_t *) "a root page is not one";
    assert_int_equal(fixture_child(child_words, f), -STORE_CORRUPT);

    free(before);
    free(after);
}


/* What lies behind the last page is only room. */
static void
test_room_may_be_cut(void **state)
{
    char        path[600];
    fixture_t   f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_one_session, &f), 0);

    named(&f, STORE_FILE_SESSIONS, path);
    write_file(path, 0, NULL, (size_t) 1 << 20);
    assert_int_equal(fixture_child(child_open, &f), 0);

    fixture_remove(&f);
}


/* Pages that a transaction takes at the end of the file and gives back are
 * never written; the file is whole all the same. */
static int
child_gives_back(fixture_t *f)
{
    int              i;
    char            *data;
    MDB_txn         *txn;
    MDB_envinfo      before, after;
    const MDB_dbi   *db;

    fixture_open(f);
    db = f->store->sessions->db;
    data = calloc(5, 500000);

    if (data == NULL || mdb_env_info(f->store->sessions->env, &before)) {
        return 1;
    }

    /* larger each time, or it would find what the last one gave back */

    for (i = 1; i <= 5; i++) {

        if (store_write_begin(f->store->sessions, &txn) != STORE_OK
            || store_db_put(txn, db[STORE_META], "big", 3, data,
                            (size_t) i * 500000, 0)
               != STORE_OK
            || store_db_del(txn, db[STORE_META], "big", 3) != STORE_OK
            || mdb_txn_commit(txn) != 0)
        {
            return 2;
        }
    }

    free(data);

    if (mdb_env_info(f->store->sessions->env, &after)) {
        return 3;
    }

    return after.me_last_pgno > before.me_last_pgno + 100 ? 0 : 4;
}


static void
test_pages_given_back(void **state)
{
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_gives_back, &f), 0);
    assert_int_equal(fixture_child(child_open, &f), 0);
    fixture_remove(&f);
}


static int
child_newer(fixture_t *f)
{
    MDB_txn  *txn;

    fixture_open(f);

    if (store_write_begin(f->store->sessions, &txn) != STORE_OK
        || store_db_put(txn, f->store->sessions->db[STORE_META], "format", 6,
                        "\0\0\0\2", 4, 0)
           != STORE_OK)
    {
        return 1;
    }

    return mdb_txn_commit(txn);
}


static size_t
descriptors(void)
{
    DIR     *dir;
    size_t   n;

    dir = opendir("/proc/self/fd");
    assert_non_null(dir);

    for (n = 0; readdir(dir); n++) { /* void */ }

    (void) closedir(dir);

    return n;
}


/* A worker tries every two seconds; it must not run out of anything. */
static int
child_retries(fixture_t *f)
{
    int     i;
    size_t  n;

    if (open_again(f) != STORE_VERSION) {
        return 1;
    }

    n = descriptors();

    for (i = 0; i < 50; i++) {
        if (open_again(f) != STORE_VERSION) {
            return 2;
        }
    }

    return descriptors() == n ? 0 : 3;
}


static void
test_newer_format(void **state)
{
    char       path[600];
    fixture_t  f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_newer, &f), 0);
    assert_int_equal(fixture_child(child_open, &f), -STORE_VERSION);
    assert_int_equal(fixture_child(child_retries, &f), 0);
    fixture_remove(&f);

    /* files of a later version and none of ours */

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    named(&f, STORE_FILE_SESSIONS, path);
    {
        char  newer[600];

        named(&f, STORE_FILE_NEWER, newer);
        assert_int_equal(rename(path, newer), 0);
    }
    assert_int_equal(fixture_child(child_open, &f), -STORE_VERSION);
    fixture_remove(&f);
}


static void
test_map_size_must_agree(void **state)
{
    fixture_t  *f = *state;

    f->options.map_size = FIXTURE_MAP * 2;
    assert_int_equal(fixture_child(child_open, f), -STORE_VERSION);
    f->options.map_size = 0;
    assert_int_equal(fixture_child(child_open, f), -STORE_VERSION);
}


static void
test_files_of_two_stores(void **state)
{
    char       from[600], to[600];
    fixture_t  f, g;

    (void) state;

    fixture_directory(&f);
    fixture_directory(&g);
    assert_int_equal(fixture_child(child_init, &f), 0);
    assert_int_equal(fixture_child(child_init, &g), 0);

    named(&f, STORE_FILE_EVENTS, from);
    named(&g, STORE_FILE_EVENTS, to);
    assert_int_equal(rename(from, to), 0);

    g.store = (store_t *) "different stores";
    assert_int_equal(fixture_child(child_words, &g), -STORE_CORRUPT);

    fixture_remove(&f);
    fixture_remove(&g);
}


static void
test_twice_in_a_process(void **state)
{
    fixture_t  *f = *state;

    assert_int_equal(open_again(f), STORE_BUSY);
    assert_non_null(strstr(f->why, "in this process"));
    assert_int_equal(store_ping(f->store), STORE_OK);
}


/* The default map is 64 GiB of addresses and next to nothing on disk. */
static void
test_default_map(void **state)
{
    char          path[600];
    uint8_t       id[STORE_USER_BYTES];
    fixture_t     f;
    struct stat   st;
    store_stat_t  stat_;

    (void) state;

    fixture_directory(&f);
    f.options.map_size = 0;
    assert_int_equal(store_init(&f.options, (uid_t) -1, (gid_t) -1, f.why),
                     STORE_OK);
    fixture_open(&f);
    fixture_user(&f, "ann", id);

    assert_int_equal(store_stat(f.store, &stat_), STORE_OK);
    assert_int_equal(stat_.map_bytes, STORE_MAP_SIZE);

    named(&f, STORE_FILE_SESSIONS, path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_blocks * 512 < 1 << 20);

    fixture_remove(&f);
}


static void
test_wait_for_the_lock(void **state)
{
    int         fd, status, pipes[2];
    char        path[600], byte;
    pid_t       pid;
    fixture_t  *f = *state;

    named(f, STORE_FILE_LOCK, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_not_equal(fd, -1);
    assert_int_equal(flock(fd, LOCK_EX), 0);

    f->options.wait_ms = 0;
    assert_int_equal(fixture_child(child_open, f), -STORE_BUSY);
    f->options.wait_ms = 30;
    assert_int_equal(fixture_child(child_open, f), -STORE_BUSY);

    /* one that waits gets in as soon as the lock is free */

    f->options.wait_ms = 20000;
    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        (void) close(fd);
        (void) write(pipes[1], "x", 1);
        _exit(child_open(f));
    }

    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    (void) close(pipes[0]);
    (void) close(pipes[1]);
    (void) close(fd);
}


static void
owner_text(fixture_t *f, const char *text)
{
    int   fd;
    char  path[600];

    named(f, STORE_FILE_OWNER, path);
    fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_not_equal(fd, -1);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void) close(fd);
}


static void
test_owner_elsewhere(void **state)
{
    char        path[600], before[512] = { 0 }, after[512] = { 0 };
    FILE       *in;
    fixture_t  *f = *state;

    named(f, STORE_FILE_OWNER, path);
    in = fopen(path, "r");
    assert_non_null(in);
    assert_true(fread(before, 1, sizeof(before) - 1, in) > 0);
    (void) fclose(in);
    assert_non_null(strstr(before, "boot "));
    assert_non_null(strstr(before, "pid_ns "));

    /* the test has it open; to who comes now it is another namespace's */

    owner_text(f, "boot 1\npid_ns 1\n");
    {
        store_t  *store = f->store;

        f->store = (store_t *) "docker compose exec";
        assert_int_equal(fixture_child(child_words, f), -STORE_BUSY);
        f->store = store;
    }

    in = fopen(path, "r");
    assert_non_null(in);
    assert_true(fread(after, 1, sizeof(after) - 1, in) > 0);
    (void) fclose(in);
    assert_string_equal(after, "boot 1\npid_ns 1\n");
}


/* After a crash of the machine, or of a container, nobody holds it. */
static void
test_owner_gone(void **state)
{
    char         path[600], text[512], *digits;
    FILE        *in;
    size_t       i;
    fixture_t    f;

    static const char *const  texts[] = {
        "boot 1\npid_ns 1\n", "", "half a li", "boot",
        "a text that is longer than the one that belongs there, by far, and"
        " goes on and on and on so that no buffer of any size would hold it"
        " all, to see that it is cut off where the new one ends\n"
    };

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);
    named(&f, STORE_FILE_OWNER, path);

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        owner_text(&f, texts[i]);
        assert_int_equal(fixture_child(child_open, &f), 0);

        in = fopen(path, "r");
        assert_non_null(in);
        memset(text, 0, sizeof(text));
        assert_true(fread(text, 1, sizeof(text) - 1, in) > 0);
        (void) fclose(in);

        digits = strstr(text, "pid_ns ");
        assert_non_null(digits);
        digits += strlen("pid_ns ");
        digits += strspn(digits, "0123456789");
        assert_memory_equal(digits, "\nfiles ", 7);
        assert_ptr_equal(strchr(digits + 1, '\n'), text + strlen(text) - 1);
    }

    fixture_remove(&f);
}


/* The real thing: a process of another namespace. */
static int
child_namespace(fixture_t *f)
{
    int    status;
    pid_t  pid;

    if (unshare(CLONE_NEWPID) == -1) {
        return 77;
    }

    pid = fork();

    if (pid == -1) {
        return 77;
    }

    if (pid == 0) {
        _exit(child_open(f));
    }

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
        return 96;
    }

    return WEXITSTATUS(status);
}


static void
test_another_namespace(void **state)
{
    int         rc;
    fixture_t  *f = *state;
    fixture_t   g;

    rc = fixture_child(child_namespace, f);

    if (rc == 77) {
        skip();
    }

    assert_int_equal(rc, -STORE_BUSY);

    /* where nobody has it open, the store moves */

    fixture_directory(&g);
    assert_int_equal(fixture_child(child_init, &g), 0);
    assert_int_equal(fixture_child(child_namespace, &g), 0);
    assert_int_equal(fixture_child(child_open, &g), 0);
    fixture_remove(&g);
}


/* Several processes at once, as workers do. */
static void
test_many_openers(void **state)
{
    int         i, status, bad;
    pid_t       pids[12];
    fixture_t   f;

    (void) state;

    fixture_directory(&f);
    assert_int_equal(fixture_child(child_init, &f), 0);

    for (i = 0; i < 12; i++) {
        pids[i] = fork();
        assert_int_not_equal(pids[i], -1);

        if (pids[i] == 0) {
            _exit(child_open(&f));
        }
    }

    for (i = 0, bad = 0; i < 12; i++) {
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        bad += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }

    assert_int_equal(bad, 0);
    fixture_remove(&f);
}


static int
child_init_owned(fixture_t *f)
{
    gid_t        groups[2] = { 1, 2 };
    struct stat  st;

    if (setgroups(2, groups) == -1
        || store_init(&f->options, 65534, 65534, f->why) != STORE_OK)
    {
        return 1;
    }

    if (geteuid() != 65534 || getuid() != 65534 || getegid() != 65534
        || getgroups(0, NULL) != 0 || setuid(0) == 0)
    {
        return 2;
    }

    if (stat(f->options.path, &st) != 0 || st.st_uid != 65534) {
        return 3;
    }

    return open_again(f) == STORE_OK ? 0 : 4;
}


static int
child_drop(fixture_t *f)
{
    gid_t  groups[2] = { 1, 2 };

    if (setgroups(2, groups) == -1
        || store_drop_to_owner(f->options.path, f->why) != STORE_OK)
    {
        return 1;
    }

    if (geteuid() != 65534 || getegid() != 65534 || getgroups(0, NULL) != 0
        || setuid(0) == 0)
    {
        return 2;
    }

    return open_again(f) == STORE_OK ? 0 : 3;
}


/* Somebody who may not even look into the directory. */
static int
child_look(fixture_t *f)
{
    if (setuid(65534) == -1) {
        return 1;
    }

    return store_look(f->options.path, f->why) == EACCES ? 0 : 2;
}


static int
child_drop_unsafe(fixture_t *f)
{
    return store_drop_to_owner(f->options.path, f->why) == STORE_UNSAFE
           && geteuid() == 0 ? 0 : 1;
}


static void
test_look_without_rights(void **state)
{
    fixture_t  *f = *state;

    if (geteuid() != 0) {
        skip();
    }

    assert_int_equal(fixture_child(child_look, f), 0);
}


static void
test_root_becomes_owner(void **state)
{
    char        path[300], link[600];
    fixture_t   f, inner;

    (void) state;

    if (geteuid() != 0) {
        skip();
    }

    fixture_directory(&f);
    assert_int_equal(chmod(f.path, 0711), 0);

    inner = f;
    (void) snprintf(path, sizeof(path), "%s/store", f.path);
    inner.options.path = path;

    assert_int_equal(fixture_child(child_init_owned, &inner), 0);
    assert_int_equal(fixture_child(child_drop, &inner), 0);

    /* root does not open what is not root's */

    assert_int_equal(fixture_child(child_open, &inner), -STORE_UNSAFE);

    /* through a link, or with a mode that lets others in, it stays root and
     * does nothing */

    (void) snprintf(link, sizeof(link), "%s/link", f.path);
    assert_int_equal(symlink(path, link), 0);
    inner.options.path = link;
    assert_int_equal(fixture_child(child_drop_unsafe, &inner), 0);

    inner.options.path = path;
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(fixture_child(child_drop_unsafe, &inner), 0);

    (void) strcpy(inner.path, path);
    fixture_remove(&inner);
    fixture_remove(&f);
}


/* What is in a directory is not given away. */
static void
test_init_gives_nothing_away(void **state)
{
    int         fd;
    char        path[600];
    fixture_t   f;

    (void) state;

    if (geteuid() != 0) {
        skip();
    }

    fixture_directory(&f);
    named(&f, "precious", path);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_not_equal(fd, -1);
    (void) close(fd);

    assert_int_equal(store_init(&f.options, 65534, 65534, f.why),
                     STORE_UNSAFE);
    assert_int_equal(geteuid(), 0);

    fixture_remove(&f);
}


static void
test_populate(void **state)
{
    int         rc, i;
    size_t      at;
    uint8_t     id[STORE_USER_BYTES];
    fixture_t  *f = *state;

    fixture_user(f, "ann", id);

    for (at = 0, i = 0, rc = STORE_OK; rc == STORE_OK && i < 100; i++) {
        rc = store_populate(f->store, &at);
    }

    assert_int_equal(rc, STORE_NOT_FOUND);
    assert_true(at >= 4096 * 8);
    assert_true(f->store->map != 0);
}


/* Slots of processes that were killed are taken back. */
static int
child_reader_dies(fixture_t *f)
{
    fixture_open(f);

    return store_ping(f->store) == STORE_OK ? 0 : 1;
}


static void
test_reader_check(void **state)
{
    int         dead;
    fixture_t  *f = *state;

    assert_int_equal(store_reader_check(f->store, &dead), STORE_OK);
    assert_int_equal(dead, 0);

    assert_int_equal(fixture_child(child_reader_dies, f), 0);

    assert_int_equal(store_reader_check(f->store, &dead), STORE_OK);
    assert_int_equal(dead, 1);
}


static void
test_full_reader_table(void **state)
{
    int         i;
    pid_t       pid;
    MDB_txn    *txn;
    fixture_t  *f = *state;

    (void) fflush(NULL);
    pid = fork();
    assert_int_not_equal(pid, -1);

    if (pid == 0) {
        fixture_open(f);

        for (i = 0; i < STORE_READERS_MAX; i++) {
            if (mdb_txn_begin(f->store->sessions->env, NULL, MDB_RDONLY, &txn))
            {
                break;
            }
        }

        _exit(i > STORE_READERS_MAX - 4 ? 0 : 1);
    }

    assert_int_equal(waitpid(pid, &i, 0), pid);
    assert_true(WIFEXITED(i) && WEXITSTATUS(i) == 0);

    assert_int_equal(store_ping(f->store), STORE_OK);
}


#define with_store(test)                                                     \
    cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_init_half_done),
        cmocka_unit_test(test_init_adds_what_is_missing),
        with_store(test_init_while_open),
        with_store(test_unsafe_modes),
        with_store(test_slash_does_not_follow_links),
        with_store(test_not_a_directory),
        with_store(test_other_owner),
        with_store(test_damaged_files),
        cmocka_unit_test(test_room_may_be_cut),
        cmocka_unit_test(test_pages_given_back),
        cmocka_unit_test(test_newer_format),
        with_store(test_map_size_must_agree),
        cmocka_unit_test(test_files_of_two_stores),
        with_store(test_twice_in_a_process),
        cmocka_unit_test(test_default_map),
        with_store(test_wait_for_the_lock),
        with_store(test_owner_elsewhere),
        cmocka_unit_test(test_owner_gone),
        with_store(test_another_namespace),
        cmocka_unit_test(test_many_openers),
        with_store(test_look_without_rights),
        cmocka_unit_test(test_root_becomes_owner),
        cmocka_unit_test(test_init_gives_nothing_away),
        with_store(test_populate),
        with_store(test_reader_check),
        with_store(test_full_reader_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
