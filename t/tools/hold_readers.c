/*
 * hold_readers.c: takes all reader slots of a database that are free or of dead
 * processes, says how many on stdout, and holds them until it is killed.
 *
 *   hold_readers sessions.v1.mdb
 */

#include <stdio.h>
#include <unistd.h>

#include "env.h"


int
main(int argc, char **argv)
{
    int       n, dead;
    MDB_env  *env;
    MDB_txn  *txn;

    if (argc != 2 || mdb_env_create(&env) != 0
        || mdb_env_set_maxreaders(env, 1022) != 0
        || mdb_env_open(env, argv[1], MDB_NOSUBDIR | MDB_NOTLS | MDB_RDONLY,
                        0600)
           != 0
        || mdb_reader_check(env, &dead) != 0)
    {
        return 1;
    }

    for (n = 0; mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0; n++) {
        /* void */
    }

    printf("%d\n", n);
    fflush(stdout);

    for ( ;; ) {
        pause();
    }
}
