#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include "output.h"


#define CLI_PROGRESS_MS  200


static int cli_exit_code(int code);
static void cli_progress_write(const cli_progress_t *progress, uint64_t done,
    char end);


void
cli_error(const char *fmt, ...)
{
    va_list  args;

    (void) fputs("sessionctl: ", stderr);

    va_start(args, fmt);
    (void) vfprintf(stderr, fmt, args);
    va_end(args);

    (void) fputc('\n', stderr);
}


int
cli_refuse(int code, const char *fmt, ...)
{
    va_list  args;

    (void) fputs("sessionctl: ", stderr);

    va_start(args, fmt);
    (void) vfprintf(stderr, fmt, args);
    va_end(args);

    (void) fprintf(stderr, ": %s\n", store_strerror(code));

    return cli_exit_code(code);
}


static int
cli_exit_code(int code)
{
    switch (code) {

    case STORE_OK:
        return CLI_OK;

    case STORE_NOT_FOUND:
        return CLI_NOT_FOUND;

    case STORE_MISSING:
    case STORE_UNSAFE:
    case STORE_BUSY:
    case STORE_VERSION:
        return CLI_STORE;

    default:
        return CLI_FAILED;
    }
}


void
cli_cell(const char *text, size_t width)
{
    size_t       n;
    const char  *p;

    n = 0;

    for (p = text; *p; p++) {
        n += (*p & 0xc0) != 0x80;
    }

    (void) fputs(text, stdout);

    do {
        (void) putchar(' ');
    } while (++n < width);
}


/* Some file systems tell of a full disk only when a file is closed. */
int
cli_output_end(void)
{
    errno = 0;

    if (fflush(stdout) == EOF || ferror(stdout) || fclose(stdout) == EOF) {
        return errno ? errno : EIO;
    }

    return 0;
}


void
cli_progress_begin(cli_progress_t *progress, const cli_t *cli,
    const char *what)
{
    progress->what = what;
    progress->on = cli->progress || isatty(STDERR_FILENO);
    progress->shown = 0;
    progress->last_ms = 0;
}


void
cli_progress_show(uint64_t done, void *data)
{
    int64_t          now;
    cli_progress_t  *progress;
    struct timespec  ts;

    progress = data;

    if (!progress->on || clock_gettime(CLOCK_MONOTONIC, &ts) == -1) {
        return;
    }

    now = (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000;

    if (progress->shown && now - progress->last_ms < CLI_PROGRESS_MS) {
        return;
    }

    progress->shown = 1;
    progress->last_ms = now;

    cli_progress_write(progress, done, '\r');
}


void
cli_progress_end(cli_progress_t *progress, uint64_t done)
{
    if (progress->on) {
        cli_progress_write(progress, done, '\n');
    }
}


static void
cli_progress_write(const cli_progress_t *progress, uint64_t done, char end)
{
    (void) fprintf(stderr, "%s %" PRIu64 "%c", progress->what, done, end);
    (void) fflush(stderr);
}
