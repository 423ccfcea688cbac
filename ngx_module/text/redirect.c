/*
 * redirect.c: return-to paths and origins.
 */

#include "out.h"
#include "percent.h"
#include "redirect.h"


#define TEXT_HOST_MAX    255            /* a DNS name has at most 253 */
#define TEXT_ORIGIN_MAX  (8 + TEXT_HOST_MAX + 6)

#define TEXT_DOTS_NONE   3              /* a segment that is not "." or ".." */


/*
 * The byte at *i, decoded; *i moves to its last character.  -1: one that may
 * not stand in a target, or, with *encoded set, a '%' that begins no escape
 * (which is an error in the path only).
 */
static int
text_return_byte(text_span_t target, size_t *i, int *encoded)
{
    int  c;

    c = target.data[*i];
    *encoded = 0;

    if (c <= ' ' || c > '~' || c == '\\') {
        return -1;
    }

    if (c != '%') {
        return c;
    }

    c = text_percent(target.data + *i, target.len - *i);

    if (c < 0) {
        *encoded = 1;
        return -1;
    }

    if (c < ' ' || c == 0x7f) {
        return -1;
    }

    *encoded = 1;
    *i += 2;

    return c;
}


/*
 * One walk over the target.  `dots` counts the dots of a segment that is
 * nothing but dots so far.  An encoded slash ends a segment for that purpose:
 * a browser does not split there, but nginx and applications do.
 */
int
text_return_path(text_span_t target)
{
    int       c, encoded, first, path;
    size_t    i;
    unsigned  dots;

    if (target.len == 0 || target.len > TEXT_RETURN_MAX
        || target.data[0] != '/')
    {
        return 0;
    }

    if (target.len > 1 && target.data[1] == '/') {
        return 0;
    }

    first = path = 1;
    dots = 0;

    for (i = 1; i < target.len; i++) {
        c = text_return_byte(target, &i, &encoded);

        if (c < 0 && (path || !encoded)) {
            return 0;
        }

        if (!path) {
            continue;
        }

        if (c == '/' || c == '\\') {

            if ((encoded && first) || dots == 1 || dots == 2) {
                return 0;
            }

            first = first && encoded;
            dots = 0;

        } else if (!encoded && (c == '?' || c == '#')) {
            path = 0;

            if (dots == 1 || dots == 2) {
                return 0;
            }

        } else if (c == '.' && dots < TEXT_DOTS_NONE) {
            dots++;

        } else {
            dots = TEXT_DOTS_NONE;
        }
    }

    return !(path && (dots == 1 || dots == 2));
}


static inline uint8_t
text_origin_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}


/* The length of `scheme` at the start of `in`, in any case, or 0. */
static size_t
text_origin_scheme(text_span_t in, text_span_t scheme)
{
    size_t  i;

    if (in.len < scheme.len) {
        return 0;
    }

    for (i = 0; i < scheme.len; i++) {
        if (text_origin_lower(in.data[i]) != scheme.data[i]) {
            return 0;
        }
    }

    return scheme.len;
}


/*
 * Labels of letters, digits, '-' and '_', one '.' between them; a single one
 * may end the name, and makes another origin of it, as it does in browsers.
 */
static int
text_origin_name(text_span_t host)
{
    size_t   i;
    uint8_t  c, previous;

    previous = '.';

    for (i = 0; i < host.len; i++) {
        c = text_origin_lower(host.data[i]);

        if (c == '.') {
            if (previous == '.') {
                return 0;
            }

        } else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
                     || c == '-' || c == '_'))
        {
            return 0;
        }

        previous = c;
    }

    return host.len != 0 && host.len <= TEXT_HOST_MAX;
}


/*
 * The inside of the brackets: eight groups of one to four hex digits, or fewer
 * around one "::".  A dotted tail is not taken: browsers write it as groups.
 */
