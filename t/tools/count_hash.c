/*
 * count_hash: for LD_PRELOAD.  Each call of crypto_pwhash() adds a line to the
 * file named by COUNT_HASH: passes, memory, algorithm, how long the password
 * is.  The name is read once, in the process that is started.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>


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


int
crypto_pwhash(unsigned char *out, unsigned long long out_len,
    const char *password, unsigned long long n, const unsigned char *salt,
    unsigned long long passes, size_t memory, int alg)
{
    int            fd, len;
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

    *(void **) &next = dlsym(RTLD_NEXT, "crypto_pwhash");

    return next(out, out_len, password, n, salt, passes, memory, alg);
}
