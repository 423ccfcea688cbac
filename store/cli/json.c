#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "store.h"


static void cli_json_member(cli_json_t *json, const char *key);
static void cli_json_open(cli_json_t *json, const char *key, char bracket);
static void cli_json_string(const char *text, size_t n);
static size_t cli_json_utf8(const char *text, size_t n);


void
cli_json_begin(cli_json_t *json)
{
    memset(json, 0, sizeof(*json));
}


void
cli_json_object(cli_json_t *json, const char *key)
{
    cli_json_open(json, key, '{');
}


void
cli_json_array(cli_json_t *json, const char *key)
{
    cli_json_open(json, key, '[');
}


static void
cli_json_open(cli_json_t *json, const char *key, char bracket)
{
    cli_json_member(json, key);
    (void) putchar(bracket);

    json->depth++;
    assert(json->depth < CLI_JSON_DEPTH);
    json->count[json->depth] = 0;
}


/* The elements of an outermost array stand on lines of their own. */
void
cli_json_end(cli_json_t *json, char bracket)
{
    if (json->depth == 1 && bracket == ']' && json->count[1]) {
        (void) putchar('\n');
    }

    (void) putchar(bracket);

    assert(json->depth > 0);
    json->depth--;

    if (json->depth == 0) {
        (void) putchar('\n');
    }
}


static void
cli_json_member(cli_json_t *json, const char *key)
{
    if (json->count[json->depth]++) {
        (void) putchar(',');
    }

    if (json->depth == 1 && key == NULL) {
        (void) putchar('\n');
    }

    if (key) {
        cli_json_string(key, strlen(key));
        (void) putchar(':');
    }
}


void
cli_json_text(cli_json_t *json, const char *key, const char *text, size_t n)
{
    cli_json_member(json, key);
    cli_json_string(text, n);
}


static void
cli_json_string(const char *text, size_t n)
{
    size_t         i, step;
    unsigned char  c;

    (void) putchar('"');

    for (i = 0; i < n; i += step) {
        c = (unsigned char) text[i];
        step = 1;

        if (c == '"' || c == '\\') {
            (void) printf("\\%c", c);

        } else if (c < 0x20 || c == 0x7f) {
            (void) printf("\\u%04x", c);

        } else if (c < 0x80) {
            (void) putchar(c);

        } else {
            step = cli_json_utf8(text + i, n - i);

            if (step) {
                (void) fwrite(text + i, 1, step, stdout);

            } else {
                (void) fputs("\\ufffd", stdout);
                step = 1;
            }
        }
    }

    (void) putchar('"');
}


/* The length of the character at the start, as the store judges it, or 0. */
static size_t
cli_json_utf8(const char *text, size_t n)
{
    size_t        len;
    store_name_t  name;

    for (len = 2; len <= 4 && len <= n; len++) {
        if (store_text_set(&name, text, len) == STORE_OK) {
            return len;
        }
    }

    return 0;
}


void
cli_json_number(cli_json_t *json, const char *key, uint64_t number)
{
    cli_json_member(json, key);
    (void) printf("%" PRIu64, number);
}


void
cli_json_time(cli_json_t *json, const char *key, int64_t time)
{
    if (time == 0) {
        cli_json_null(json, key);
        return;
    }

    cli_json_member(json, key);
    (void) printf("%" PRId64, time);
}


void
cli_json_bool(cli_json_t *json, const char *key, int value)
{
    cli_json_member(json, key);
    (void) fputs(value ? "true" : "false", stdout);
}


void
cli_json_null(cli_json_t *json, const char *key)
{
    cli_json_member(json, key);
    (void) fputs("null", stdout);
}


void
cli_json_list(cli_json_t *json, const char *key, const char *text, size_t n)
{
    size_t  i, start;

    cli_json_array(json, key);

    for (i = 0, start = 0; i <= n; i++) {
        if (i < n && text[i] != ',') {
            continue;
        }

        if (i > start) {
            cli_json_text(json, NULL, text + start, i - start);
        }

        start = i + 1;
    }

    cli_json_end(json, ']');
}
