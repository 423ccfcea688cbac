/*
 * count_hash: for LD_PRELOAD.  Each call of crypto_pwhash() adds a line to the
 * file named by COUNT_HASH: passes, memory, algorithm, how long the password
 * is.  While "$COUNT_HASH.before" exists a call does not begin, and while
 * "$COUNT_HASH.after" does it does not return; "$COUNT_HASH.held" tells that
 * one is held.  The name is read once, in the process that is started.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>


#define COUNT_HASH_POLLS  6000      /* of 10 ms, so that no test hangs */


typedef int (*count_hash_pt)(unsigned char *out, unsigned long long out_len,
    const char *password, unsigned long long n, const unsigned char *salt,
    unsigned long long passes, size_t memory, int alg);


static char  file[4096];


__attribute__((constructor))
static void
count_hash_init(void)
{
    const char  *name;

    name = getenv("COUNT_HASH");

    if (name != NULL) {
        snprintf(file, sizeof(file), "%s", name);
    }
}


static void
count_hash_hold(const char *when)
{
    int                    i, fd;
    char                   name[sizeof(file) + 16];
    char                   held[sizeof(file) + 16];
    const struct timespec  pause = { 0, 10 * 1000 * 1000 };

    snprintf(name, sizeof(name), "%s.%s", file, when);
    snprintf(held, sizeof(held), "%s.held", file);

    for (i = 0; i < COUNT_HASH_POLLS && access(name, F_OK) == 0; i++) {

        if (i == 0) {
            fd = open(held, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

            if (fd != -1) {
                close(fd);
            }
        }

        nanosleep(&pause, NULL);
    }
}


int
crypto_pwhash(unsigned char *out, unsigned long long out_len,
    const char *password, unsigned long long n, const unsigned char *salt,
    unsigned long long passes, size_t memory, int alg)
{
    int            fd, rc, len;
    char           line[128];
    count_hash_pt  next;

    fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd != -1) {
        len = snprintf(line, sizeof(line), "%llu %zu %d %llu\n", passes,
                       memory, alg, n);

        if (write(fd, line, (size_t) len) != len) {
            abort();
        }

        close(fd);
    }

    count_hash_hold("before");

    *(void **) &next = dlsym(RTLD_NEXT, "crypto_pwhash");

    rc = next(out, out_len, password, n, salt, passes, memory, alg);

    count_hash_hold("after");

    return rc;
}
