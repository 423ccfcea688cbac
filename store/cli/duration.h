/*
 * duration.h: times as nginx writes them, and points in time for people.
 */

#ifndef CLI_DURATION_H_INCLUDED
#define CLI_DURATION_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


#define CLI_DURATION_CHARS  48
#define CLI_TIME_CHARS      32

/* "90", "90s", "10m", "1h30m", "7d", "2w", "1y": nginx's units, each at most
 * once and the larger first.  1, or 0 when it is none or too long. */
int cli_duration_read(const char *text, int64_t *seconds);

/* The two largest units: "3d4h". */
const char *cli_duration_write(int64_t seconds, char text[CLI_DURATION_CHARS]);

/* "2026-01-02 03:04:05Z", or "never" for 0 */
const char *cli_time_write(int64_t time, char text[CLI_TIME_CHARS]);


#endif /* CLI_DURATION_H_INCLUDED */