static int
text_origin_ipv6(text_span_t host)
{
    int     gap;
    size_t  i, digits, groups;

    gap = 0;
    groups = 0;

    for (i = 0; i < host.len; /* void */ ) {

        if (host.len - i >= 2 && host.data[i] == ':'
            && host.data[i + 1] == ':')
        {
            if (gap) {
                return 0;
            }

            gap = 1;
            i += 2;

            if (i == host.len) {
                break;
            }

        } else if (i != 0) {

            if (host.data[i] != ':') {
                return 0;
            }

            i++;
        }

        digits = 0;

        while (i < host.len && text_percent_digit(host.data[i]) >= 0) {
            digits++;
            i++;
        }

        if (digits == 0 || digits > 4 || ++groups > 8) {
            return 0;
        }
    }

    return gap ? groups < 8 : groups == 8;
}


/* The number in `digits`, or 0 for what is not a port. */
static unsigned
text_origin_port(text_span_t digits)
{
    size_t    i;
    unsigned  port;

    port = 0;

    if (digits.len > 5) {
        return 0;
    }

    for (i = 0; i < digits.len; i++) {

        if (digits.data[i] < '0' || digits.data[i] > '9') {
            return 0;
        }

        port = port * 10 + (unsigned) (digits.data[i] - '0');
    }

    return port > 65535 ? 0 : port;
}


/* Where the host ends, brackets included, or 0 when it is not one. */
static size_t
text_origin_host(text_span_t in)
{
    text_span_t     host;
    const uint8_t  *end;

    if (in.len == 0) {
        return 0;
    }

    host = in;

    if (*in.data == '[') {
        end = memchr(in.data, ']', in.len);

        if (end == NULL) {
            return 0;
        }

        host.data++;
        host.len = (size_t) (end - host.data);

        return text_origin_ipv6(host) ? host.len + 2 : 0;
    }

    end = memchr(in.data, ':', in.len);

    if (end != NULL) {
        host.len = (size_t) (end - in.data);
    }

    return text_origin_name(host) ? host.len : 0;
}


size_t
text_origin_normal(text_span_t in, uint8_t *out, size_t capacity)
{
    size_t       i, scheme, host;
    unsigned     port, standard, divisor;
    text_out_t   o;
    text_span_t  rest;

    standard = 80;
    scheme = text_origin_scheme(in, text_span("http://"));

    if (scheme == 0) {
        standard = 443;
        scheme = text_origin_scheme(in, text_span("https://"));
    }

    if (scheme == 0) {
        return 0;
    }

    rest.data = in.data + scheme;
    rest.len = in.len - scheme;
    host = text_origin_host(rest);

    if (host == 0) {
        return 0;
    }

    rest.data += host;
    rest.len -= host;
    port = standard;

    if (rest.len != 0) {

        if (*rest.data != ':') {
            return 0;
        }

        rest.data++;
        rest.len--;
        port = text_origin_port(rest);

        if (port == 0) {
            return 0;
        }
    }

    o = (text_out_t) { out, capacity, 0 };

    for (i = 0; i < scheme + host; i++) {
        text_out_byte(&o, text_origin_lower(in.data[i]));
    }

    if (port != standard) {
        text_out_byte(&o, ':');

        for (divisor = 10000; divisor > port; divisor /= 10) { /* void */ }

        for ( /* void */ ; divisor != 0; divisor /= 10) {
            text_out_byte(&o, (uint8_t) ('0' + port / divisor % 10));
        }
    }

    return o.len;
}


int
text_return_origin(text_span_t target, const text_span_t *origins, size_t n)
{
    size_t       i, end;
    uint8_t      normal[TEXT_ORIGIN_MAX];
    text_span_t  origin, rest;

    end = text_origin_scheme(target, text_span("http://"));

    if (end == 0) {
        end = text_origin_scheme(target, text_span("https://"));
    }

    if (end == 0) {
        return 0;
    }

    while (end < target.len && target.data[end] != '/') {

        if (end == TEXT_ORIGIN_MAX) {
            return 0;
        }

        end++;
    }

    origin.data = target.data;
    origin.len = end;
    rest.data = target.data + end;
    rest.len = target.len - end;

    if (rest.len != 0 && !text_return_path(rest)) {
        return 0;
    }

    origin.len = text_origin_normal(origin, normal, sizeof(normal));
    origin.data = normal;

    if (origin.len == 0) {
        return 0;
    }

    for (i = 0; i < n; i++) {
        if (text_span_equal(origin, origins[i])) {
            return 1;
        }
    }

    return 0;
}
