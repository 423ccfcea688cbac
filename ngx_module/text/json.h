/*
 * json.h: an append-only JSON writer.  Commas are its own business; the
 * caller's nesting is not checked.  Strings may hold any bytes: invalid UTF-8
 * comes out as U+FFFD, and < > & U+2028 U+2029 as \u escapes, so the text can
 * stand inside a script element.
 */

#ifndef TEXT_JSON_H_INCLUDED
#define TEXT_JSON_H_INCLUDED


#include "span.h"


typedef struct {
    uint8_t  *data;
    size_t    capacity;
    size_t    len;              /* needed; > capacity: output is cut */
    int       comma;
} text_json_t;


void text_json_init(text_json_t *json, uint8_t *data, size_t capacity);
/* name is a literal of letters, digits and '_', which goes out as it is; NULL
 * inside arrays and at the top */
void text_json_object(text_json_t *json, const char *name);
void text_json_object_end(text_json_t *json);
void text_json_array(text_json_t *json, const char *name);
void text_json_array_end(text_json_t *json);
void text_json_string(text_json_t *json, const char *name, text_span_t value);
void text_json_int(text_json_t *json, const char *name, int64_t value);
void text_json_bool(text_json_t *json, const char *name, int value);
void text_json_null(text_json_t *json, const char *name);
/* seconds since the epoch as "2026-01-02T03:04:05Z" */
void text_json_time(text_json_t *json, const char *name, int64_t value);


#endif /* TEXT_JSON_H_INCLUDED */
