/*
 * accept.c: what kind of answer a client wants.
 */

#include "accept.h"


#define TEXT_ACCEPT_Q_ONE  1000         /* q is counted in thousandths */


static inline uint8_t
text_accept_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}


static inline int
text_accept_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}


static int
text_accept_equal(text_span_t a, text_span_t lower)
{
    size_t  i;

    if (a.len != lower.len) {
        return 0;
    }

    for (i = 0; i < a.len; i++) {
        if (text_accept_lower(a.data[i]) != lower.data[i]) {
            return 0;
        }
    }

    return 1;
}


static text_span_t
text_accept_trim(const uint8_t *p, const uint8_t *end)
{
    text_span_t  span;

    while (p < end && text_accept_blank(*p)) {
        p++;
    }

    while (end > p && text_accept_blank(end[-1])) {
        end--;
    }

    span.data = p;
    span.len = (size_t) (end - p);

    return span;
}


/* The first `c` outside of a quoted string, or end.  Nobody quotes. */
static const uint8_t *
text_accept_find(const uint8_t *p, const uint8_t *end, uint8_t c)
{
    int             quoted;
    const uint8_t  *found;

    found = memchr(p, c, (size_t) (end - p));
    found = found == NULL ? end : found;

    if (memchr(p, '"', (size_t) (found - p)) == NULL) {
        return found;
    }

    for (quoted = 0; p < end; p++) {

        if (*p == '"') {
            quoted = !quoted;

        } else if (quoted && *p == '\\' && end - p > 1) {
            p++;

        } else if (!quoted && *p == c) {
            break;
        }
    }

    return p;
}


static text_accept_t
text_accept_kind(text_span_t type)
{
    text_span_t  suffix, prefix, head, tail;

    if (text_accept_equal(type, text_span("text/html"))
        || text_accept_equal(type, text_span("application/xhtml+xml")))
    {
        return TEXT_ACCEPT_HTML;
    }

    if (text_accept_equal(type, text_span("application/json"))
        || text_accept_equal(type, text_span("text/json")))
    {
        return TEXT_ACCEPT_JSON;
    }

    prefix = text_span("application/");
    suffix = text_span("+json");

    if (type.len <= prefix.len + suffix.len) {
        return TEXT_ACCEPT_ANY;
    }

    head.data = type.data;
    head.len = prefix.len;
    tail.data = type.data + type.len - suffix.len;
    tail.len = suffix.len;

    if (text_accept_equal(head, prefix) && text_accept_equal(tail, suffix)) {
        return TEXT_ACCEPT_JSON;
    }

    return TEXT_ACCEPT_ANY;
}


/*
 * "0.8" as 800.  Digits behind the third do not count, a missing 0 before the
 * point is forgiven (Java's clients send ".2"), anything else is 0, which
 * takes the range out of the choice.
 */
static int
text_accept_q(text_span_t value)
{
    int     q, unit;
    size_t  i;

    q = 0;
    i = 0;

    if (value.len != 0 && (value.data[0] == '0' || value.data[0] == '1')) {
        q = (value.data[0] - '0') * TEXT_ACCEPT_Q_ONE;
        i = 1;
    }

    if (i == value.len) {
        return q;
    }

    if (value.data[i++] != '.') {
        return 0;
    }

    for (unit = TEXT_ACCEPT_Q_ONE / 10; i < value.len; i++) {

        if (value.data[i] < '0' || value.data[i] > '9') {
            return 0;
        }

        q += (value.data[i] - '0') * unit;
        unit /= 10;
    }

    return q > TEXT_ACCEPT_Q_ONE ? 0 : q;
}


/* The weight among the parameters [p, end) of one range. */
static int
text_accept_weight(const uint8_t *p, const uint8_t *end)
{
    text_span_t     name;
    const uint8_t  *stop, *equal;

    while (p < end) {
        stop = text_accept_find(p, end, ';');
        equal = memchr(p, '=', (size_t) (stop - p));

        if (equal != NULL) {
            name = text_accept_trim(p, equal);

            if (text_accept_equal(name, text_span("q"))) {
                return text_accept_q(text_accept_trim(equal + 1, stop));
            }
        }

        p = stop < end ? stop + 1 : end;
    }

    return TEXT_ACCEPT_Q_ONE;
}


text_accept_t
text_accept(text_span_t accept)
{
    int             q, best;
    text_accept_t   kind, chosen;
    const uint8_t  *p, *end, *stop, *type;

    if (accept.len == 0) {
        return TEXT_ACCEPT_ANY;
    }

    end = accept.data + accept.len;
    chosen = TEXT_ACCEPT_ANY;
    best = 0;

    for (p = accept.data; p < end; p = stop < end ? stop + 1 : end) {
        stop = text_accept_find(p, end, ',');
        type = text_accept_find(p, stop, ';');
        kind = text_accept_kind(text_accept_trim(p, type));

        if (kind == TEXT_ACCEPT_ANY) {
            continue;
        }

        q = text_accept_weight(type < stop ? type + 1 : stop, stop);

        if (q > best) {
            best = q;
            chosen = kind;
        }
    }

    return chosen;
}
