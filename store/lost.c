#include <errno.h>
#include <unistd.h>

#include "env.h"


int
store_watch(store_t *store)
{
    return store_owner_holds(&store->owner, store->path) ? STORE_OK
                                                         : STORE_REPLACED;
}


int
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

        return 1;

    case MDB_PANIC:
    case MDB_BAD_RSLOT:
    case STORE_REPLACED:
        return 1;

    default:
        return 0;
    }
}
