/*
 * json.c: an append-only JSON writer.
 */

#include "escape.h"
#include "json.h"
#include "out.h"
#include "plain.h"
#include "utf8.h"


static void
text_json_bytes(text_json_t *json, text_span_t bytes)
{
    text_out_t  o;

    o = (text_out_t) { json->data, json->capacity, json->len };
    text_out_bytes(&o, bytes);
    json->len = o.len;
}


/* "\u" and four digits. */
static void
text_json_escape(text_json_t *json, uint32_t code)
{
    uint8_t               out[6];
    text_span_t           bytes;
    static const uint8_t  hex[] = "0123456789abcdef";

    out[0] = '\\';
    out[1] = 'u';
    out[2] = hex[code >> 12 & 15];
    out[3] = hex[code >> 8 & 15];
    out[4] = hex[code >> 4 & 15];
    out[5] = hex[code & 15];

    bytes.data = out;
    bytes.len = sizeof(out);

    text_json_bytes(json, bytes);
}


/*
 * Control characters go as escapes although JSON would take DEL and U+0080 to
 * U+009F raw: the same text ends up in terminals.
 */
static int
text_json_plain(uint32_t code)
{
    static const uint32_t  plain[4] = {
        0x00000000,
        0xafffffbb,             /* all but " & < > */
        0xefffffff,             /* all but the backslash */
        0x7fffffff              /* all but DEL */
    };

    if (code < 0x80) {
        return plain[code >> 5] >> (code & 31) & 1;
    }

    return code >= 0xa0 && code != 0x2028 && code != 0x2029
           && code != TEXT_UTF8_INVALID;
}


/* A plain value in quotes, with a comma before or a colon behind it or not.
 * 0: it does not fit, so that what does has to be found out. */
static int
text_json_copy(text_json_t *json, size_t before, text_span_t value,
    size_t behind)
{
    size_t    len;
    uint8_t  *p;

    len = before + 1 + value.len + 1 + behind;

    if (json->len > json->capacity || json->capacity - json->len < len) {
        return 0;
    }

    p = json->data + json->len;
    json->len += len;

    if (before) {
        *p++ = ',';
    }

    *p++ = '"';

    if (value.len != 0) {
        memcpy(p, value.data, value.len);
        p += value.len;
    }

    *p++ = '"';

    if (behind) {
        *p = ':';
    }

    return 1;
}


static void
text_json_quoted(text_json_t *json, text_span_t value)
{
    size_t       i, n, run, plain;
    uint32_t     code;
    text_span_t  rest;

    plain = text_plain(value);

    if (plain == value.len && text_json_copy(json, 0, value, 0)) {
        return;
    }

    text_json_bytes(json, text_span("\""));

    run = 0;

    for (i = plain; i < value.len; i += n) {
        code = value.data[i];
        n = 1;

        if (code >= 0x80) {
            rest.data = value.data + i;
            rest.len = value.len - i;
            n = text_utf8_next(rest, &code);
        }

        if (text_json_plain(code)) {
            continue;
        }

        rest.data = value.data + run;
        rest.len = i - run;
        text_json_bytes(json, rest);
        run = i + n;

        if (code == TEXT_UTF8_INVALID) {
            text_json_bytes(json, text_span("\xef\xbf\xbd"));

        } else if (code == '"') {
            text_json_bytes(json, text_span("\\\""));

        } else if (code == '\\') {
            text_json_bytes(json, text_span("\\\\"));

        } else {
            text_json_escape(json, code);
        }
    }

    if (run != value.len) {
        rest.data = value.data + run;
        rest.len = value.len - run;
        text_json_bytes(json, rest);
    }

    text_json_bytes(json, text_span("\""));
}


/* What stands before a value: a comma if it is not the first, and its name. */
static void
text_json_name(text_json_t *json, const char *name)
{
    size_t       comma;
    text_span_t  span;

    comma = json->comma ? 1 : 0;
    json->comma = 1;

    if (name == NULL) {

        if (comma) {
            text_json_bytes(json, text_span(","));
        }

        return;
    }

    span.data = (const uint8_t *) name;
    span.len = strlen(name);

    if (text_json_copy(json, comma, span, 1)) {
        return;
    }

    if (comma) {
        text_json_bytes(json, text_span(","));
    }

    text_json_bytes(json, text_span("\""));
    text_json_bytes(json, span);
    text_json_bytes(json, text_span("\":"));
}


void
text_json_init(text_json_t *json, uint8_t *data, size_t capacity)
{
    json->data = data;
    json->capacity = capacity;
    json->len = 0;
    json->comma = 0;
}


void
text_json_object(text_json_t *json, const char *name)
{
    text_json_name(json, name);
    text_json_bytes(json, text_span("{"));
    json->comma = 0;
}


void
text_json_object_end(text_json_t *json)
{
    text_json_bytes(json, text_span("}"));
    json->comma = 1;
}


void
text_json_array(text_json_t *json, const char *name)
{
    text_json_name(json, name);
    text_json_bytes(json, text_span("["));
    json->comma = 0;
}


void
text_json_array_end(text_json_t *json)
{
    text_json_bytes(json, text_span("]"));
    json->comma = 1;
}


void
text_json_string(text_json_t *json, const char *name, text_span_t value)
{
    text_json_name(json, name);
    text_json_quoted(json, value);
}


void
text_json_int(text_json_t *json, const char *name, int64_t value)
{
    size_t       i;
    uint8_t      digits[20];
    uint64_t     rest;
    text_span_t  span;

    text_json_name(json, name);

    /* the smallest number has no positive twin in int64_t */

    rest = value < 0 ? 0 - (uint64_t) value : (uint64_t) value;
    i = sizeof(digits);

    do {
        digits[--i] = (uint8_t) ('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);

    if (value < 0) {
        digits[--i] = '-';
    }

    span.data = digits + i;
    span.len = sizeof(digits) - i;

    text_json_bytes(json, span);
}


void
text_json_bool(text_json_t *json, const char *name, int value)
{
    text_json_name(json, name);
    text_json_bytes(json, value ? text_span("true") : text_span("false"));
}


void
text_json_null(text_json_t *json, const char *name)
{
    text_json_name(json, name);
    text_json_bytes(json, text_span("null"));
}


void
text_json_time(text_json_t *json, const char *name, int64_t value)
{
    uint8_t      out[TEXT_TIME_CHARS];
    text_span_t  span;

    span.data = out;
    span.len = TEXT_TIME_CHARS;

    text_time_iso(value, out);

    text_json_string(json, name, span);
}
