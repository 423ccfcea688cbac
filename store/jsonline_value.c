#include <inttypes.h>
#include <string.h>

#include "jsonline.h"


static store_json_member_t *store_json_take(store_json_t *json,
    const char *name, store_json_type_t type);
static void store_json_put_name(store_json_out_t *json, const char *name);


int
store_json_get_string(store_json_t *json, const char *name, const char **data,
    size_t *n)
{
    store_json_member_t  *member;

    member = store_json_take(json, name, STORE_JSON_STRING);
    if (member == NULL) {
        return STORE_MALFORMED;
    }

    *data = member->data;
    *n = member->len;

    return STORE_OK;
}


int
store_json_get_number(store_json_t *json, const char *name, uint64_t max,
    uint64_t *value)
{
    store_json_member_t  *member;

    member = store_json_take(json, name, STORE_JSON_NUMBER);

    if (member == NULL || member->negative || member->number > max) {
        return STORE_MALFORMED;
    }

    *value = member->number;

    return STORE_OK;
}


int
store_json_get_integer(store_json_t *json, const char *name, int32_t *value)
{
    store_json_member_t  *member;

    member = store_json_take(json, name, STORE_JSON_NUMBER);

    if (member == NULL || member->number > INT32_MAX) {
        return STORE_MALFORMED;
    }

    *value = member->negative ? -(int32_t) member->number
                              : (int32_t) member->number;

    return STORE_OK;
}


int
store_json_get_hex(store_json_t *json, const char *name, uint8_t *data,
    size_t n)
{
    size_t                i;
    const char           *high, *low;
    store_json_member_t  *member;
    static const char     digits[] = "0123456789abcdef";

    member = store_json_take(json, name, STORE_JSON_STRING);

    if (member == NULL || member->len != n * 2) {
        return STORE_MALFORMED;
    }

    for (i = 0; i < n; i++) {
        high = memchr(digits, member->data[i * 2], 16);
        low = memchr(digits, member->data[i * 2 + 1], 16);

        if (high == NULL || low == NULL) {
            return STORE_MALFORMED;
        }

        data[i] = (uint8_t) ((high - digits) << 4 | (low - digits));
    }

    return STORE_OK;
}


int
store_json_done(store_json_t *json)
{
    size_t  i;

    for (i = 0; i < json->n; i++) {

        if (!json->members[i].taken) {
            json->wrong = "a member is unknown";
            return STORE_MALFORMED;
        }
    }

    return STORE_OK;
}


static store_json_member_t *
store_json_take(store_json_t *json, const char *name, store_json_type_t type)
{
    size_t  i, n;

    n = strlen(name);
    json->wrong = name;

    for (i = 0; i < json->n; i++) {

        if (json->members[i].name_len != n
            || memcmp(json->members[i].name, name, n) != 0)
        {
            continue;
        }

        if (json->members[i].type != type || json->members[i].taken) {
            return NULL;
        }

        json->members[i].taken = 1;

        return &json->members[i];
    }

    return NULL;
}


void
store_json_begin(store_json_out_t *json, FILE *out)
{
    json->out = out;
    json->first = 1;

    (void) fputc('{', out);
}


/* Text in records holds no control characters; should one turn up, it is
 * escaped and the line stays a line. */
void
store_json_put_string(store_json_out_t *json, const char *name,
    const char *data, size_t n)
{
    size_t   i;
    uint8_t  c;

    store_json_put_name(json, name);
    (void) fputc('"', json->out);

    for (i = 0; i < n; i++) {
        c = (uint8_t) data[i];

        if (c == '"' || c == '\\') {
            (void) fputc('\\', json->out);
            (void) fputc(c, json->out);

        } else if (c < 0x20 || c == 0x7f) {
            (void) fprintf(json->out, "\\u%04x", c);

        } else {
            (void) fputc(c, json->out);
        }
    }

    (void) fputc('"', json->out);
}


void
store_json_put_number(store_json_out_t *json, const char *name, uint64_t value)
{
    store_json_put_name(json, name);
    (void) fprintf(json->out, "%" PRIu64, value);
}


void
store_json_put_integer(store_json_out_t *json, const char *name, int32_t value)
{
    store_json_put_name(json, name);
    (void) fprintf(json->out, "%" PRId32, value);
}


void
store_json_put_hex(store_json_out_t *json, const char *name,
    const uint8_t *data, size_t n)
{
    size_t  i;

    store_json_put_name(json, name);
    (void) fputc('"', json->out);

    for (i = 0; i < n; i++) {
        (void) fprintf(json->out, "%02x", data[i]);
    }

    (void) fputc('"', json->out);
}


void
store_json_end(store_json_out_t *json)
{
    (void) fputs("}\n", json->out);
}


static void
store_json_put_name(store_json_out_t *json, const char *name)
{
    (void) fprintf(json->out, json->first ? "\"%s\":" : ",\"%s\":", name);
    json->first = 0;
}
