#include <stdio.h>
#include <string.h>
#include <time.h>

#include "duration.h"


/* 100 years; keeps every sum far from the ends of int64_t */
#define CLI_DURATION_MAX  ((int64_t) 100 * 365 * 86400)

typedef struct {
    char     name;
    int64_t  seconds;
} cli_unit_t;

static const cli_unit_t  cli_units[] = {
    { 'y', 365 * 86400 },
    { 'M', 30 * 86400 },
    { 'w', 7 * 86400 },
    { 'd', 86400 },
    { 'h', 3600 },
    { 'm', 60 },
    { 's', 1 }
};

#define CLI_UNITS  (sizeof(cli_units) / sizeof(cli_units[0]))


int
cli_duration_read(const char *text, int64_t *seconds)
{
    size_t   unit, next;
    int64_t  n, total;

    total = 0;
    next = 0;

    do {
        if (*text < '0' || *text > '9') {
            return 0;
        }

        for (n = 0; *text >= '0' && *text <= '9'; text++) {
            n = n * 10 + (*text - '0');

            if (n > CLI_DURATION_MAX) {
                return 0;
            }
        }

        if (*text == '\0') {
            unit = CLI_UNITS - 1;

        } else {
            for (unit = next; unit < CLI_UNITS; unit++) {
                if (cli_units[unit].name == *text) {
                    break;
                }
            }

            text++;
        }

        if (unit == CLI_UNITS || unit < next) {
            return 0;
        }

        next = unit + 1;

        if (n > CLI_DURATION_MAX / cli_units[unit].seconds) {
            return 0;
        }

        total += n * cli_units[unit].seconds;

    } while (*text);

    *seconds = total;

    return 1;
}


const char *
cli_duration_write(int64_t seconds, char text[CLI_DURATION_CHARS])
{
    size_t      i;
    int64_t     rest;
    const char  names[] = "dhms";

    static const int64_t  sizes[] = { 86400, 3600, 60, 1 };

    if (seconds <= 0) {
        return memcpy(text, "0s", sizeof("0s"));
    }

    for (i = 0; seconds < sizes[i]; i++) { /* void */ }

    rest = i < 3 ? seconds % sizes[i] / sizes[i + 1] : 0;

    if (rest) {
        (void) snprintf(text, CLI_DURATION_CHARS, "%lld%c%lld%c",
                        (long long) (seconds / sizes[i]), names[i],
                        (long long) rest, names[i + 1]);

    } else {
        (void) snprintf(text, CLI_DURATION_CHARS, "%lld%c",
                        (long long) (seconds / sizes[i]), names[i]);
    }

    return text;
}


const char *
cli_time_write(int64_t time, char text[CLI_TIME_CHARS])
{
    time_t     t;
    struct tm  tm;

    t = (time_t) time;

    if (time == 0) {
        return memcpy(text, "never", sizeof("never"));
    }

    if (gmtime_r(&t, &tm) == NULL
        || strftime(text, CLI_TIME_CHARS, "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
    {
        (void) snprintf(text, CLI_TIME_CHARS, "%lld", (long long) time);
    }

    return text;
}
