#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open.h"


static int store_init_directory(const store_place_t *place, uid_t uid,
    gid_t gid, char *why);
static int store_init_above(const store_place_t *place, int dir);
static int store_init_own(const store_place_t *place, int dir, int fresh,
    uid_t uid, gid_t gid, char *why);
static int store_init_empty(int dir);
static int store_init_there(const store_place_t *place, char *why);
static int store_init_has(const store_place_t *place, const char *name,
    off_t size);
static int store_init_owner(const store_place_t *place, store_owner_t *owner,
    int *there, char *why);
static int store_init_files(const store_place_t *place, int there,
    size_t map_size, char *why);
static int store_init_filled(store_env_t *env);
static int store_init_meta(store_env_t *sessions, store_env_t *events);
static int store_init_put(MDB_txn *txn, const store_env_t *env,
    const uint8_t id[STORE_STORE_ID_BYTES]);
static int store_init_id(MDB_txn *txn, const store_env_t *env,
    uint8_t id[STORE_STORE_ID_BYTES]);


/*
 * Whatever is missing is made; nothing that was committed is ever removed or
 * overwritten.  So init that was killed half-way, or whose machine lost power,
 * goes on where it stopped, and a backup copied into an empty directory gets
 * the files around it.
 */
int
store_init(const store_options_t *options, uid_t uid, gid_t gid,
    char why[STORE_WHY_CHARS])
{
    int            rc, lock, there;
    size_t         map_size;
    store_place_t  place;
    store_owner_t  owner;

    why[0] = '\0';
    map_size = options->map_size ? options->map_size : STORE_MAP_SIZE;

    rc = store_place_path(&place, options->path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_init_directory(&place, uid, gid, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_open(&place, options->path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_place_enter(&place, O_CREAT, options->wait_ms, &lock, why);
    if (rc != STORE_OK) {
        goto done;
    }

    rc = store_init_owner(&place, &owner, &there, why);

    if (rc == STORE_OK) {
        rc = store_owner_settle(&place, why);

        if (rc == STORE_OK) {
            rc = store_init_files(&place, there, map_size, why);
        }

        (void) close(owner.fd);
    }

    (void) close(lock);

done:

    store_place_close(&place);

    return rc;
}


/* Alone, or not at all: others may still use a file that was unlinked. */
static int
store_init_owner(const store_place_t *place, store_owner_t *owner, int *there,
    char *why)
{
    int  rc;

    *there = store_init_has(place, STORE_FILE_OWNER, 0);

    if (!*there) {
        rc = store_owner_create(place, why);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    rc = store_owner_claim(place, owner, why);

    if (rc == STORE_BUSY && store_init_has(place, STORE_FILE_SESSIONS, 1)
        && store_init_has(place, STORE_FILE_EVENTS, 1))
    {
        return store_init_there(place, why);
    }

    return rc;
}


static int
store_init_there(const store_place_t *place, char *why)
{
    store_why(why, place->path, "there is a store already");

    return STORE_EXISTS;
}


static int
store_init_has(const store_place_t *place, const char *name, off_t size)
{
    struct stat  st;

    return fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
           && st.st_size >= size;
}


static int
store_init_directory(const store_place_t *place, uid_t uid, gid_t gid,
    char *why)
{
    int  rc, dir, fresh;

    if (geteuid() != 0 && uid != (uid_t) -1 && uid != geteuid()) {
        store_why(why, place->path, "only root can make it for uid %u",
                  (unsigned) uid);
        return EPERM;
    }

    fresh = mkdir(place->path, 0700) == 0;

    if (!fresh && errno != EEXIST) {
        rc = errno;
        store_why(why, place->path, "%s", store_strerror(rc));
        return rc;
    }

    dir = open(place->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir == -1) {
        rc = errno;
        store_why(why, place->path, "%s", store_strerror(rc));
        return rc == ENOTDIR || rc == ELOOP ? STORE_UNSAFE : rc;
    }

    rc = store_init_above(place, dir);

    if (rc != STORE_OK) {
        store_why(why, place->path, "the directory above: %s",
                  store_strerror(rc));

    } else {
        rc = store_init_own(place, dir, fresh, uid, gid, why);
    }

    (void) close(dir);

    return rc;
}


/*
 * The name of a new directory stands in the one above, and a machine that
 * loses power may forget it with all that is in it.  One that an earlier init
 * made may not be there for good either.  Where the one above may not be
 * opened, its whole file system is synced.
 */
static int
store_init_above(const store_place_t *place, int dir)
{
    int     rc, fd;
    char    above[STORE_PATH_MAX + 1];
    char   *slash;

    memcpy(above, place->path, strlen(place->path) + 1);
    slash = strrchr(above, '/');

    if (slash == NULL) {
        memcpy(above, ".", 2);

    } else {
        slash[slash == above] = '\0';
    }

    fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd == -1) {
        return syncfs(dir) == -1 ? errno : STORE_OK;
    }

    rc = fsync(fd) == -1 ? errno : STORE_OK;

    (void) close(fd);

    /* some file systems cannot */

    return rc == EINVAL || rc == EROFS ? STORE_OK : rc;
}


/*
 * Only a directory that was just made, or is empty (a fresh volume), gets
 * another owner or mode: whatever is in another one is not ours to give away.
 * Without a uid root becomes whoever owns the directory.
 */
static int
store_init_own(const store_place_t *place, int dir, int fresh, uid_t uid,
    gid_t gid, char *why)
{
    int          rc;
    struct stat  st;

    if (fresh || store_init_empty(dir)) {

        if ((uid != (uid_t) -1 || gid != (gid_t) -1)
            && fchown(dir, uid, gid) == -1)
        {
            rc = errno;
            store_why(why, place->path, "cannot give it to uid %d, gid %d: %s",
                      (int) uid, (int) gid, store_strerror(rc));
            return rc;
        }

        if (fchmod(dir, 0700) == -1) {
            rc = errno;
            store_why(why, place->path, "%s", store_strerror(rc));
            return rc;
        }
    }

    if (fstat(dir, &st) == -1) {
        rc = errno;
        store_why(why, place->path, "%s", store_strerror(rc));
        return rc;
    }

    if (uid != (uid_t) -1 && st.st_uid != uid) {
        store_why(why, place->path, "not empty, and belongs to uid %u",
                  (unsigned) st.st_uid);
        return STORE_UNSAFE;
    }

    if (geteuid() != 0) {
        return STORE_OK;
    }

    rc = store_privileges_drop(st.st_uid, st.st_gid);

    if (rc != STORE_OK) {
        store_why(why, place->path, "cannot become its owner, uid %u: %s",
                  (unsigned) st.st_uid, store_strerror(rc));
    }

    return rc;
}


static int
store_init_empty(int dir)
{
    int             fd, empty;
    DIR            *d;
    struct dirent  *entry;

    fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        return 0;
    }

    d = fdopendir(fd);
    if (d == NULL) {
        (void) close(fd);
        return 0;
    }

    empty = 1;

    while (empty && (entry = readdir(d)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0
                || strcmp(entry->d_name, "..") == 0;
    }

    (void) closedir(d);

    return empty;
}


/* there: with an owner file, so not copies that came alone. */
static int
store_init_files(const store_place_t *place, int there, size_t map_size,
    char *why)
{
    int           rc;
    store_env_t  *sessions, *events;

    events = NULL;

    rc = store_env_open(place, STORE_FILE_SESSIONS, map_size, 1, &sessions,
                        why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_open(place, STORE_FILE_EVENTS, map_size, 1, &events, why);
    if (rc != STORE_OK) {
        goto done;
    }

    if (there) {
        rc = store_init_filled(sessions);

        if (rc == STORE_EXISTS) {
            rc = store_init_filled(events);
        }

        if (rc == STORE_EXISTS) {
            rc = store_init_there(place, why);
            goto done;
        }
    }

    if (rc == STORE_OK) {
        rc = store_init_meta(sessions, events);
    }

    if (rc == STORE_OK && fsync(place->dir) == -1) {
        rc = errno;
    }

    if (rc != STORE_OK) {
        store_why(why, place->path, "%s", store_strerror(rc));
    }

done:

    store_env_park(sessions);
    store_env_park(events);

    return rc;
}


/* STORE_EXISTS when there are databases in it: they come all at once. */
static int
store_init_filled(store_env_t *env)
{
    int       rc;
    MDB_dbi   names;
    MDB_txn  *txn;
    MDB_stat  stat;

    rc = store_read_new(env, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = mdb_dbi_open(txn, NULL, 0, &names);

    if (rc == 0) {
        rc = mdb_stat(txn, names, &stat);
    }

    mdb_txn_abort(txn);

    if (rc != 0) {
        return rc;
    }

    return stat.ms_entries ? STORE_EXISTS : STORE_OK;
}


/* Both write transactions at once, so that both files get the same id even if
 * one of them has had it for long. */
static int
store_init_meta(store_env_t *sessions, store_env_t *events)
{
    int       rc;
    uint8_t   id[STORE_STORE_ID_BYTES];
    MDB_txn  *txn, *events_txn;

    events_txn = NULL;

    rc = store_write_begin(sessions, &txn);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_write_begin(events, &events_txn);
    if (rc != STORE_OK) {
        events_txn = NULL;
        goto failed;
    }

    rc = store_env_databases(sessions, txn, 0, 1);

    if (rc == STORE_OK) {
        rc = store_env_databases(events, events_txn, 1, 1);
    }

    if (rc == STORE_OK) {
        rc = store_init_id(txn, sessions, id);
    }

    if (rc == STORE_NOT_FOUND) {
        rc = store_init_id(events_txn, events, id);
    }

    if (rc == STORE_NOT_FOUND) {
        rc = store_random(id, sizeof(id));
    }

    if (rc == STORE_OK) {
        rc = store_init_put(txn, sessions, id);
    }

    if (rc == STORE_OK) {
        rc = store_init_put(events_txn, events, id);
    }

    if (rc != STORE_OK) {
        goto failed;
    }

    rc = mdb_txn_commit(events_txn);
    events_txn = NULL;

    if (rc != 0) {
        goto failed;
    }

    return mdb_txn_commit(txn);

failed:

    if (events_txn) {
        mdb_txn_abort(events_txn);
    }

    mdb_txn_abort(txn);

    return rc;
}


static int
store_init_id(MDB_txn *txn, const store_env_t *env,
    uint8_t id[STORE_STORE_ID_BYTES])
{
    int      rc;
    MDB_val  value;

    rc = store_db_get(txn, env->db[STORE_META], "store", 5, &value);
    if (rc != STORE_OK) {
        return rc;
    }

    if (value.mv_size != STORE_STORE_ID_BYTES) {
        return STORE_CORRUPT;
    }

    memcpy(id, value.mv_data, STORE_STORE_ID_BYTES);

    return STORE_OK;
}


static int
store_init_put(MDB_txn *txn, const store_env_t *env,
    const uint8_t id[STORE_STORE_ID_BYTES])
{
    int  rc;

    rc = store_db_put(txn, env->db[STORE_META], "format", 6,
                      STORE_FORMAT_BYTES, 4, MDB_NOOVERWRITE);
    if (rc != 0 && rc != MDB_KEYEXIST) {
        return rc;
    }

    rc = store_db_put(txn, env->db[STORE_META], "store", 5, id,
                      STORE_STORE_ID_BYTES, MDB_NOOVERWRITE);

    return rc == MDB_KEYEXIST ? STORE_OK : rc;
}
