#include <errno.h>
#include <unistd.h>

#include "env.h"


/*
 * Compacting: it holds no write lock, wherever fd leads, and leaves freed
 * pages behind, so that no old record is in the copy.
 */
int
store_backup(store_t *store, int events, int fd)
{
    int       rc, dead;
    MDB_env  *env;

    env = events ? store->events->env : store->sessions->env;

    rc = mdb_env_copyfd2(env, fd, MDB_CP_COMPACT);

    if (rc == MDB_READERS_FULL) {

        /* nothing has been written to fd yet but what is written again */

        rc = mdb_reader_check(env, &dead);
        if (rc != 0) {
            return rc;
        }

        rc = mdb_env_copyfd2(env, fd, MDB_CP_COMPACT);
    }

    if (rc != 0) {
        return rc;
    }

    /* a pipe or a terminal cannot be synced */

    if (fsync(fd) == -1 && errno != EINVAL && errno != EROFS) {
        return errno;
    }

    return STORE_OK;
}
