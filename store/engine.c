/*
 * engine.c: which database library is loaded, and how its files are laid out.
 */

#include "engine.h"
#include "limits.h"

#include <stddef.h>

#include <lmdb.h>


/* Asked at run time: what is loaded may be newer than what was built with. */
const char *
store_engine(void)
{
    return mdb_version(NULL, NULL, NULL);
}


unsigned
store_format(void)
{
    return STORE_FORMAT;
}
