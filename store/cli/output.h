/*
 * output.h: messages, cells of tables, progress.  Results go to stdout,
 * everything else to stderr.
 */

#ifndef CLI_OUTPUT_H_INCLUDED
#define CLI_OUTPUT_H_INCLUDED


#include "cli.h"


/* "sessionctl: ..." on stderr. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The same with the name of a store code behind it; returns the exit code
 * that fits: CLI_NOT_FOUND, CLI_STORE or CLI_FAILED.
 */
int cli_refuse(int code, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Text and at least one space, filled up to width characters. */
void cli_cell(const char *text, size_t width);

/* 0 when everything written to stdout got there, else errno. */
int cli_output_end(void);


typedef struct {
    const char  *what;          /* "dump: rows" */
    int          on;
    int          shown;
    int64_t      last_ms;
} cli_progress_t;

/* On when stderr is a terminal or --progress was given. */
void cli_progress_begin(cli_progress_t *progress, const cli_t *cli,
    const char *what);
/* Shows the count at most five times a second; a store_progress_pt. */
void cli_progress_show(uint64_t done, void *progress);
void cli_progress_end(cli_progress_t *progress, uint64_t done);


#endif /* CLI_OUTPUT_H_INCLUDED */
