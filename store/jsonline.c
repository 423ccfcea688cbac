#include <string.h>

#include "jsonline.h"


typedef struct {
    const uint8_t  *pos;
    const uint8_t  *end;
    store_json_t   *json;
} store_json_parser_t;


static int store_json_object(store_json_parser_t *p);
static int store_json_member(store_json_parser_t *p);
static int store_json_value(store_json_parser_t *p,
    store_json_member_t *member);
static int store_json_number(store_json_parser_t *p,
    store_json_member_t *member);
static int store_json_string(store_json_parser_t *p, const char **data,
    size_t *n);
static int store_json_escape(store_json_parser_t *p);
static int store_json_unicode(store_json_parser_t *p, uint32_t *code);
static int store_json_utf8(store_json_parser_t *p);
static int store_json_append(store_json_parser_t *p, const uint8_t *data,
    size_t n);
static int store_json_append_code(store_json_parser_t *p, uint32_t code);
static int store_json_word(store_json_parser_t *p, const char *word);
static int store_json_char(store_json_parser_t *p, uint8_t c);
static void store_json_space(store_json_parser_t *p);
static int store_json_hex_digit(uint8_t c);


int
store_json_parse(store_json_t *json, const char *line, size_t n)
{
    int                  rc;
    store_json_parser_t  p;

    json->n = 0;
    json->used = 0;
    json->wrong = "not a flat JSON object";

    if (n > STORE_JSON_LINE_MAX) {
        json->wrong = "the line is too long";
        return STORE_LIMIT;
    }

    p.pos = (const uint8_t *) line;
    p.end = p.pos + n;
    p.json = json;

    rc = store_json_object(&p);
    if (rc != STORE_OK) {
        return rc;
    }

    store_json_space(&p);

    return p.pos == p.end ? STORE_OK : STORE_MALFORMED;
}


static int
store_json_object(store_json_parser_t *p)
{
    int  rc;

    if (!store_json_char(p, '{')) {
        return STORE_MALFORMED;
    }

    if (store_json_char(p, '}')) {
        return STORE_OK;
    }

    for ( ;; ) {
        rc = store_json_member(p);
        if (rc != STORE_OK) {
            return rc;
        }

        if (store_json_char(p, '}')) {
            return STORE_OK;
        }

        if (!store_json_char(p, ',')) {
            return STORE_MALFORMED;
        }
    }
}


static int
store_json_member(store_json_parser_t *p)
{
    int                   rc;
    size_t                i;
    store_json_t         *json;
    store_json_member_t  *member;

    json = p->json;

    if (json->n == STORE_JSON_MEMBERS_MAX) {
        json->wrong = "too many members";
        return STORE_LIMIT;
    }

    member = &json->members[json->n];
    memset(member, 0, sizeof(store_json_member_t));

    if (!store_json_char(p, '"')) {
        return STORE_MALFORMED;
    }

    rc = store_json_string(p, &member->name, &member->name_len);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < json->n; i++) {

        if (json->members[i].name_len == member->name_len
            && memcmp(json->members[i].name, member->name, member->name_len)
               == 0)
        {
            json->wrong = "a name stands twice";
            return STORE_MALFORMED;
        }
    }

    if (!store_json_char(p, ':')) {
        return STORE_MALFORMED;
    }

    rc = store_json_value(p, member);
    if (rc != STORE_OK) {
        return rc;
    }

    json->n++;

    return STORE_OK;
}


static int
store_json_value(store_json_parser_t *p, store_json_member_t *member)
{
    if (store_json_char(p, '"')) {
        member->type = STORE_JSON_STRING;
        return store_json_string(p, &member->data, &member->len);
    }

    if (store_json_word(p, "true")) {
        member->type = STORE_JSON_BOOLEAN;
        member->number = 1;
        return STORE_OK;
    }

    if (store_json_word(p, "false")) {
        member->type = STORE_JSON_BOOLEAN;
        return STORE_OK;
    }

    member->type = STORE_JSON_NUMBER;

    return store_json_number(p, member);
}


/* What follows is looked at by whoever expects a comma or a brace, so "1.5"
 * and "1e9" fail there. */
static int
store_json_number(store_json_parser_t *p, store_json_member_t *member)
{
    uint64_t        digit, value;
    const uint8_t  *start;

    if (p->pos < p->end && *p->pos == '-') {
        member->negative = 1;
        p->pos++;
    }

    start = p->pos;
    value = 0;

    while (p->pos < p->end && *p->pos >= '0' && *p->pos <= '9') {
        digit = (uint64_t) (*p->pos - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            p->json->wrong = "a number is too large";
            return STORE_MALFORMED;
        }

        value = value * 10 + digit;
        p->pos++;
    }

    if (p->pos == start || (*start == '0' && p->pos - start > 1)
        || (member->negative && value == 0))
    {
        return STORE_MALFORMED;
    }

    member->number = value;

    return STORE_OK;
}


/* After the opening quote.  Decoded into json->text, where there is room:
 * nothing gets longer by being decoded. */
static int
store_json_string(store_json_parser_t *p, const char **data, size_t *n)
{
    int     rc;
    size_t  start;

    start = p->json->used;
    rc = STORE_OK;

    while (rc == STORE_OK) {

        if (p->pos == p->end || *p->pos < 0x20) {
            return STORE_MALFORMED;
        }

        if (*p->pos == '"') {
            p->pos++;
            *data = p->json->text + start;
            *n = p->json->used - start;
            return STORE_OK;
        }

        if (*p->pos == '\\') {
            p->pos++;
            rc = store_json_escape(p);

        } else {
            rc = store_json_utf8(p);
        }
    }

    return rc;
}


