/*
 * json.h: JSON on stdout, one object a line.  Written in order, nothing is
 * kept.
 */

#ifndef CLI_JSON_H_INCLUDED
#define CLI_JSON_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


#define CLI_JSON_DEPTH  8

typedef struct {
    unsigned  depth;
    unsigned  count[CLI_JSON_DEPTH];    /* members written so far */
} cli_json_t;


void cli_json_begin(cli_json_t *json);
/* `key` is NULL for an element of an array and at the top. */
void cli_json_object(cli_json_t *json, const char *key);
void cli_json_array(cli_json_t *json, const char *key);
/* Ends the innermost object or array, given by its bracket. */
void cli_json_end(cli_json_t *json, char bracket);

/* Bytes that are not UTF-8 become U+FFFD. */
void cli_json_text(cli_json_t *json, const char *key, const char *text,
    size_t n);
void cli_json_number(cli_json_t *json, const char *key, uint64_t number);
/* Seconds since the epoch; null for 0. */
void cli_json_time(cli_json_t *json, const char *key, int64_t time);
void cli_json_bool(cli_json_t *json, const char *key, int value);
void cli_json_null(cli_json_t *json, const char *key);
/* "a,b" becomes ["a","b"] */
void cli_json_list(cli_json_t *json, const char *key, const char *text,
    size_t n);


#endif /* CLI_JSON_H_INCLUDED */
