/*
 * small_map: for LD_PRELOAD.  A store's map is 64 GiB of addresses, twice,
 * which is more than valgrind has.  A process that only adds a little to a
 * small store can do with less: LMDB keeps the size that the file says.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stddef.h>


#define SMALL_MAP_SIZE  ((size_t) 1 << 30)


int  mdb_env_set_mapsize(void *env, size_t size);


int
mdb_env_set_mapsize(void *env, size_t size)
{
    int  (*next)(void *env, size_t size);

    next = (int (*)(void *, size_t)) dlsym(RTLD_NEXT, "mdb_env_set_mapsize");

    return next(env, size < SMALL_MAP_SIZE ? size : SMALL_MAP_SIZE);
}
