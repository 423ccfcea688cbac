/*
 * options.h: what stands on the command line.  Long options only, `--name
 * VALUE` or `--name=VALUE`, before or behind the words; `--` ends them.
 */

#ifndef CLI_OPTIONS_H_INCLUDED
#define CLI_OPTIONS_H_INCLUDED


#include "cli.h"


#define CLI_WORDS_MAX  4

typedef enum {
    CLI_FLAG = 0,               /* int, becomes 1 */
    CLI_TEXT,                   /* const char * */
    CLI_NUMBER,                 /* uint32_t */
    CLI_DURATION                /* int64_t, seconds */
} cli_kind_t;

typedef struct {
    const char  *name;          /* without the dashes; NULL ends a table */
    cli_kind_t   kind;
    void        *value;
} cli_option_t;


/*
 * Takes the common options at the start of argv and returns how many
 * elements they are, or -1 after a message.  *help is set by -h.
 */
int cli_options_leading(cli_t *cli, int argc, char **argv, int *help);

/*
 * Reads all that is left: `options` (NULL: none of its own) and the common
 * ones the command takes.  `form` names the words, "LOGIN [ROLES]"; those
 * missing are NULL in words.  CLI_OK, or CLI_USAGE after a message.
 */
int cli_options(cli_t *cli, int argc, char **argv,
    const cli_option_t *options, const char *form,
    const char *words[CLI_WORDS_MAX]);

/* A message about the command line; returns CLI_USAGE. */
int cli_usage(const cli_t *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));


#endif /* CLI_OPTIONS_H_INCLUDED */
