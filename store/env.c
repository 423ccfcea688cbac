#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"


#define STORE_ENV_EMPTY_PAGES  2        /* of meta, and nothing else */


static int store_env_empty(int fd, const struct stat *st);
static int store_env_take(const struct stat *st, size_t map_size,
    store_env_t **env);
static int store_env_create(const struct stat *st, size_t map_size,
    store_env_t **env);
static int store_env_start(store_env_t *env, const char *path);
static int store_env_know(store_env_t *env, const struct stat *st,
    int create);


/* Everything LMDB ever opened here.  Also keeps a failed handle reachable: it
 * is leaked on purpose, since mdb_env_close() is not for us. */
static store_env_t      *store_envs;
static pthread_mutex_t   store_envs_lock = PTHREAD_MUTEX_INITIALIZER;


static const char *const  store_sessions_dbs[] = {
    "meta", "session", "session_by_user", "session_by_expiry", "change",
    "user", "user_by_login"
};

static const char *const  store_events_dbs[] = {
    "meta", "event", "event_by_user", "event_by_time", "event_by_group"
};


int
store_env_open(const store_place_t *place, const char *name, size_t map_size,
    int create, store_env_t **out, char *why)
{
    int           rc, fd;
    char          path[STORE_PATH_MAX + 32];
    struct stat   st;
    store_env_t  *env;

    *out = NULL;

    rc = store_place_file(place, name, create ? O_CREAT : 0, &fd, why);
    if (rc != STORE_OK) {
        return rc;
    }

    if (fstat(fd, &st) == -1) {
        rc = errno;
        store_why(why, place->path, "%s: %s", name, store_strerror(rc));

    } else if (create && store_env_empty(fd, &st)) {

        if (st.st_size && ftruncate(fd, 0) == -1) {
            rc = errno;
            store_why(why, place->path, "%s: %s", name, store_strerror(rc));
        }

    } else {
        rc = store_metapage_check(fd, map_size, place->path, name, why);
    }

    /* closing it drops no lock: LMDB's are on the -lock file */
    (void) close(fd);

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_env_take(&st, map_size, &env);

    if (rc == STORE_BUSY) {
        store_why(why, place->path, "open in this process already");
        return rc;
    }

    if (rc == STORE_NOT_FOUND) {
        rc = store_env_create(&st, map_size, &env);

        if (rc == STORE_OK) {
            (void) snprintf(path, sizeof(path), "%s/%s", place->path, name);
            rc = store_env_start(env, path);
        }
    }

    if (rc == STORE_OK && !env->known) {
        rc = store_env_know(env, &st, create);
    }

    if (rc != STORE_OK) {
        store_why_failed(why, place->path, name, rc);
        return rc;
    }

    *out = env;

    return STORE_OK;
}


/* New, or what an init left that did not get to its first commit. */
static int
store_env_empty(int fd, const struct stat *st)
{
    return st->st_size <= STORE_ENV_EMPTY_PAGES * sysconf(_SC_PAGESIZE)
           && store_metapage_unused(fd);
}


void
store_env_park(store_env_t *env)
{
    if (env) {
        (void) pthread_mutex_lock(&store_envs_lock);
        env->used = 0;
        (void) pthread_mutex_unlock(&store_envs_lock);
    }
}


/* A child of fork() inherits the list, but what is in it is its parent's. */
static int
store_env_take(const struct stat *st, size_t map_size, store_env_t **out)
{
    int           rc;
    store_env_t  *env;

    rc = STORE_NOT_FOUND;

    (void) pthread_mutex_lock(&store_envs_lock);

    for (env = store_envs; env; env = env->next) {

        if (env->dev != st->st_dev || env->ino != st->st_ino
            || env->pid != getpid())
        {
            continue;
        }

        if (env->used || env->map_size != map_size) {
            rc = STORE_BUSY;
            break;
        }

        env->used = 1;
        *out = env;
        rc = STORE_OK;
        break;
    }

    (void) pthread_mutex_unlock(&store_envs_lock);

    return rc;
}


