/*
 * shift_clock: for LD_PRELOAD.  The clock of the wall is as many seconds ahead
 * as the file named by SHIFT_CLOCK says in its first eight bytes, which a test
 * may change at any time.  The monotonic clock is what it is.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>


typedef int (*shift_clock_pt)(clockid_t id, struct timespec *ts);


static volatile int64_t  *shift;


__attribute__((constructor))
static void
shift_clock_init(void)
{
    int          fd;
    void        *map;
    const char  *name;

    name = getenv("SHIFT_CLOCK");

    if (name == NULL) {
        return;
    }

    fd = open(name, O_RDONLY | O_CLOEXEC);

    map = fd == -1 ? MAP_FAILED
                   : mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED) {
        perror(name);
        _exit(1);
    }

    close(fd);
    shift = map;
}


int
clock_gettime(clockid_t id, struct timespec *ts)
{
    int  rc;

    static shift_clock_pt  next;

    if (next == NULL) {
        *(void **) &next = dlsym(RTLD_NEXT, "clock_gettime");
    }

    rc = next(id, ts);

    if (rc == 0 && shift != NULL
        && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    {
        ts->tv_sec += *shift;
    }

    return rc;
}


int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec  ts;

    (void) zone;

    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) {
        return -1;
    }

    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;

    return 0;
}


time_t
time(time_t *t)
{
    struct timespec  ts;

    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) {
        return -1;
    }

    if (t != NULL) {
        *t = ts.tv_sec;
    }

    return ts.tv_sec;
}
