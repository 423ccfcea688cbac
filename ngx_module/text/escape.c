/*
 * escape.c: one function per place a value can stand in.
 */

#include "escape.h"
#include "out.h"
#include "utf8.h"


#define TEXT_BLOCK  16          /* bytes of a block */

#define TEXT_TIME_MIN  INT64_C(-62167219200)    /* 0000-01-01T00:00:00Z */
#define TEXT_TIME_MAX  INT64_C(253402300799)    /* 9999-12-31T23:59:59Z */


/* Vectors of gcc and clang: machine instructions where there are some. */
typedef uint8_t  text_block_t __attribute__((vector_size(TEXT_BLOCK)));


/* What an ASCII byte that cannot stay becomes. */
static text_span_t
text_escape_entity(uint8_t c)
{
    switch (c) {

    case '&':
        return text_span("&amp;");

    case '<':
        return text_span("&lt;");

    case '>':
        return text_span("&gt;");

    case '"':
        return text_span("&quot;");

    case '\'':
        return text_span("&#39;");

    case '`':
        return text_span("&#96;");

    default:
        return text_span("\xef\xbf\xbd");
    }
}


/* A block of printable ASCII without one of " & ' < > ` in it. */
static int
text_escape_plain(const uint8_t *data)
{
    uint64_t      bad[2];
    text_block_t  b, found;

    memcpy(&b, data, TEXT_BLOCK);

    /* & and ', < and > differ in one bit */

    found = (text_block_t) ((b < 0x20) | (b > 0x7e) | (b == '"') | (b == '`')
                            | ((b | 1) == '\'') | ((b | 2) == '>'));

    memcpy(bad, &found, TEXT_BLOCK);

    return (bad[0] | bad[1]) == 0;
}


/* How much at the start of `in` can be passed over block by block; the last
 * block may overlap the one before. */
static size_t
text_escape_skip(text_span_t in)
{
    size_t  i;

    if (in.len < TEXT_BLOCK) {
        return 0;
    }

    for (i = 0; i <= in.len - TEXT_BLOCK; i += TEXT_BLOCK) {
        if (!text_escape_plain(in.data + i)) {
            return i;
        }
    }

    return text_escape_plain(in.data + in.len - TEXT_BLOCK) ? in.len : i;
}


/*
 * A run of harmless characters is one piece that points into the input; each
 * character that is not harmless is a piece of its own.
 */
size_t
text_escape_html_step(text_span_t in, text_span_t *piece)
{
    size_t                 i, len;
    uint8_t                c;
    uint32_t               code;
    text_span_t            rest;
    static const uint32_t  plain[4] = {
        0x00000600,             /* tab, newline */
        0xafffff3b,             /* all but " & ' < > */
        0xffffffff,
        0x7ffffffe              /* all but ` and DEL */
    };

    len = 0;
    piece->len = 0;

    for (i = text_escape_skip(in); i < in.len; i += len) {
        c = in.data[i];
        len = 1;

        if (c < 0x80 && (plain[c >> 5] >> (c & 31) & 1)) {
            continue;
        }

        if (c < 0x80) {
            *piece = text_escape_entity(c);

        } else {
            rest.data = in.data + i;
            rest.len = in.len - i;
            len = text_utf8_next(rest, &code);

            /* U+0080 to U+009F are control characters as well */

            if (code == TEXT_UTF8_INVALID || code < 0xa0) {
                *piece = text_span("\xef\xbf\xbd");
            }
        }

        if (piece->len != 0) {
            break;
        }
    }

    if (i == 0 && in.len != 0) {
        return len;
    }

    piece->data = in.data;
    piece->len = i;

    return i;
}


size_t
text_escape_html(text_span_t in, uint8_t *out, size_t capacity)
{
    size_t       n;
    text_out_t   o;
    text_span_t  piece;

    o = (text_out_t) { out, capacity, 0 };

    while (in.len != 0) {
        n = text_escape_html_step(in, &piece);
        text_out_bytes(&o, piece);
        in.data += n;
        in.len -= n;
    }

    return o.len;
}


size_t
text_escape_query(text_span_t in, uint8_t *out, size_t capacity)
{
    size_t                i;
    uint8_t               c, lower;
    text_out_t            o;
    static const uint8_t  hex[] = "0123456789ABCDEF";

    o = (text_out_t) { out, capacity, 0 };

    for (i = 0; i < in.len; i++) {
        c = in.data[i];
        lower = c | 0x20;

        if ((lower >= 'a' && lower <= 'z') || (c >= '-' && c <= '9')
            || c == '_' || c == '~')
        {
            text_out_byte(&o, c);
            continue;
        }

        text_out_byte(&o, '%');
        text_out_byte(&o, hex[c >> 4]);
        text_out_byte(&o, hex[c & 15]);
    }

    return o.len;
}


static uint8_t *
text_time_digits(uint8_t *p, unsigned value, unsigned digits)
{
    unsigned  i;

    for (i = digits; i > 0; i--) {
        p[i - 1] = (uint8_t) ('0' + value % 10);
        value /= 10;
    }

    return p + digits;
}


/*
 * Writes "2026-01-02", `between` and "03:04" and returns what lies behind.
 * Days are counted from 1 March of year 0, so that the leap day is the last
 * one of a year and of a 400-year era (146097 days).
 */
static uint8_t *
text_time_minutes(int64_t seconds, uint8_t between, uint8_t *p,
    unsigned *second)
{
    int64_t   shifted;
    unsigned  days, era, day, year, month, rest;

    if (seconds < TEXT_TIME_MIN) {
        seconds = TEXT_TIME_MIN;
    }

    if (seconds > TEXT_TIME_MAX) {
        seconds = TEXT_TIME_MAX;
    }

    /* one era earlier than year 0, so that nothing is negative */

    shifted = seconds - TEXT_TIME_MIN + INT64_C(86400) * (146097 - 60);

    rest = (unsigned) (shifted % 86400);
    days = (unsigned) (shifted / 86400);
    era = days / 146097;
    day = days % 146097;
    year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= year * 365 + year / 4 - year / 100;
    month = (day * 5 + 2) / 153;
    day -= (month * 153 + 2) / 5;
    month = month < 10 ? month + 3 : month - 9;
    year += era * 400 + (month <= 2) - 400;

    p = text_time_digits(p, year, 4);
    *p++ = '-';
    p = text_time_digits(p, month, 2);
    *p++ = '-';
    p = text_time_digits(p, day + 1, 2);
    *p++ = between;
    p = text_time_digits(p, rest / 3600, 2);
    *p++ = ':';
    p = text_time_digits(p, rest / 60 % 60, 2);

    *second = rest % 60;

    return p;
}


size_t
text_time_human(int64_t seconds, uint8_t out[TEXT_TIME_CHARS])
{
    uint8_t   *p;
    unsigned   second;

    p = text_time_minutes(seconds, ' ', out, &second);
    memcpy(p, " UTC", 4);

    return TEXT_TIME_CHARS;
}


size_t
text_time_iso(int64_t seconds, uint8_t out[TEXT_TIME_CHARS])
{
    uint8_t   *p;
    unsigned   second;

    p = text_time_minutes(seconds, 'T', out, &second);
    *p++ = ':';
    p = text_time_digits(p, second, 2);
    *p = 'Z';

    return TEXT_TIME_CHARS;
}
