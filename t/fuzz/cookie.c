/* cookie.c: cookies are found and cut where splitting the line at each ';' and
 * trimming each piece would find them. */

#include "fuzz.h"
#include "text/cookie.h"


typedef struct {
    text_span_t  pair[4096];
    size_t       n;
} pairs_t;


static pairs_t  all, left;


static int
blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}


static void
split(pairs_t *pairs, const uint8_t *p, size_t n)
{
    size_t  i, from, to;

    pairs->n = 0;

    for (i = from = 0; i <= n; i++) {
        if (i < n && p[i] != ';') {
            continue;
        }

        for (to = i; from < to && blank(p[from]); from++);
        for ( ; to > from && blank(p[to - 1]); to--);

        if (from < to) {
            pairs->pair[pairs->n++] = (text_span_t) { p + from, to - from };
        }

        from = i + 1;
    }
}


static int
named(text_span_t pair, const char *name)
{
    size_t  n;

    n = strlen(name);

    return pair.len >= n && memcmp(pair.data, name, n) == 0
           && (pair.len == n || pair.data[n] == '=');
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       i, k, pos, len;
    uint8_t     *out;
    text_span_t  line = { data, size }, pair, value, names[2];

    if (size > 4000) {
        return 0;
    }

    names[0] = text_span("sid");
    names[1] = text_span("d");
    split(&all, data, size);

    for (i = pos = 0; i < all.n; i++) {
        pair = all.pair[i];

        if (named(pair, "sid") && pair.len > 3) {
            fuzz_check(text_cookie_next(line, &pos, names[0], &value));
            fuzz_check(value.data == pair.data + 4);
            fuzz_check(value.len == pair.len - 4);
        }
    }

    fuzz_check(!text_cookie_next(line, &pos, names[0], &value));

    len = text_cookie_cut(line, names, 2, NULL, 0);
    fuzz_check(len <= size);
    out = fuzz_buffer(len);
    fuzz_check(text_cookie_cut(line, names, 2, out, len) == len);
    split(&left, out, len);

    for (i = k = 0; i < all.n; i++) {
        pair = all.pair[i];

        if (!named(pair, "sid") && !named(pair, "d")) {
            fuzz_check(k < left.n);
            fuzz_check(text_span_equal(pair, left.pair[k]));
            k++;
        }
    }

    fuzz_check(k == left.n);

    if (k == all.n) {
        fuzz_check(fuzz_same(out, len, data, size));

    } else if (k == 0) {
        fuzz_check(len == 0);

    } else {
        fuzz_check(left.pair[k - 1].data + left.pair[k - 1].len == out + len);
    }

    free(out);

    return 0;
}
