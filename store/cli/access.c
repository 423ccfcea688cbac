#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "access.h"
#include "output.h"


/* Another opener holds its lock for milliseconds. */
#define CLI_STORE_WAIT_MS  5000

#define CLI_COPY_ROWS      1000

#define CLI_TICK_NS        50000000


static volatile sig_atomic_t  cli_child_pid;


static void cli_child_signal(int signo);
static int cli_child_wait(pid_t pid, cli_tick_pt tick, void *data);


const char *
cli_store_path(const cli_t *cli)
{
    const char  *env;

    if (cli->store) {
        return cli->store;
    }

    env = getenv("SESSION_STORE");

    return env && *env ? env : CLI_STORE_DEFAULT;
}


void
cli_store_error(const cli_t *cli, const char *why)
{
    const char  *env;

    env = getenv("SESSION_STORE");

    cli_error("%s", why);

    (void) fprintf(stderr, "sessionctl: the store is --store (%s), else "
                   "$SESSION_STORE (%s), else %s\n",
                   cli->store ? cli->store : "not given",
                   env && *env ? env : "not set", CLI_STORE_DEFAULT);
}


/* Not a failure: what somebody who puts it there should know. */
void
cli_store_remark(const cli_t *cli)
{
    char  why[STORE_WHY_CHARS];

    if (store_remark(cli_store_path(cli), why)) {
        cli_error("%s", why);
    }
}


int
cli_store_open(const cli_t *cli, store_t **store)
{
    char             why[STORE_WHY_CHARS];
    store_options_t  options;

    memset(&options, 0, sizeof(options));
    options.path = cli_store_path(cli);
    options.wait_ms = CLI_STORE_WAIT_MS;

    if (store_drop_to_owner(options.path, why) != STORE_OK
        || store_open(&options, store, why) != STORE_OK)
    {
        cli_store_error(cli, why);
        return CLI_STORE;
    }

    return CLI_OK;
}


/*
 * The change is durable once store_batch_apply() has returned.  When the copy
 * into the events fails afterwards, a worker of nginx or the next command
 * makes up for it, so that is a message and no failure.
 */
int
cli_store_apply(const cli_t *cli, store_t *store, store_op_t **ops, size_t n)
{
    int  rc, more;

    rc = store_batch_apply(store, ops, n);

    if (rc != STORE_OK) {
        return cli_refuse(rc, "store \"%s\"", cli_store_path(cli));
    }

    do {
        more = 0;
        rc = store_events_copy(store, CLI_COPY_ROWS, &more);

        if (rc != STORE_OK) {
            cli_error("store \"%s\": the change is made, but is not in the "
                      "events yet: %s", cli_store_path(cli),
                      store_strerror(rc));
            break;
        }

    } while (more);

    return CLI_OK;
}


void
cli_op(store_op_t *op, store_op_kind_t kind)
{
    memset(op, 0, sizeof(*op));

    op->kind = kind;
    op->actor = STORE_BY_CLI;
    op->now = (int64_t) time(NULL);
}


int
cli_user_find(const cli_t *cli, store_t *store, const char *login,
    store_user_t *user)
{
    int  rc;

    rc = store_user_find(store, cli->realm.data, cli->realm.len, login,
                         strlen(login), user);

    if (rc == STORE_OK) {
        return CLI_OK;
    }

    if (rc == STORE_INVALID) {
        rc = STORE_NOT_FOUND;
    }

    return cli_refuse(rc, "user \"%s\" in realm \"%s\"", login,
                      cli->realm.data);
}


int
cli_session_find(const cli_t *cli, store_t *store, const char *ref,
    store_session_t *session)
{
    int  rc;

    rc = store_session_find(store, ref, strlen(ref), session);

    if (rc == STORE_OK && !cli_in_realm(cli, &session->realm)) {
        cli_error("session \"%s\" belongs to realm \"%s\"; add --realm %s",
                  ref, session->realm.data, session->realm.data);
        return CLI_NOT_FOUND;
    }

    if (rc == STORE_OK) {
        return CLI_OK;
    }

    if (rc == STORE_INVALID || rc == STORE_MALFORMED) {
        rc = STORE_NOT_FOUND;
    }

    return cli_refuse(rc, "session \"%s\"", ref);
}


const char *
cli_user_id(const uint8_t id[STORE_USER_BYTES],
    char text[CLI_USER_ID_CHARS + 1])
{
    size_t  i;

    for (i = 0; i < STORE_USER_BYTES; i++) {
        (void) snprintf(text + i * 2, 3, "%02x", id[i]);
    }

    return text;
}


int
cli_in_realm(const cli_t *cli, const store_realm_t *realm)
{
    return realm->len == cli->realm.len
           && memcmp(realm->data, cli->realm.data, realm->len) == 0;
}


int
cli_child(const cli_t *cli, cli_child_pt run, cli_tick_pt tick, void *data)
{
    int               rc;
    pid_t             pid;
    struct sigaction  sa;

    (void) fflush(NULL);

    pid = fork();

    if (pid == -1) {
        return cli_refuse(errno, "fork() failed");
    }

    if (pid == 0) {
        rc = run(cli, data);

        if (fflush(stdout) == EOF) {
            rc = cli_refuse(errno, "stdout could not be written");
        }

        _exit(rc);
    }

    cli_child_pid = pid;

    memset(&sa, 0, sizeof(sa));
    sa.sa_handler = cli_child_signal;
    (void) sigemptyset(&sa.sa_mask);

    (void) sigaction(SIGINT, &sa, NULL);
    (void) sigaction(SIGTERM, &sa, NULL);
    (void) sigaction(SIGHUP, &sa, NULL);

    return cli_child_wait(pid, tick, data);
}


static void
cli_child_signal(int signo)
{
    (void) kill((pid_t) cli_child_pid, signo);
}


static int
cli_child_wait(pid_t pid, cli_tick_pt tick, void *data)
{
    int              status;
    pid_t            rc;
    struct timespec  pause;

    pause.tv_sec = 0;
    pause.tv_nsec = CLI_TICK_NS;

    for ( ;; ) {
        rc = waitpid(pid, &status, tick ? WNOHANG : 0);

        if (rc == 0) {
            tick(data);
            (void) nanosleep(&pause, NULL);

        } else if (rc != -1 || errno != EINTR) {
            break;
        }
    }

    if (rc == -1) {
        return cli_refuse(errno, "waitpid() failed");
    }

    if (!WIFEXITED(status)) {
        cli_error("ended by signal %d", WTERMSIG(status));
        return CLI_FAILED;
    }

    return WEXITSTATUS(status);
}
