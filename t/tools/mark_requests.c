/*
 * mark_requests.c: for LD_PRELOAD under callgrind.  When recv() brings a
 * request to nginx, callgrind writes what this thread has executed since the
 * request before, with the line of the one that begins.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <valgrind/callgrind.h>


#define MARK_LINE  64


ssize_t
recv(int fd, void *data, size_t n, int flags)
{
    char             *end, line[MARK_LINE + 1];
    ssize_t           got;
    static ssize_t  (*real)(int, void *, size_t, int);

    if (real == NULL) {
        *(void **) &real = dlsym(RTLD_NEXT, "recv");
    }

    got = real(fd, data, n, flags);

    if (got < MARK_LINE
        || (memcmp(data, "GET /", 5) != 0 && memcmp(data, "POST /", 6) != 0))
    {
        return got;
    }

    memcpy(line, data, MARK_LINE);
    line[MARK_LINE] = '\0';
    end = strchr(line, '\r');

    if (end != NULL) {
        *end = '\0';
    }

    CALLGRIND_DUMP_STATS_AT(line);

    return got;
}
