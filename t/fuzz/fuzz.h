/*
 * fuzz.h: what every driver needs.  A driver feeds one parser and compares it
 * with an oracle that shares no code with it: another library, or the plainest
 * code that does the same.  What does not hold ends the program, which is how
 * libFuzzer learns of it.
 */

#ifndef FUZZ_H_INCLUDED
#define FUZZ_H_INCLUDED


#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


#define fuzz_check(condition)                                                \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            abort();                                                         \
        }                                                                    \
    } while (0)


int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Once, before the first input: for drivers that have one. */
int LLVMFuzzerInitialize(int *argc, char ***argv);


/* A buffer of exactly n bytes; free() it. */
static inline uint8_t *
fuzz_buffer(size_t n)
{
    uint8_t  *p;

    p = malloc(n == 0 ? 1 : n);
    fuzz_check(p != NULL);

    return p;
}


static inline int
fuzz_same(const void *a, size_t a_len, const void *b, size_t b_len)
{
    return a_len == b_len && (a_len == 0 || memcmp(a, b, a_len) == 0);
}


#endif /* FUZZ_H_INCLUDED */
