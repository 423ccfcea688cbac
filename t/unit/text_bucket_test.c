/*
 * text_bucket_test.c: rates, buckets and sets, against a clock that the test
 * holds.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text/bucket.h"


#define TAG  0xabcdefu


static const text_bucket_rate_t  ten = { 10, 900000 };


static void
test_rate_valid(void **state)
{
    size_t              i;
    text_bucket_rate_t  rate;

    static const struct {
        const char  *text;
        uint32_t     attempts;
        uint32_t     period;
    } rates[] = {
        { "10r/15m", 10, 900000 },
        { "1r/s", 1, 1000 },
        { "30r/m", 30, 60000 },
        { "5r/h", 5, 3600000 },
        { "10000r/24h", 10000, 86400000 },
        { "1r/86400s", 1, 86400000 },
        { "1000r/1s", 1000, 1000 },
        { "007r/1m", 7, 60000 },
    };

    (void) state;

    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        assert_null(text_bucket_rate(rates[i].text, strlen(rates[i].text),
                                     &rate));
        assert_int_equal(rate.attempts, rates[i].attempts);
        assert_int_equal(rate.period, rates[i].period);
    }
}


static void
test_rate_invalid(void **state)
{
    size_t              i;
    text_bucket_rate_t  rate;

    static const char  *rates[] = {
        "", "r", "10", "10r", "10r/", "r/s", "0r/s", "10r/0s", "10r/15",
        "10r/15d", "10r/ms", "10r/15m ", " 10r/15m", "10R/15m", "-1r/s",
        "10001r/h", "9999999r/h", "1r/25h", "1r/86401s", "1r/99999999h",
        "1001r/s", "10/15m", "10r15m", "10r//m", "1r/0x1s", "+1r/s"
    };

    (void) state;

    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        if (text_bucket_rate(rates[i], strlen(rates[i]), &rate) == NULL) {
            fail_msg("\"%s\" is taken for a rate", rates[i]);
        }
    }
}


/* Every beginning of a rate is refused, whatever stands behind it. */

static void
test_rate_truncated(void **state)
{
    size_t              n;
    const char         *text = "10r/15m";
    text_bucket_rate_t  rate;

    (void) state;

    for (n = 0; n < strlen(text); n++) {
        assert_non_null(text_bucket_rate(text, n, &rate));
    }
}


/* Charges until it is refused; returns how often it was let through. */

static unsigned
exhaust(uint64_t *word, const text_bucket_rate_t *rate, uint64_t now,
    uint64_t *wait)
{
    unsigned  n;
    uint64_t  next;

    for (n = 0; n < 100000; n++) {
        if (!text_bucket_charge(*word, TAG, rate, now, &next, wait)) {
            return n;
        }

        *word = next;
    }

    fail_msg("never refused");
    return 0;
}


static void
test_charge_burst_then_one_by_one(void **state)
{
    uint64_t  word, wait, now, next;

    (void) state;

    word = 0;
    now = 5000000;

    assert_int_equal(exhaust(&word, &ten, now, &wait), 10);
    assert_int_equal(wait, 90000);

    assert_false(text_bucket_charge(word, TAG, &ten, now + 89999, &next,
                                    &wait));
    assert_int_equal(wait, 1);

    assert_true(text_bucket_charge(word, TAG, &ten, now + 90000, &next,
                                   &wait));
    word = next;

    assert_false(text_bucket_charge(word, TAG, &ten, now + 90000, &next,
                                    &wait));
    assert_int_equal(wait, 90000);
}


static void
test_charge_empty_again_after_the_period(void **state)
{
    uint64_t  word, wait;

    (void) state;

    word = 0;

    assert_int_equal(exhaust(&word, &ten, 0, &wait), 10);
    assert_int_equal(exhaust(&word, &ten, 450000, &wait), 5);
    assert_int_equal(exhaust(&word, &ten, 450000 + 900000, &wait), 10);
}


static void
test_charge_counts_every_attempt_of_a_rate(void **state)
{
    size_t    i;
    uint64_t  word, wait;

    static const text_bucket_rate_t  rates[] = {
        { 1, 1000 }, { 3, 1000 }, { 7, 60000 }, { 30, 900000 },
        { 999, 1000 }, { 10000, 86400000 }
    };

    (void) state;

    for (i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        word = 0;
        assert_true(exhaust(&word, &rates[i], 123456789, &wait)
                    >= rates[i].attempts);
        assert_true(wait > 0);
        assert_true(wait <= rates[i].period);
    }
}


static void
test_charge_other_tag_is_empty(void **state)
{
    uint64_t  word, wait, next;

    (void) state;

    word = 0;
    (void) exhaust(&word, &ten, 1000, &wait);

    assert_true(text_bucket_charge(word, TAG + 1, &ten, 1000, &next, &wait));
    assert_int_equal(next >> 40, TAG + 1);
}


/* A word from before a reload that made the period shorter. */

