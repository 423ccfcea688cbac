#include <errno.h>
#include <unistd.h>

#include "env.h"


int
store_watch(store_t *store)
{
    return store_owner_holds(&store->owner, store->path) ? STORE_OK
                                                         : STORE_REPLACED;
}


store_lost_t
store_lost(store_t *store, int rc)
{
    switch (rc) {

    case ENOTRECOVERABLE:

        /*
         * LMDB makes the lock anew when it opens the lock file and nobody
         * else has it open.  An empty owner file says so to all; where it
         * cannot be emptied they find out by their own next change.
         */

        rc = ftruncate(store->owner.fd, 0);
        (void) rc;

        return STORE_LOST_ALL;

    case MDB_PANIC:
    case MDB_BAD_RSLOT:

        /* an environment that had it has it in every transaction */

        return store_ping(store) == STORE_OK ? STORE_LOST_EVENTS
                                             : STORE_LOST_ALL;

    case STORE_REPLACED:
        return STORE_LOST_ALL;

    default:
        return STORE_LOST_NOT;
    }
}
