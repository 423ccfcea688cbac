/*
 * cli.h: what the commands of sessionctl share.  sessionctl is built only on
 * store.h and on the embedded templates; it has one thread.
 *
 * A command is one static function in the file of its noun and one line in
 * that file's table.  Adding one: the function, the line with its help, the
 * same text in docs/cli.md (t/cli_docs.t compares) and a test in t/cli.t.
 */

#ifndef CLI_H_INCLUDED
#define CLI_H_INCLUDED


#include "store.h"


#define CLI_STORE_DEFAULT  "/var/lib/nginx/session"

typedef enum {
    CLI_OK = 0,
    CLI_FAILED = 1,             /* refused or failed */
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,          /* no such user, session or key */
    CLI_STORE = 4,              /* the store is missing, unsafe or busy */
    CLI_PROBLEMS = 5            /* check or dump met damage */
} cli_exit_t;

/* Common options a command takes. */
#define CLI_TAKES_STORE     0x01
#define CLI_TAKES_REALM     0x02
#define CLI_TAKES_JSON      0x04
#define CLI_TAKES_PROGRESS  0x08

typedef struct cli_command_s  cli_command_t;

typedef struct {
    const cli_command_t  *command;
    const cli_command_t  *noun;         /* NULL: the command has none */
    const char           *store;        /* --store, else NULL */
    store_realm_t         realm;
    unsigned              given;        /* CLI_TAKES_* that were given */
    unsigned              json:1;
    unsigned              progress:1;
} cli_t;

/* argv holds what stands behind the command's name. */
typedef int (*cli_run_pt)(cli_t *cli, int argc, char **argv);

struct cli_command_s {
    const char           *name;         /* NULL ends a table */
    const char           *summary;
    cli_run_pt            run;
    const cli_command_t  *sub;          /* of a noun, which has no run */
    unsigned              takes;
    const char           *help;         /* of a command: all of -h */
};


extern const cli_command_t  cli_key_commands[];
extern const cli_command_t  cli_user_commands[];
extern const cli_command_t  cli_session_commands[];

int cli_init(cli_t *cli, int argc, char **argv);
int cli_why(cli_t *cli, int argc, char **argv);
int cli_templates(cli_t *cli, int argc, char **argv);
int cli_stat(cli_t *cli, int argc, char **argv);
int cli_check(cli_t *cli, int argc, char **argv);
int cli_sweep(cli_t *cli, int argc, char **argv);
int cli_dump(cli_t *cli, int argc, char **argv);
int cli_restore(cli_t *cli, int argc, char **argv);
int cli_backup(cli_t *cli, int argc, char **argv);

extern const char  cli_init_help[];
extern const char  cli_why_help[];
extern const char  cli_templates_help[];
extern const char  cli_stat_help[];
extern const char  cli_check_help[];
extern const char  cli_sweep_help[];
extern const char  cli_dump_help[];
extern const char  cli_restore_help[];
extern const char  cli_backup_help[];


#endif /* CLI_H_INCLUDED */
