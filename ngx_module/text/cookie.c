/*
 * cookie.c: finding and cutting cookies in one line of a Cookie header.
 */

#include "cookie.h"
#include "out.h"


#define TEXT_COOKIE_NAME_MAX  64


static inline int
text_cookie_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}


/*
 * Every request with a cookie comes through here, so a pair that is not ours
 * costs one memchr() and no walk.  The name has no ';' in it, so a match that
 * ends before the line does also ends before the pair does, and the end of the
 * pair is looked for only afterwards.
 */
int
text_cookie_next(text_span_t line, size_t *pos, text_span_t name,
    text_span_t *value)
{
    const uint8_t  *p, *end, *last;

    if (*pos >= line.len || name.len == 0) {
        goto not_found;
    }

    p = line.data + *pos;
    end = line.data + line.len;

    for ( ;; ) {

        while (p < end && text_cookie_blank(*p)) {
            p++;
        }

        if ((size_t) (end - p) <= name.len) {
            goto not_found;
        }

        if (*p == *name.data && p[name.len] == '='
            && memcmp(p, name.data, name.len) == 0)
        {
            break;
        }

        p = memchr(p, ';', (size_t) (end - p));

        if (p == NULL) {
            goto not_found;
        }

        p++;
    }

    p += name.len + 1;
    last = memchr(p, ';', (size_t) (end - p));

    if (last == NULL) {
        last = end;
        *pos = line.len;

    } else {
        *pos = (size_t) (last - line.data) + 1;
    }

    while (last > p && text_cookie_blank(last[-1])) {
        last--;
    }

    value->data = p;
    value->len = (size_t) (last - p);

    return 1;

not_found:

    *pos = line.len;
    return 0;
}


static int
text_cookie_named(text_span_t pair, const text_span_t *names, size_t n)
{
    size_t  i, len;

    for (i = 0; i < n; i++) {
        len = names[i].len;

        if (len == 0 || pair.len < len
            || (pair.len > len && pair.data[len] != '='))
        {
            continue;
        }

        if (memcmp(pair.data, names[i].data, len) == 0) {
            return 1;
        }
    }

    return 0;
}


static void
text_cookie_copy(text_out_t *out, const uint8_t *from, const uint8_t *to)
{
    text_span_t  run;

    run.data = from;
    run.len = (size_t) (to - from);

    text_out_bytes(out, run);
}


/*
 * Pairs are kept in runs and each run is copied once.  `kept` is the length up
 * to the end of the last pair kept: when the tail was cut, the separator left
 * before it goes too, because HTTP/2 forbids a field to end in a space.
 */
size_t
text_cookie_cut(text_span_t line, const text_span_t *names, size_t n,
    uint8_t *out, size_t capacity)
{
    int             cut;
    size_t          kept;
    text_out_t      o;
    text_span_t     pair;
    const uint8_t  *p, *run, *end, *last, *behind;

    if (line.len == 0) {
        return 0;
    }

    o = (text_out_t) { out, capacity, 0 };
    p = run = line.data;
    end = line.data + line.len;
    kept = 0;
    cut = 0;

    while (p < end) {
        last = memchr(p, ';', (size_t) (end - p));
        last = last == NULL ? end : last;
        behind = last == end ? end : last + 1;

        while (behind < end && text_cookie_blank(*behind)) {
            behind++;
        }

        while (last > p && text_cookie_blank(last[-1])) {
            last--;
        }

        pair.data = p;

        while (pair.data < last && text_cookie_blank(*pair.data)) {
            pair.data++;
        }

        pair.len = (size_t) (last - pair.data);

        if (text_cookie_named(pair, names, n)) {
            text_cookie_copy(&o, run, p);
            run = behind;
            cut = 1;

        } else if (pair.len != 0) {
            kept = o.len + (size_t) (last - run);
        }

        p = behind;
    }

    text_cookie_copy(&o, run, end);

    return cut ? kept : o.len;
}


int
text_cookie_name_valid(text_span_t name)
{
    size_t   i;
    uint8_t  c;

    if (name.len == 0 || name.len > TEXT_COOKIE_NAME_MAX) {
        return 0;
    }

    for (i = 0; i < name.len; i++) {
        c = name.data[i];

        if (c <= ' ' || c >= 0x7f
            || memchr("()<>@,;:\\\"/[]?={}", c, 17) != NULL)
        {
            return 0;
        }
    }

    return 1;
}
