/*
 * bucket.c: how often is too often, in one 64-bit word.
 */


#include "bucket.h"


#define TEXT_BUCKET_TIME_BITS  40
#define TEXT_BUCKET_TIME_MASK  (((uint64_t) 1 << TEXT_BUCKET_TIME_BITS) - 1)


static uint64_t text_bucket_cost(const text_bucket_rate_t *rate);
static size_t text_bucket_number(const char *text, size_t n, uint32_t *number);


const char *
text_bucket_rate(const char *text, size_t n, text_bucket_rate_t *rate)
{
    size_t    i, digits;
    uint32_t  unit, number;

    i = text_bucket_number(text, n, &number);

    if (i == 0 || number == 0 || number > TEXT_BUCKET_ATTEMPTS_MAX) {
        return "a rate starts with a number from 1 to 10000";
    }

    if (n - i < 2 || text[i] != 'r' || text[i + 1] != '/') {
        return "a rate is written like 10r/15m";
    }

    rate->attempts = number;
    i += 2;

    digits = text_bucket_number(text + i, n - i, &number);

    if (digits == 0) {
        number = 1;
    }

    i += digits;

    if (n - i != 1) {
        return "the time of a rate ends with s, m or h";
    }

    switch (text[i]) {

    case 's':
        unit = 1000;
        break;

    case 'm':
        unit = 60000;
        break;

    case 'h':
        unit = 3600000;
        break;

    default:
        return "the time of a rate ends with s, m or h";
    }

    if (number == 0 || number > TEXT_BUCKET_PERIOD_MAX / unit) {
        return "the time of a rate is from 1s to 24h";
    }

    rate->period = number * unit;

    if (rate->attempts > rate->period) {
        return "a rate is at most one attempt a millisecond";
    }

    return NULL;
}


size_t
text_bucket_set(uint64_t hash, size_t n)
{
    return (size_t) (((hash & 0xffffffff) * (uint64_t) n) >> 32);
}


uint32_t
text_bucket_tag(uint64_t hash)
{
    uint32_t  tag;

    tag = (uint32_t) (hash >> TEXT_BUCKET_TIME_BITS);

    /* 0 is a word that nobody has had */

    return tag ? tag : 1;
}


size_t
text_bucket_find(const uint64_t set[TEXT_BUCKET_WAYS], uint32_t tag)
{
    size_t    i, first;
    uint64_t  time, first_time;

    first = 0;
    first_time = UINT64_MAX;

    for (i = 0; i < TEXT_BUCKET_WAYS; i++) {

        if (set[i] >> TEXT_BUCKET_TIME_BITS == tag) {
            return i;
        }

        time = set[i] & TEXT_BUCKET_TIME_MASK;

        if (time < first_time) {
            first_time = time;
            first = i;
        }
    }

    return first;
}


int
text_bucket_charge(uint64_t word, uint32_t tag, const text_bucket_rate_t *rate,
    uint64_t now, uint64_t *next, uint64_t *wait)
{
    uint64_t  time, cost, limit;

    cost = text_bucket_cost(rate);
    limit = now + rate->period;
    time = now;

    if (word >> TEXT_BUCKET_TIME_BITS == tag
        && (word & TEXT_BUCKET_TIME_MASK) > now)
    {
        time = word & TEXT_BUCKET_TIME_MASK;
    }

    /* filled under a longer period, before the configuration changed */

    if (time > limit) {
        time = limit;
    }

    if (time + cost > limit) {
        *wait = time + cost - limit;
        return 0;
    }

    *next = ((uint64_t) tag << TEXT_BUCKET_TIME_BITS)
            | ((time + cost) & TEXT_BUCKET_TIME_MASK);

    return 1;
}


uint64_t
text_bucket_refund(uint64_t word, uint32_t tag, const text_bucket_rate_t *rate)
{
    uint64_t  time, cost;

    if (word >> TEXT_BUCKET_TIME_BITS != tag) {
        return word;
    }

    cost = text_bucket_cost(rate);
    time = word & TEXT_BUCKET_TIME_MASK;
    time = (time > cost) ? time - cost : 0;

    return ((uint64_t) tag << TEXT_BUCKET_TIME_BITS) | time;
}


/* Rounded down, so that all attempts of a period fit into it. */

static uint64_t
text_bucket_cost(const text_bucket_rate_t *rate)
{
    return rate->period / rate->attempts;
}


/* Digits read; 0 also when there are too many. */

static size_t
text_bucket_number(const char *text, size_t n, uint32_t *number)
{
    size_t  i;

    *number = 0;

    for (i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++) {

        if (i == 6) {
            return 0;
        }

        *number = *number * 10 + (uint32_t) (text[i] - '0');
    }

    return i;
}
