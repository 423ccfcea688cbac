#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"


/*
 * sessionctl as root becomes the owner of the store before it opens anything
 * in it: what the owner may have planted there cannot use root's rights.
 */
int
store_drop_to_owner(const char *path, char why[STORE_WHY_CHARS])
{
    int            rc;
    struct stat    st;
    store_place_t  place;

    if (geteuid() != 0) {
        return STORE_OK;
    }

    rc = store_place_directory(&place, path, &st, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_privileges_drop(st.st_uid, st.st_gid);

    if (rc != STORE_OK) {
        store_why(why, place.path, "cannot become its owner, uid %u: %s",
                  (unsigned) st.st_uid, store_strerror(rc));
    }

    store_place_close(&place);

    return rc;
}


int
store_privileges_drop(uid_t uid, gid_t gid)
{
    uid_t  real, effective, saved;

    if (uid == 0) {
        return STORE_OK;
    }

    if (setgroups(0, NULL) == -1 || setresgid(gid, gid, gid) == -1
        || setresuid(uid, uid, uid) == -1)
    {
        return errno;
    }

    if (getresuid(&real, &effective, &saved) == -1) {
        return errno;
    }

    if (real != uid || effective != uid || saved != uid || setuid(0) == 0) {
        return EPERM;
    }

    return STORE_OK;
}
