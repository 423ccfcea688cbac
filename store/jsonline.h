/*
 * jsonline.h: one line of a dump, a flat JSON object of strings, whole numbers
 * and booleans.  No nesting, null, fraction or exponent.
 *
 * Writing goes to a stream and keeps no state but `first`; whether it arrived
 * is asked of the stream at the end.
 *
 * Reading is strict, because a dump may come from anywhere: valid UTF-8, known
 * escapes, no character U+0000, no name twice, nothing after the brace, 16 KiB
 * at most.  Each member must be asked for exactly once; what is left over was
 * not meant for us.
 */

#ifndef STORE_JSONLINE_H_INCLUDED
#define STORE_JSONLINE_H_INCLUDED


#include "store.h"


#define STORE_JSON_LINE_MAX     16384
#define STORE_JSON_MEMBERS_MAX  32


typedef enum {
    STORE_JSON_STRING,
    STORE_JSON_NUMBER,
    STORE_JSON_BOOLEAN
} store_json_type_t;

typedef struct {
    const char         *name;           /* into text, as is data */
    const char         *data;
    size_t              name_len;
    size_t              len;
    uint64_t            number;         /* the value without its sign; 0, 1 */
    store_json_type_t   type;
    int                 negative;
    int                 taken;
} store_json_member_t;

typedef struct {
    store_json_member_t  members[STORE_JSON_MEMBERS_MAX];
    size_t               n;
    size_t               used;          /* of text */
    const char          *wrong;         /* member or what, for a message */
    char                 text[STORE_JSON_LINE_MAX];
} store_json_t;


/* line without its newline.  STORE_OK, STORE_MALFORMED or STORE_LIMIT. */
int store_json_parse(store_json_t *json, const char *line, size_t n)
    STORE_CHECK_RESULT;

/* STORE_OK, or STORE_MALFORMED: missing, of another type, out of range.
 * json->wrong names it. */
int store_json_get_string(store_json_t *json, const char *name,
    const char **data, size_t *n) STORE_CHECK_RESULT;
int store_json_get_number(store_json_t *json, const char *name, uint64_t max,
    uint64_t *value) STORE_CHECK_RESULT;
int store_json_get_integer(store_json_t *json, const char *name,
    int32_t *value) STORE_CHECK_RESULT;
/* Exactly n bytes in lower-case hex. */
int store_json_get_hex(store_json_t *json, const char *name, uint8_t *data,
    size_t n) STORE_CHECK_RESULT;
/* STORE_MALFORMED when a member was not asked for. */
int store_json_done(store_json_t *json) STORE_CHECK_RESULT;


typedef struct {
    FILE  *out;
    int    first;
} store_json_out_t;

void store_json_begin(store_json_out_t *json, FILE *out);
void store_json_put_string(store_json_out_t *json, const char *name,
    const char *data, size_t n);
void store_json_put_number(store_json_out_t *json, const char *name,
    uint64_t value);
void store_json_put_integer(store_json_out_t *json, const char *name,
    int32_t value);
void store_json_put_hex(store_json_out_t *json, const char *name,
    const uint8_t *data, size_t n);
void store_json_end(store_json_out_t *json);


#endif /* STORE_JSONLINE_H_INCLUDED */