/* Into the list before LMDB sees it, so that whatever happens the handle can
 * be reached and the file is not opened again. */
static int
store_env_create(const struct stat *st, size_t map_size, store_env_t **out)
{
    store_env_t  *env;

    env = calloc(1, sizeof(store_env_t));
    if (env == NULL) {
        return ENOMEM;
    }

    env->dev = st->st_dev;
    env->ino = st->st_ino;
    env->pid = getpid();
    env->map_size = map_size;
    env->used = 1;

    (void) pthread_mutex_lock(&store_envs_lock);
    env->next = store_envs;
    store_envs = env;
    (void) pthread_mutex_unlock(&store_envs_lock);

    *out = env;

    return STORE_OK;
}


/*
 * A failing mdb_env_open() has closed what it opened; what is left is memory.
 * Such an environment gets a device and inode that no file has, so that the
 * next attempt makes a new one.
 */
static int
store_env_start(store_env_t *env, const char *path)
{
    int  rc;

    rc = mdb_env_create(&env->env);
    if (rc != 0) {
        goto failed;
    }

    rc = mdb_env_set_mapsize(env->env, env->map_size);
    if (rc != 0) {
        goto failed;
    }

    rc = mdb_env_set_maxreaders(env->env, STORE_READERS_MAX);
    if (rc != 0) {
        goto failed;
    }

    rc = mdb_env_set_maxdbs(env->env, STORE_DBS_MAX);
    if (rc != 0) {
        goto failed;
    }

    rc = mdb_env_open(env->env, path, MDB_NOSUBDIR | MDB_NOTLS, 0600);
    if (rc != 0) {
        goto failed;
    }

    return STORE_OK;

failed:

    env->dev = 0;
    env->ino = 0;

    return rc;
}


/*
 * What is open now.  Another file than was checked keeps `used` for ever;
 * where it could not be asked, the next attempt asks again.
 *
 * LMDB writes the meta pages of a new file and goes on without a sync.  With
 * one, a file of more than these two pages has them, whenever the power went,
 * and one of no more holds nothing yet.
 */
static int
store_env_know(store_env_t *env, const struct stat *st, int create)
{
    int          rc, fd;
    MDB_stat     stat;
    struct stat  opened;

    fd = -1;
    rc = mdb_env_stat(env->env, &stat);

    if (rc == 0) {
        rc = mdb_env_get_fd(env->env, &fd);
    }

    if (rc == 0 && fstat(fd, &opened) == -1) {
        rc = errno;
    }

    if (rc == 0
        && (opened.st_dev != st->st_dev || opened.st_ino != st->st_ino))
    {
        env->dev = opened.st_dev;
        env->ino = opened.st_ino;
        return STORE_CONFLICT;
    }

    if (rc == 0 && create && fsync(fd) == -1) {
        rc = errno;
    }

    if (rc != 0) {
        store_env_park(env);
        return rc;
    }

    env->page_size = stat.ms_psize;
    env->known = 1;

    return STORE_OK;
}


/*
 * Handles opened in a transaction belong to the environment once that is
 * committed.  Opening them again gives the same.  One that is missing is
 * damage: init commits all of them at once.
 */
int
store_env_databases(store_env_t *env, MDB_txn *txn, int events, int create)
{
    int                 rc;
    unsigned            i;
    const char *const  *names;

    names = events ? store_events_dbs : store_sessions_dbs;

    env->dbs = events ? sizeof(store_events_dbs) / sizeof(names[0])
                      : sizeof(store_sessions_dbs) / sizeof(names[0]);

    for (i = 0; i < env->dbs; i++) {
        rc = mdb_dbi_open(txn, names[i], create ? MDB_CREATE : 0, &env->db[i]);

        if (rc == MDB_NOTFOUND) {
            return STORE_CORRUPT;
        }

        if (rc != 0) {
            return rc;
        }
    }

    return STORE_OK;
}
