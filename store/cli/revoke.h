/*
 * revoke.h: `session revoke`, which has a file of its own.
 */

#ifndef CLI_REVOKE_H_INCLUDED
#define CLI_REVOKE_H_INCLUDED


#include "cli.h"


int cli_session_revoke(cli_t *cli, int argc, char **argv);

extern const char  cli_session_revoke_help[];


#endif /* CLI_REVOKE_H_INCLUDED */
