#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "cli.h"
#include "options.h"
#include "output.h"
#include "target.h"


const char  cli_dump_help[] =
    "usage: sessionctl dump [FILE] [--store PATH] [--progress]\n"
    "\n"
    "Writes users, sessions and events as JSON lines to a new file of mode\n"
    "0600, or to stdout.  It is the way between versions of the store's\n"
    "format and holds password hashes, so stdout must not be a terminal.\n"
    "Records that are damaged are left out; then the exit code is 5.\n";

const char  cli_restore_help[] =
    "usage: sessionctl restore [FILE] [--sessions] [--store PATH]\n"
    "                          [--progress]\n"
    "\n"
    "Reads a dump from FILE or stdin into a store that init has made, that\n"
    "holds no users and that nobody has open.  All or nothing.\n"
    "\n"
    "  --sessions  live sessions as well; without it everybody signs in\n"
    "              again, and sessions revoked since do not come back\n";

const char  cli_backup_help[] =
    "usage: sessionctl backup FILE [--events] [--store PATH] [--progress]\n"
    "\n"
    "Copies the users and sessions, compacted and as of one moment, into a\n"
    "new file of mode 0600, also while nginx runs.  FILE appears when the\n"
    "copy is complete and on the disk; a file that is there is never\n"
    "overwritten.\n"
    "\n"
    "  --events  the events instead of the users and sessions\n";


/* What a child process needs that copies out of the store. */
typedef struct {
    int             fd;
    int             events;     /* of backup */
    cli_progress_t  progress;   /* of backup, which tells none itself */
} cli_copy_t;


static int cli_dump_child(const cli_t *cli, void *data);
static int cli_dump_to(const cli_t *cli, FILE *out);
static int cli_backup_child(const cli_t *cli, void *data);
static void cli_backup_tick(void *data);
static int cli_copy_to(const cli_t *cli, const char *file, cli_child_pt run,
    cli_tick_pt tick, cli_copy_t *copy);
static int cli_restore_from(const cli_t *cli, FILE *in, unsigned flags);


int
cli_dump(cli_t *cli, int argc, char **argv)
{
    int          rc;
    cli_copy_t   copy;
    const char  *words[CLI_WORDS_MAX];

    rc = cli_options(cli, argc, argv, NULL, "[FILE]", words);

    if (rc != CLI_OK) {
        return rc;
    }

    if (words[0]) {
        return cli_copy_to(cli, words[0], cli_dump_child, NULL, &copy);
    }

    if (isatty(STDOUT_FILENO)) {
        cli_error("a dump holds password hashes and is not shown on a "
                  "terminal; name a FILE");
        return CLI_FAILED;
    }

    return cli_dump_to(cli, stdout);
}


static int
cli_dump_child(const cli_t *cli, void *data)
{
    int          rc;
    FILE        *out;
    cli_copy_t  *copy;

    copy = data;

    out = fdopen(copy->fd, "w");

    if (out == NULL) {
        return cli_refuse(errno, "dump");
    }

    rc = cli_dump_to(cli, out);

    if (fclose(out) == EOF && rc == CLI_OK) {
        rc = cli_refuse(errno, "the dump could not be written");
    }

    return rc;
}


static int
cli_dump_to(const cli_t *cli, FILE *out)
{
    int              rc;
    store_t         *store;
    cli_progress_t   progress;

    rc = cli_store_open(cli, &store);

    if (rc != CLI_OK) {
        return rc;
    }

    cli_progress_begin(&progress, cli, "dump, rows:");

    rc = store_dump(store, out, cli_progress_show, &progress);

    if (progress.shown) {
        (void) fputc('\n', stderr);
    }

    if (rc != STORE_OK && rc != STORE_CORRUPT) {
        return cli_refuse(rc, "dump of store \"%s\"", cli_store_path(cli));
    }

    if (fflush(out) == EOF || ferror(out)) {
        return cli_refuse(errno, "the dump could not be written");
    }

    if (rc == STORE_CORRUPT) {
        cli_error("dump of store \"%s\": damaged records are left out; "
                  "sessionctl check tells which", cli_store_path(cli));
        return CLI_PROBLEMS;
    }

    return CLI_OK;
}


