/*
 * escape.c: one function per place a value can stand in.
 */

#include "escape.h"
#include "out.h"
#include "plain.h"
#include "utf8.h"


#define TEXT_TIME_MIN  INT64_C(-62167219200)    /* 0000-01-01T00:00:00Z */
#define TEXT_TIME_MAX  INT64_C(253402300799)    /* 9999-12-31T23:59:59Z */


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


/*
 * Sets *piece to what the start of `in` becomes and returns how much of `in`
 * that was, 0 only for empty `in`.  A run of harmless characters is one piece
 * that points into the input; each character that is not harmless is a piece
 * of its own.
 */
static size_t
text_escape_step(text_span_t in, text_span_t *piece)
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

    for (i = text_plain(in); i < in.len; i += len) {
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
        n = text_escape_step(in, &piece);
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


/* Two digits, value below 100. */
static uint8_t *
text_time_digits(uint8_t *p, unsigned value)
{
    p[0] = (uint8_t) ('0' + value / 10);
    p[1] = (uint8_t) ('0' + value % 10);

    return p + 2;
}


/*
 * Days are counted from 1 March of year 0, so that the leap day is the last
 * one of a year and of a 400-year era (146097 days).
 */
void
text_time_iso(int64_t seconds, uint8_t out[TEXT_TIME_CHARS])
{
    int64_t   shifted;
    uint8_t  *p;
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

    p = text_time_digits(out, year / 100);
    p = text_time_digits(p, year % 100);
    *p++ = '-';
    p = text_time_digits(p, month);
    *p++ = '-';
    p = text_time_digits(p, day + 1);
    *p++ = 'T';
    p = text_time_digits(p, rest / 3600);
    *p++ = ':';
    p = text_time_digits(p, rest / 60 % 60);
    *p++ = ':';
    p = text_time_digits(p, rest % 60);
    *p = 'Z';
}


/* The minute is written alike in both. */
void
text_time_both(int64_t seconds, uint8_t human[TEXT_TIME_CHARS],
    uint8_t iso[TEXT_TIME_CHARS])
{
    text_time_iso(seconds, iso);

    memcpy(human, iso, TEXT_TIME_CHARS - 4);
    memcpy(human + TEXT_TIME_CHARS - 4, " UTC", 4);
    human[10] = ' ';
}
