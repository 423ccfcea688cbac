/*
 * hold_sync: for LD_PRELOAD.  While the file named by HOLD_SYNC exists,
 * fdatasync() waits, as it does on a disk that hangs, and the file
 * "$HOLD_SYNC.waiting" tells the test that it has begun to.  If something
 * stands in it, it is the name of the one file whose syncs wait.  While
 * "$HOLD_SYNC.fail" exists they fail, as on a disk that is broken.  The name
 * is read once, in the process that is started; what it forks inherits it.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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


static int
hold_sync_names(int fd)
{
    int      file;
    char     link[64], path[4096], name[256];
    ssize_t  n, len;

    file = open(hold, O_RDONLY | O_CLOEXEC);

    if (file == -1) {
        return 0;
    }

    n = read(file, name, sizeof(name));
    close(file);

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof(path));

    return n <= 0
           || (len > n && path[len - n - 1] == '/'
               && memcmp(path + len - n, name, (size_t) n) == 0);
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

        if (hold[0] == '\0' || !hold_sync_names(fd)) {
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