int
cli_backup(cli_t *cli, int argc, char **argv)
{
    int          rc;
    cli_copy_t   copy;
    const char  *words[CLI_WORDS_MAX];

    const cli_option_t  own[] = {
        { "events", CLI_FLAG, &copy.events },
        { NULL, CLI_FLAG, NULL }
    };

    copy.events = 0;

    rc = cli_options(cli, argc, argv, own, "FILE", words);

    if (rc != CLI_OK) {
        return rc;
    }

    cli_progress_begin(&copy.progress, cli, "backup, bytes:");

    rc = cli_copy_to(cli, words[0], cli_backup_child,
                     copy.progress.on ? cli_backup_tick : NULL, &copy);

    if (copy.progress.shown) {
        (void) fputc('\n', stderr);
    }

    return rc;
}


/* LMDB does not tell how far it is, the file does. */
static void
cli_backup_tick(void *data)
{
    cli_copy_t   *copy;
    struct stat   st;

    copy = data;

    if (fstat(copy->fd, &st) == 0) {
        cli_progress_show((uint64_t) st.st_size, &copy->progress);
    }
}


static int
cli_backup_child(const cli_t *cli, void *data)
{
    int          rc;
    store_t     *store;
    cli_copy_t  *copy;

    copy = data;

    rc = cli_store_open(cli, &store);

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_backup(store, copy->events, copy->fd);

    if (rc != STORE_OK) {
        return cli_refuse(rc, "backup of store \"%s\"", cli_store_path(cli));
    }

    return CLI_OK;
}


/*
 * The folder may be root's alone, so this process makes and names the file,
 * and a child that becomes the owner of the store fills it.
 */
static int
cli_copy_to(const cli_t *cli, const char *file, cli_child_pt run,
    cli_tick_pt tick, cli_copy_t *copy)
{
    int           rc, damaged;
    struct stat   st;
    cli_target_t  target;

    rc = cli_target_open(&target, file);

    if (rc != CLI_OK) {
        return rc;
    }

    copy->fd = target.fd;

    rc = cli_child(cli, run, tick, copy);

    /* a dump without what is damaged is the best there is */
    damaged = rc == CLI_PROBLEMS;

    if (damaged) {
        rc = CLI_OK;
    }

    if (rc == CLI_OK && fstat(target.fd, &st) == -1) {
        rc = cli_refuse(errno, "\"%s\"", file);
    }

    rc = cli_target_close(&target, rc);

    if (rc != CLI_OK) {
        return rc;
    }

    (void) printf("\"%s\" written, %lld bytes\n", file,
                  (long long) st.st_size);

    return damaged ? CLI_PROBLEMS : CLI_OK;
}


int
cli_restore(cli_t *cli, int argc, char **argv)
{
    int          rc, sessions;
    FILE        *in;
    const char  *words[CLI_WORDS_MAX];

    const cli_option_t  own[] = {
        { "sessions", CLI_FLAG, &sessions },
        { NULL, CLI_FLAG, NULL }
    };

    sessions = 0;

    rc = cli_options(cli, argc, argv, own, "[FILE]", words);

    if (rc != CLI_OK) {
        return rc;
    }

    in = stdin;

    if (words[0]) {
        in = fopen(words[0], "re");

        if (in == NULL) {
            return cli_refuse(errno, "\"%s\"", words[0]);
        }
    }

    rc = cli_restore_from(cli, in, sessions ? STORE_RESTORE_SESSIONS : 0);

    if (in != stdin) {
        (void) fclose(in);
    }

    return rc;
}


/* FILE may be root's alone, so it is open before root's rights are gone. */
static int
cli_restore_from(const cli_t *cli, FILE *in, unsigned flags)
{
    int               rc;
    char              why[STORE_WHY_CHARS];
    cli_progress_t    progress;
    store_options_t   options;

    memset(&options, 0, sizeof(options));
    options.path = cli_store_path(cli);

    rc = store_drop_to_owner(options.path, why);

    if (rc != STORE_OK) {
        cli_store_error(cli, why);
        return CLI_STORE;
    }

    cli_progress_begin(&progress, cli, "restore, rows:");

    rc = store_restore(&options, in, flags, cli_progress_show, &progress, why);

    if (progress.shown) {
        (void) fputc('\n', stderr);
    }

    switch (rc) {

    case STORE_OK:
        (void) printf("store \"%s\" restored%s\n", options.path,
                      flags ? "" : ", without sessions");
        return CLI_OK;

    case STORE_MISSING:
    case STORE_UNSAFE:
    case STORE_BUSY:
    case STORE_VERSION:
        cli_store_error(cli, why);
        return CLI_STORE;

    default:
        cli_error("%s", why);
        return CLI_FAILED;
    }
}
