/*
 * ask.h: passwords come from the terminal, one line of stdin or the random
 * generator, and never from the command line, which every user can read.
 */

#ifndef CLI_ASK_H_INCLUDED
#define CLI_ASK_H_INCLUDED


#include "cli.h"


#define CLI_PASSWORD_MIN      15
#define CLI_PASSWORD_MIN_MIN  8

typedef struct {
    int       generate;
    int       from_stdin;
    uint32_t  min;              /* characters */
    char      generated[STORE_GENERATED_CHARS + 1];
} cli_ask_t;


/* CLI_OK, or CLI_USAGE after a message about options that do not go
 * together. */
int cli_ask_check(const cli_t *cli, const cli_ask_t *ask);

/*
 * Gets the password and hashes it.  With generate, it stands in
 * ask->generated, which the caller shows once and wipes.  CLI_OK, or
 * CLI_FAILED after a message.
 */
int cli_ask(const char *login, cli_ask_t *ask, store_phc_t *phc);


#endif /* CLI_ASK_H_INCLUDED */