static void
test_charge_after_the_period_shrank(void **state)
{
    uint64_t                  word, wait, next;
    const text_bucket_rate_t  minute = { 10, 60000 };

    (void) state;

    word = 0;
    (void) exhaust(&word, &ten, 1000, &wait);

    assert_false(text_bucket_charge(word, TAG, &minute, 1000, &next, &wait));
    assert_int_equal(wait, 6000);
}


static void
test_charge_at_the_end_of_time(void **state)
{
    uint64_t  word, wait, now;

    (void) state;

    word = 0;
    now = ((uint64_t) 1 << 40) - 1000000;

    assert_int_equal(exhaust(&word, &ten, now, &wait), 10);
    assert_int_equal(word >> 40, TAG);
}


static void
test_refund_gives_one_back(void **state)
{
    uint64_t  word, wait, next;

    (void) state;

    word = 0;
    (void) exhaust(&word, &ten, 1000, &wait);

    word = text_bucket_refund(word, TAG, &ten);

    assert_true(text_bucket_charge(word, TAG, &ten, 1000, &next, &wait));
    assert_false(text_bucket_charge(next, TAG, &ten, 1000, &next, &wait));
}


static void
test_refund_is_no_credit(void **state)
{
    unsigned  i;
    uint64_t  word, wait;

    (void) state;

    word = (uint64_t) TAG << 40;

    for (i = 0; i < 100; i++) {
        word = text_bucket_refund(word, TAG, &ten);
    }

    assert_int_equal(word, (uint64_t) TAG << 40);
    assert_int_equal(exhaust(&word, &ten, 1000, &wait), 10);
}


static void
test_refund_leaves_others_alone(void **state)
{
    uint64_t  word, wait;

    (void) state;

    word = 0;
    (void) exhaust(&word, &ten, 1000, &wait);

    assert_int_equal(text_bucket_refund(word, TAG + 1, &ten), word);
    assert_int_equal(text_bucket_refund(0, TAG, &ten), 0);
}


static void
test_find_own_word(void **state)
{
    size_t    i;
    uint64_t  set[TEXT_BUCKET_WAYS];

    (void) state;

    for (i = 0; i < TEXT_BUCKET_WAYS; i++) {
        set[i] = (uint64_t) (i + 1) << 40 | (1000 - i);
    }

    for (i = 0; i < TEXT_BUCKET_WAYS; i++) {
        assert_int_equal(text_bucket_find(set, (uint32_t) (i + 1)), i);
    }

    /* a stranger takes the one that will be empty first */

    assert_int_equal(text_bucket_find(set, 99), TEXT_BUCKET_WAYS - 1);

    set[3] = 0;
    assert_int_equal(text_bucket_find(set, 99), 3);
}


/* Who floods a set with new keys does not wash out a full bucket. */

static void
test_find_keeps_the_full_bucket(void **state)
{
    size_t    i;
    uint32_t  tag;
    uint64_t  set[TEXT_BUCKET_WAYS], wait, next;

    (void) state;

    memset(set, 0, sizeof(set));

    i = text_bucket_find(set, TAG);
    (void) exhaust(&set[i], &ten, 1000, &wait);

    for (tag = 1; tag < 10000; tag++) {
        i = text_bucket_find(set, tag);
        assert_true(text_bucket_charge(set[i], tag, &ten, 1000, &next,
                                       &wait));
        set[i] = next;
    }

    i = text_bucket_find(set, TAG);
    assert_false(text_bucket_charge(set[i], TAG, &ten, 1000, &next, &wait));
}


static void
test_set_and_tag_within_bounds(void **state)
{
    size_t    i;
    uint64_t  hash;

    (void) state;

    hash = 1;

    for (i = 0; i < 10000; i++) {
        hash = hash * 6364136223846793005u + 1442695040888963407u;

        assert_true(text_bucket_set(hash, 1) == 0);
        assert_true(text_bucket_set(hash, 16383) < 16383);
        assert_true(text_bucket_tag(hash) != 0);
        assert_true(text_bucket_tag(hash) < 1 << 24);
    }

    assert_int_equal(text_bucket_set(UINT64_MAX, 16383), 16382);
    assert_int_equal(text_bucket_set(0, 16383), 0);
    assert_int_equal(text_bucket_tag(0), 1);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test(test_rate_valid),
        cmocka_unit_test(test_rate_invalid),
        cmocka_unit_test(test_rate_truncated),
        cmocka_unit_test(test_charge_burst_then_one_by_one),
        cmocka_unit_test(test_charge_empty_again_after_the_period),
        cmocka_unit_test(test_charge_counts_every_attempt_of_a_rate),
        cmocka_unit_test(test_charge_other_tag_is_empty),
        cmocka_unit_test(test_charge_after_the_period_shrank),
        cmocka_unit_test(test_charge_at_the_end_of_time),
        cmocka_unit_test(test_refund_gives_one_back),
        cmocka_unit_test(test_refund_is_no_credit),
        cmocka_unit_test(test_refund_leaves_others_alone),
        cmocka_unit_test(test_find_own_word),
        cmocka_unit_test(test_find_keeps_the_full_bucket),
        cmocka_unit_test(test_set_and_tag_within_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
