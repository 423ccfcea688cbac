#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "access.h"
#include "cli.h"
#include "json.h"
#include "options.h"
#include "output.h"


const char  cli_stat_help[] =
    "usage: sessionctl stat [--store PATH] [--json]\n"
    "\n"
    "Shows how much the store holds and how full it is.\n";

const char  cli_check_help[] =
    "usage: sessionctl check [--store PATH] [--json] [--progress]\n"
    "\n"
    "Reads every record and every index of the store and tells each problem\n"
    "in words.  Changes nothing.  The exit code is 5 when there is one.\n";

const char  cli_sweep_help[] =
    "usage: sessionctl sweep [--events-older-than TIME] [--store PATH]\n"
    "                        [--json] [--progress]\n"
    "\n"
    "Removes sessions that expired more than a day ago, as nginx does now and\n"
    "then, and copies the change feed into the events.\n"
    "\n"
    "  --events-older-than TIME  drop events older than that, too: 90d, 1y\n";


#define CLI_SWEEP_ROWS   1000
#define CLI_STORE_ID     16

/* What check carries through its visitor. */
typedef struct {
    const cli_t    *cli;
    cli_json_t      json;
    cli_progress_t  progress;
} cli_check_t;


static void cli_stat_json(const store_stat_t *stat, const char *id);
static void cli_stat_text(const store_stat_t *stat, const char *id);
static void cli_stat_line(const char *name, uint64_t number);
static int cli_check_problem(const char *problem, void *data);
static int cli_sweep_sessions(const cli_t *cli, store_t *store,
    cli_progress_t *progress, uint64_t *swept);
static int cli_sweep_events(const cli_t *cli, store_t *store, int64_t older,
    uint64_t *dropped);


