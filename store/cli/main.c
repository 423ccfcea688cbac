#include <string.h>
#include <sys/resource.h>

#include "cli.h"
#include "options.h"
#include "output.h"


static const char  cli_help_head[] =
    "usage: sessionctl [OPTIONS] COMMAND ...\n"
    "\n"
    "Looks after the store and the keys file of ngx_session, also while nginx\n"
    "runs.  sessionctl COMMAND -h tells more.\n"
    "\n"
    "commands:\n";

static const char  cli_help_tail[] =
    "\n"
    "options:\n"
    "  --store PATH  the store; else $SESSION_STORE, else\n"
    "                /var/lib/nginx/session\n"
    "  --realm NAME  the realm of users and sessions (default)\n"
    "  --json        results as JSON, times as seconds since the epoch\n"
    "  --progress    counts on stderr also when that is no terminal\n"
    "  -h, --help    this text, or that of a command\n"
    "\n"
    "exit codes:\n"
    "  0  done\n"
    "  1  refused or failed\n"
    "  2  the command line is wrong\n"
    "  3  there is no such user, session or key\n"
    "  4  the store is missing, unsafe, busy or of a newer format\n"
    "  5  check or dump has met damaged records\n";


static const cli_command_t  cli_commands[] = {

    { "init", "make a store", cli_init, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON, cli_init_help },

    { "key", "make and rotate the secrets of a keys file", NULL,
      cli_key_commands, 0, NULL },

    { "user", "add, change, list and delete users", NULL,
      cli_user_commands, 0, NULL },

    { "session", "list and revoke sessions", NULL,
      cli_session_commands, 0, NULL },

    { "why", "why somebody is let in or not", cli_why, NULL,
      CLI_TAKES_STORE|CLI_TAKES_REALM|CLI_TAKES_JSON, cli_why_help },

    { "templates", "write the built-in pages into a directory",
      cli_templates, NULL, CLI_TAKES_JSON, cli_templates_help },

    { "stat", "sizes and counts of the store", cli_stat, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON, cli_stat_help },

    { "check", "verify every record and index", cli_check, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON|CLI_TAKES_PROGRESS, cli_check_help },

    { "sweep", "remove what has expired", cli_sweep, NULL,
      CLI_TAKES_STORE|CLI_TAKES_JSON|CLI_TAKES_PROGRESS, cli_sweep_help },

    { "dump", "write everything as JSON lines", cli_dump, NULL,
      CLI_TAKES_STORE|CLI_TAKES_PROGRESS, cli_dump_help },

    { "restore", "read a dump into an empty store", cli_restore, NULL,
      CLI_TAKES_STORE|CLI_TAKES_PROGRESS, cli_restore_help },

    { "backup", "copy the store into a file", cli_backup, NULL,
      CLI_TAKES_STORE|CLI_TAKES_PROGRESS, cli_backup_help },

    { NULL, NULL, NULL, NULL, 0, NULL }
};


static int cli_main(cli_t *cli, int argc, char **argv);
static int cli_dispatch(cli_t *cli, const cli_command_t *commands, int argc,
    char **argv);
static int cli_help_asked(int argc, char **argv);
static int cli_help(const cli_t *cli, const cli_command_t *commands);


int
main(int argc, char **argv)
{
    int    rc, err;
    cli_t  cli;

    static const struct rlimit  none = { 0, 0 };

    memset(&cli, 0, sizeof(cli));

    /* passwords and their hashes pass through here */
    (void) setrlimit(RLIMIT_CORE, &none);

    if (store_realm_set(&cli.realm, "default", sizeof("default") - 1)
        != STORE_OK)
    {
        return CLI_FAILED;
    }

    rc = cli_main(&cli, argc - 1, argv + 1);

    err = cli_output_end();

    if (err) {
        cli_error("stdout could not be written: %s", store_strerror(err));
        return rc == CLI_OK ? CLI_FAILED : rc;
    }

    return rc;
}


static int
cli_main(cli_t *cli, int argc, char **argv)
{
    int  n, help;

    n = cli_options_leading(cli, argc, argv, &help);

    if (n < 0) {
        return CLI_USAGE;
    }

    if (help) {
        return cli_help(cli, cli_commands);
    }

    return cli_dispatch(cli, cli_commands, argc - n, argv + n);
}


static int
cli_dispatch(cli_t *cli, const cli_command_t *commands, int argc,
    char **argv)
{
    const cli_command_t  *command;

    if (argc == 0) {
        return cli_usage(cli, "a command is missing");
    }

    if (cli_help_asked(1, argv)) {
        return cli_help(cli, commands);
    }

    for (command = commands; command->name; command++) {
        if (strcmp(command->name, argv[0]) == 0) {
            break;
        }
    }

    if (command->name == NULL) {
        return cli_usage(cli, "there is no command \"%s\"", argv[0]);
    }

    if (command->sub) {
        cli->noun = command;
        return cli_dispatch(cli, command->sub, argc - 1, argv + 1);
    }

    cli->command = command;

    if (cli_help_asked(argc - 1, argv + 1)) {
        (void) fputs(command->help, stdout);
        return CLI_OK;
    }

    return command->run(cli, argc - 1, argv + 1);
}


static int
cli_help_asked(int argc, char **argv)
{
    int  i;

    for (i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            return 1;
        }
    }

    return 0;
}


static int
cli_help(const cli_t *cli, const cli_command_t *commands)
{
    const cli_command_t  *command;

    if (cli->noun) {
        (void) printf("usage: sessionctl %s COMMAND ...\n\ncommands:\n",
                      cli->noun->name);

    } else {
        (void) fputs(cli_help_head, stdout);
    }

    for (command = commands; command->name; command++) {
        (void) printf("  %-9s  %s\n", command->name, command->summary);
    }

    if (cli->noun == NULL) {
        (void) fputs(cli_help_tail, stdout);
    }

    return CLI_OK;
}
