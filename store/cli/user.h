/*
 * user.h: the commands of `user` that set a password, which have a file of
 * their own.
 */

#ifndef CLI_USER_H_INCLUDED
#define CLI_USER_H_INCLUDED


#include "ask.h"


int cli_user_add(cli_t *cli, int argc, char **argv);
int cli_user_passwd(cli_t *cli, int argc, char **argv);

extern const char  cli_user_add_help[];
extern const char  cli_user_passwd_help[];

/* Applies one operation on a user and tells what became of it; `did` is for
 * "user "x" in realm "y" DID".  ask may be NULL. */
int cli_user_change(const cli_t *cli, store_t *store, store_op_t *op,
    const char *login, const char *did, const cli_ask_t *ask);


#endif /* CLI_USER_H_INCLUDED */