int
cli_stat(cli_t *cli, int argc, char **argv)
{
    int            rc;
    char           id[CLI_STORE_ID * 2 + 1];
    size_t         i;
    store_t       *store;
    const char    *words[CLI_WORDS_MAX];
    store_stat_t   stat;

    rc = cli_options(cli, argc, argv, NULL, "", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    rc = store_stat(store, &stat);

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    for (i = 0; i < CLI_STORE_ID; i++) {
        (void) snprintf(id + i * 2, 3, "%02x", stat.store_id[i]);
    }

    if (cli->json) {
        cli_stat_json(&stat, id);

    } else {
        cli_stat_text(&stat, id);
    }

    return CLI_OK;
}


static void
cli_stat_json(const store_stat_t *stat, const char *id)
{
    cli_json_t  json;

    cli_json_begin(&json);
    cli_json_object(&json, NULL);
    cli_json_text(&json, "store_id", id, strlen(id));
    cli_json_number(&json, "users", stat->users);
    cli_json_number(&json, "sessions_live", stat->live);
    cli_json_number(&json, "sessions_kept", stat->sessions);
    cli_json_number(&json, "events", stat->events);
    cli_json_number(&json, "change_first", stat->change_first);
    cli_json_number(&json, "change_last", stat->change_last);
    cli_json_number(&json, "change_copied", stat->change_copied);
    cli_json_number(&json, "change_lost", stat->change_lost);
    cli_json_number(&json, "sessions_bytes", stat->sessions_bytes);
    cli_json_number(&json, "events_bytes", stat->events_bytes);
    cli_json_number(&json, "map_bytes", stat->map_bytes);
    cli_json_number(&json, "readers", stat->readers);
    cli_json_number(&json, "readers_max", stat->readers_max);
    cli_json_end(&json, '}');
}


static void
cli_stat_text(const store_stat_t *stat, const char *id)
{
    (void) printf("store id               %s\n", id);

    cli_stat_line("users", stat->users);
    cli_stat_line("sessions not ended", stat->live);
    cli_stat_line("sessions kept", stat->sessions);
    cli_stat_line("events", stat->events);
    cli_stat_line("first change", stat->change_first);
    cli_stat_line("last change", stat->change_last);
    cli_stat_line("changes copied", stat->change_copied);
    cli_stat_line("changes lost", stat->change_lost);
    cli_stat_line("bytes of sessions", stat->sessions_bytes);
    cli_stat_line("bytes of events", stat->events_bytes);
    cli_stat_line("bytes at most, each", stat->map_bytes);
    cli_stat_line("readers", stat->readers);
    cli_stat_line("readers at most", stat->readers_max);
}


static void
cli_stat_line(const char *name, uint64_t number)
{
    (void) printf("%-22s %" PRIu64 "\n", name, number);
}


int
cli_check(cli_t *cli, int argc, char **argv)
{
    int           rc;
    store_t      *store;
    uint64_t      problems;
    cli_check_t   check;
    const char   *words[CLI_WORDS_MAX];

    rc = cli_options(cli, argc, argv, NULL, "", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    cli_store_remark(cli);

    problems = 0;
    check.cli = cli;
    cli_progress_begin(&check.progress, cli, "problems:");
    cli_progress_show(0, &check.progress);

    if (cli->json) {
        cli_json_begin(&check.json);
        cli_json_object(&check.json, NULL);
        cli_json_array(&check.json, "problems");
    }

    rc = store_check(store, cli_check_problem, &check, &problems);

    cli_progress_end(&check.progress, problems);

    if (cli->json) {
        cli_json_end(&check.json, ']');
        cli_json_number(&check.json, "count", problems);
        cli_json_bool(&check.json, "complete", rc == STORE_OK);
        cli_json_end(&check.json, '}');
    }

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    if (!cli->json) {
        (void) printf("%" PRIu64 " problem%s in store \"%s\"\n", problems,
                      problems == 1 ? "" : "s", cli_store_path(cli));
    }

    return problems ? CLI_PROBLEMS : CLI_OK;
}


static int
cli_check_problem(const char *problem, void *data)
{
    cli_check_t  *check;

    check = data;

    if (check->cli->json) {
        cli_json_text(&check->json, NULL, problem, strlen(problem));

    } else {
        (void) printf("problem: %s\n", problem);
    }

    return STORE_OK;
}


int
cli_sweep(cli_t *cli, int argc, char **argv)
{
    int              rc;
    int64_t          older;
    store_t         *store;
    uint64_t         swept, dropped;
    cli_json_t       json;
    const char      *words[CLI_WORDS_MAX];
    cli_progress_t   progress;

    const cli_option_t  own[] = {
        { "events-older-than", CLI_DURATION, &older },
        { NULL, CLI_FLAG, NULL }
    };

    older = -1;
    swept = 0;
    dropped = 0;

    rc = cli_options(cli, argc, argv, own, "", words);

    if (rc == CLI_OK) {
        rc = cli_store_open(cli, &store);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    cli_progress_begin(&progress, cli, "sweep, entries:");

    rc = cli_sweep_sessions(cli, store, &progress, &swept);

    cli_progress_end(&progress, swept);

    if (rc == CLI_OK && older >= 0) {
        rc = cli_sweep_events(cli, store, older, &dropped);
    }

    if (rc != CLI_OK) {
        return rc;
    }

    if (cli->json) {
        cli_json_begin(&json);
        cli_json_object(&json, NULL);
        cli_json_number(&json, "entries", swept);
        cli_json_number(&json, "events_dropped", dropped);
        cli_json_end(&json, '}');
        return CLI_OK;
    }

    (void) printf("%" PRIu64 " entries swept, %" PRIu64 " events dropped\n",
                  swept, dropped);

    return CLI_OK;
}


/* Bounded pieces, so that nginx gets at the write lock in between. */
static int
cli_sweep_sessions(const cli_t *cli, store_t *store, cli_progress_t *progress,
    uint64_t *swept)
{
    int          rc;
    store_op_t   op;
    store_op_t  *ops[1];

    do {
        cli_op(&op, STORE_OP_SWEEP);
        op.actor = STORE_BY_SERVER;
        op.max = CLI_SWEEP_ROWS;
        ops[0] = &op;

        rc = cli_store_apply(cli, store, ops, 1);

        if (rc != CLI_OK) {
            return rc;
        }

        if (op.result != STORE_OK) {
            return cli_refuse(op.result, "store \"%s\"", cli_store_path(cli));
        }

        *swept += op.count;
        cli_progress_show(*swept, progress);

    } while (op.count == op.max);

    return CLI_OK;
}


/* The store does not tell how many it dropped, so they are counted. */
static int
cli_sweep_events(const cli_t *cli, store_t *store, int64_t older,
    uint64_t *dropped)
{
    int           rc;
    int64_t       before;
    store_stat_t  first, last;

    before = (int64_t) time(NULL) - older;

    rc = store_stat(store, &last);

    do {
        first = last;

        if (rc == STORE_OK) {
            rc = store_events_trim(store, before, CLI_SWEEP_ROWS);
        }

        if (rc == STORE_OK) {
            rc = store_stat(store, &last);
        }

        if (rc != STORE_OK) {
            return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
        }

        if (first.events > last.events) {
            *dropped += first.events - last.events;
        }

    } while (last.events < first.events);

    return CLI_OK;
}
