/*
 * hold_sync: for LD_PRELOAD.  While the file named by HOLD_SYNC exists,
 * fdatasync() waits, as it does on a disk that hangs, and the file
 * "$HOLD_SYNC.waiting" tells the test that it has begun to.  While
 * "$HOLD_SYNC.fail" exists it fails, as on one that is broken.  The name is
 * read once, in the process that is started; what it forks inherits it.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>


#define HOLD_POLLS  6000        /* of 10 ms, so that no test hangs for ever */


static char  hold[4096];
static char  waiting[4096 + 16];
static char  fail[4096 + 16];


__attribute__((constructor))
static void
hold_sync_init(void)
{
    const char  *name;

    name = getenv("HOLD_SYNC");

    if (name != NULL) {
        snprintf(hold, sizeof(hold), "%s", name);
        snprintf(waiting, sizeof(waiting), "%s.waiting", hold);
        snprintf(fail, sizeof(fail), "%s.fail", hold);
    }
}


int
fdatasync(int fd)
{
    int                     i, marker;
    const struct timespec   pause = { 0, 10 * 1000 * 1000 };

    static int            (*next)(int fd);

    if (next == NULL) {
        next = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    }

    for (i = 0; i < HOLD_POLLS; i++) {

        if (hold[0] == '\0' || access(hold, F_OK) != 0) {
            break;
        }

        if (i == 0) {
            marker = open(waiting, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

            if (marker != -1) {
                close(marker);
            }
        }

        nanosleep(&pause, NULL);
    }

    if (fail[0] != '\0' && access(fail, F_OK) == 0) {
        errno = EIO;
        return -1;
    }

    return next(fd);
}
