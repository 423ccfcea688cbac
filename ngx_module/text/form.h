/*
 * form.h: application/x-www-form-urlencoded, decoded once, in place.
 */

#ifndef TEXT_FORM_H_INCLUDED
#define TEXT_FORM_H_INCLUDED


#include "span.h"


#define TEXT_FORM_FIELDS_MAX  64        /* pairs in one body */


typedef enum {
    TEXT_FORM_OK = 0,
    TEXT_FORM_DUPLICATE = -1,           /* a wanted field twice */
    TEXT_FORM_TOO_MANY = -2,
    TEXT_FORM_BAD_ESCAPE = -3           /* '%' without two hex digits */
} text_form_code_t;


typedef struct {
    text_span_t  name;          /* in */
    text_span_t  value;         /* out: points into the body */
    int          present;       /* out */
} text_form_field_t;


/*
 * Decodes body (of len bytes, changed in place) and fills the fields wanted.
 * Unknown fields are ignored but counted.  '+' is a space; any byte incl. NUL
 * may come out of an escape.  A field named "a[]" or "a[x]" where "a" is wanted
 * is TEXT_FORM_DUPLICATE: frameworks would read it as the same parameter.
 */
int text_form_parse(uint8_t *body, size_t len, text_form_field_t *fields,
    size_t n);

/* 1 when a Content-Type is this one: exact type, any case, parameters
 * (charset and so on) allowed after ';'. */
int text_form_type(text_span_t content_type);


#endif /* TEXT_FORM_H_INCLUDED */
