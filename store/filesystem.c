#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

#include "place.h"


/*
 * LMDB shares memory and locks through its files, which works in one kernel
 * only.  A file system that is known to be another machine's is refused; what
 * may be one, or goes with what it lies on, is remarked upon.  The numbers are
 * the kernel's (statfs(2)); linux/magic.h has only some of them.
 */

#define STORE_FS_UNKNOWN  "on fuse, which does not tell what is behind it: a" \
                          " store needs a local file system"
#define STORE_FS_HOST     "in a folder of a host: a store needs a local file" \
                          " system, and nothing outside may open it"
#define STORE_FS_IMAGE    "on the file system of a container, and goes with" \
                          " it; put the store on a volume"
#define STORE_FS_MEMORY   "in memory: users and sessions are gone when the" \
                          " machine stops"


typedef struct {
    unsigned long   type;
    const char     *name;
    const char     *remark;     /* NULL: refused */
} store_filesystem_t;


static const store_filesystem_t  store_filesystems[] = {
    { 0x00006969, "nfs", NULL },
    { 0x0000517b, "smb", NULL },
    { 0xff534d42, "cifs", NULL },
    { 0xfe534d42, "smb2", NULL },
    { 0x5346414f, "afs", NULL },
    { 0x6b414653, "afs", NULL },
    { 0x00c36400, "ceph", NULL },
    { 0x73757245, "coda", NULL },
    { 0x0000564c, "ncp", NULL },
    { 0x0bd00bd0, "lustre", NULL },
    { 0x19830326, "beegfs", NULL },
    { 0x65735546, "fuse", STORE_FS_UNKNOWN },
    { 0x01021997, "9p", STORE_FS_HOST },
    { 0x786f4256, "vboxsf", STORE_FS_HOST },
    { 0xbacbacbc, "vmhgfs", STORE_FS_HOST },
    { 0x7c7c6673, "prl_fs", STORE_FS_HOST },
    { 0x794c7630, "overlay", STORE_FS_IMAGE },
    { 0x61756673, "aufs", STORE_FS_IMAGE },
    { 0x01021994, "tmpfs", STORE_FS_MEMORY },
    { 0x858458f6, "ramfs", STORE_FS_MEMORY }
};


static const store_filesystem_t *store_filesystem_known(
    const struct statfs *fs);


int
store_filesystem_check(const char *path, int dir, char *why)
{
    int                        rc;
    struct statfs              fs;
    const store_filesystem_t  *known;

    if ((dir == -1 ? statfs(path, &fs) : fstatfs(dir, &fs)) == -1) {
        rc = errno;
        store_why(why, path, "%s", store_strerror(rc));
        return rc;
    }

    known = store_filesystem_known(&fs);

    if (known && known->remark == NULL) {
        store_why(why, path, "on a network file system (%s); a store needs a"
                  " local one", known->name);
        return STORE_UNSAFE;
    }

    return STORE_OK;
}


int
store_remark(const char *path, char why[STORE_WHY_CHARS])
{
    struct statfs              fs;
    const store_filesystem_t  *known;

    why[0] = '\0';

    if (statfs(path, &fs) == -1) {
        return 0;
    }

    known = store_filesystem_known(&fs);

    if (known == NULL || known->remark == NULL) {
        return 0;
    }

    store_why(why, path, "%s", known->remark);

    return 1;
}


static const store_filesystem_t *
store_filesystem_known(const struct statfs *fs)
{
    size_t         i;
    unsigned long  type;

    type = (unsigned long) fs->f_type & 0xffffffff;

    for (i = 0; i < sizeof(store_filesystems) / sizeof(store_filesystems[0]);
         i++)
    {
        if (store_filesystems[i].type == type) {
            return &store_filesystems[i];
        }
    }

    return NULL;
}
