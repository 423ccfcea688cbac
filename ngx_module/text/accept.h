/*
 * accept.h: what kind of answer a client wants.
 */

#ifndef TEXT_ACCEPT_H_INCLUDED
#define TEXT_ACCEPT_H_INCLUDED


#include "span.h"


typedef enum {
    TEXT_ACCEPT_ANY = 0,        /* absent, or only wildcards */
    TEXT_ACCEPT_HTML,
    TEXT_ACCEPT_JSON
} text_accept_t;


/* By q, then by order; application/json, text/json and application/<x>+json
 * against text/html and application/xhtml+xml.  Neither: TEXT_ACCEPT_ANY. */
text_accept_t text_accept(text_span_t accept);


#endif /* TEXT_ACCEPT_H_INCLUDED */