static int
store_json_escape(store_json_parser_t *p)
{
    int                rc;
    uint8_t            c;
    uint32_t           code, low;
    const char        *found;
    static const char  names[] = "\"\\/bfnrt";
    static const char  values[] = "\"\\/\b\f\n\r\t";

    if (p->pos == p->end) {
        return STORE_MALFORMED;
    }

    c = *p->pos++;

    if (c != 'u') {
        found = c ? strchr(names, c) : NULL;

        if (found == NULL) {
            return STORE_MALFORMED;
        }

        return store_json_append_code(p, (uint8_t) values[found - names]);
    }

    rc = store_json_unicode(p, &code);
    if (rc != STORE_OK) {
        return rc;
    }

    if (code >= 0xd800 && code < 0xdc00) {

        if (p->end - p->pos < 2 || p->pos[0] != '\\' || p->pos[1] != 'u') {
            return STORE_MALFORMED;
        }

        p->pos += 2;

        rc = store_json_unicode(p, &low);
        if (rc != STORE_OK) {
            return rc;
        }

        if (low < 0xdc00 || low > 0xdfff) {
            return STORE_MALFORMED;
        }

        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);

    } else if (code == 0 || (code >= 0xdc00 && code <= 0xdfff)) {
        return STORE_MALFORMED;
    }

    return store_json_append_code(p, code);
}


static int
store_json_unicode(store_json_parser_t *p, uint32_t *code)
{
    int  i, digit;

    if (p->end - p->pos < 4) {
        return STORE_MALFORMED;
    }

    for (i = 0, *code = 0; i < 4; i++) {
        digit = store_json_hex_digit(*p->pos++);

        if (digit == -1) {
            return STORE_MALFORMED;
        }

        *code = *code << 4 | (uint32_t) digit;
    }

    return STORE_OK;
}


/* One character as it stands: shortest form, no surrogates, up to U+10FFFF. */
static int
store_json_utf8(store_json_parser_t *p)
{
    size_t          i, len;
    uint32_t        code, min;
    const uint8_t  *s;

    s = p->pos;

    if (s[0] < 0x80) {
        p->pos++;
        return store_json_append(p, s, 1);
    }

    if (s[0] < 0xc2 || s[0] > 0xf4) {
        return STORE_MALFORMED;
    }

    len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    min = len == 2 ? 0x80 : len == 3 ? 0x800 : 0x10000;
    code = s[0] & (0xffU >> (len + 1));

    if ((size_t) (p->end - s) < len) {
        return STORE_MALFORMED;
    }

    for (i = 1; i < len; i++) {

        if ((s[i] & 0xc0) != 0x80) {
            return STORE_MALFORMED;
        }

        code = code << 6 | (s[i] & 0x3f);
    }

    if (code < min || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return STORE_MALFORMED;
    }

    p->pos += len;

    return store_json_append(p, s, len);
}


static int
store_json_append(store_json_parser_t *p, const uint8_t *data, size_t n)
{
    if (n > sizeof(p->json->text) - p->json->used) {
        return STORE_LIMIT;
    }

    memcpy(p->json->text + p->json->used, data, n);
    p->json->used += n;

    return STORE_OK;
}


static int
store_json_append_code(store_json_parser_t *p, uint32_t code)
{
    uint8_t  s[4];

    if (code < 0x80) {
        s[0] = (uint8_t) code;
        return store_json_append(p, s, 1);
    }

    if (code < 0x800) {
        s[0] = (uint8_t) (0xc0 | code >> 6);
        s[1] = (uint8_t) (0x80 | (code & 0x3f));
        return store_json_append(p, s, 2);
    }

    if (code < 0x10000) {
        s[0] = (uint8_t) (0xe0 | code >> 12);
        s[1] = (uint8_t) (0x80 | (code >> 6 & 0x3f));
        s[2] = (uint8_t) (0x80 | (code & 0x3f));
        return store_json_append(p, s, 3);
    }

    s[0] = (uint8_t) (0xf0 | code >> 18);
    s[1] = (uint8_t) (0x80 | (code >> 12 & 0x3f));
    s[2] = (uint8_t) (0x80 | (code >> 6 & 0x3f));
    s[3] = (uint8_t) (0x80 | (code & 0x3f));

    return store_json_append(p, s, 4);
}


/* Both move over white space first. */
static int
store_json_word(store_json_parser_t *p, const char *word)
{
    size_t  n;

    n = strlen(word);

    if (!store_json_char(p, (uint8_t) word[0])) {
        return 0;
    }

    if ((size_t) (p->end - p->pos) < n - 1
        || memcmp(p->pos, word + 1, n - 1) != 0)
    {
        p->pos--;
        return 0;
    }

    p->pos += n - 1;

    return 1;
}


static int
store_json_char(store_json_parser_t *p, uint8_t c)
{
    store_json_space(p);

    if (p->pos == p->end || *p->pos != c) {
        return 0;
    }

    p->pos++;

    return 1;
}


static void
store_json_space(store_json_parser_t *p)
{
    while (p->pos < p->end
           && (*p->pos == ' ' || *p->pos == '\t' || *p->pos == '\r'))
    {
        p->pos++;
    }
}


static int
store_json_hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }

    c |= 0x20;

    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
