/*
 * bucket.h: how often is too often, in one 64-bit word.
 *
 * A word is a tag (high 24 bits, never 0) and a time in milliseconds (low 40
 * bits, 34 years): the moment at which the bucket would be empty if nothing
 * more came (GCRA).  Attempts are spread over the period: with 10r/15m ten may
 * come at once and then one every 90 s.
 *
 * Buckets stand in sets of TEXT_BUCKET_WAYS, a cache line.  A key looks in one
 * set only, for its tag; a new key takes the word that will be empty first, so
 * that flooding a set with new keys does not wash out the bucket that is full.
 *
 * Everything here is pure; who shares words between processes compares and
 * swaps them.  Times are of any clock that never goes back.
 */

#ifndef TEXT_BUCKET_H_INCLUDED
#define TEXT_BUCKET_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


#define TEXT_BUCKET_WAYS          8
#define TEXT_BUCKET_ATTEMPTS_MAX  10000
#define TEXT_BUCKET_PERIOD_MAX    86400000      /* ms: a day */


typedef struct {
    uint32_t  attempts;
    uint32_t  period;           /* ms */
} text_bucket_rate_t;


/* "10r/15m", "1r/s", "30r/1h": NULL or what is wrong with it. */
const char *text_bucket_rate(const char *text, size_t n,
    text_bucket_rate_t *rate);

/* From 64 bits of hash: which set of n, and the tag within it. */
size_t text_bucket_set(uint64_t hash, size_t n);
uint32_t text_bucket_tag(uint64_t hash);

/* The word of this set that holds the tag, or else the one to give to it. */
size_t text_bucket_find(const uint64_t set[TEXT_BUCKET_WAYS], uint32_t tag);

/*
 * One attempt: 1 and the word that follows, or 0 and the milliseconds (at
 * least 1) after which one would be let through.  A word of another tag counts
 * as empty.
 */
int text_bucket_charge(uint64_t word, uint32_t tag,
    const text_bucket_rate_t *rate, uint64_t now, uint64_t *next,
    uint64_t *wait);

/* Gives one attempt back; a word of another tag stays as it is. */
uint64_t text_bucket_refund(uint64_t word, uint32_t tag,
    const text_bucket_rate_t *rate);


#endif /* TEXT_BUCKET_H_INCLUDED */
