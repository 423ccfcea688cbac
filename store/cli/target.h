/*
 * target.h: a new file that appears when it is complete.
 */

#ifndef CLI_TARGET_H_INCLUDED
#define CLI_TARGET_H_INCLUDED


#include "cli.h"


/* as Linux bounds a path, NUL included */
#define CLI_TARGET_CHARS  4096

typedef struct {
    int          fd;
    const char  *file;
    char         temp[CLI_TARGET_CHARS];
} cli_target_t;


/* Opens a file of mode 0600 beside `file`.  CLI_OK, or CLI_FAILED after a
 * message, also when `file` is there already. */
int cli_target_open(cli_target_t *target, const char *file);

/*
 * With CLI_OK syncs the file and gives it its name, never over another one;
 * with anything else removes it.  Returns rc, or CLI_FAILED after a message.
 */
int cli_target_close(cli_target_t *target, int rc);


#endif /* CLI_TARGET_H_INCLUDED */
