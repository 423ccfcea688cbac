/*
 * cheap_hash: for LD_PRELOAD.  Each hash takes one pass over eight kilobytes,
 * whatever is asked for, so that a test of how much memory sign-ins leave
 * behind can have a million of them.  Who makes the users must have it as well:
 * the hashes are others.
 */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stddef.h>


#define CHEAP_HASH_PASSES  1
#define CHEAP_HASH_MEMORY  8192


typedef int (*cheap_hash_pt)(unsigned char *out, unsigned long long out_len,
    const char *password, unsigned long long n, const unsigned char *salt,
    unsigned long long passes, size_t memory, int alg);


int
crypto_pwhash(unsigned char *out, unsigned long long out_len,
    const char *password, unsigned long long n, const unsigned char *salt,
    unsigned long long passes, size_t memory, int alg)
{
    cheap_hash_pt  next;

    (void) passes;
    (void) memory;

    *(void **) &next = dlsym(RTLD_NEXT, "crypto_pwhash");

    return next(out, out_len, password, n, salt, CHEAP_HASH_PASSES,
                CHEAP_HASH_MEMORY, alg);
}
