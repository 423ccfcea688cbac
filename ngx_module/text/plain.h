/*
 * plain.h: text that needs no escape in HTML nor in JSON, as nearly all does.
 */

#ifndef TEXT_PLAIN_H_INCLUDED
#define TEXT_PLAIN_H_INCLUDED


#include "span.h"


/* How much at the start of `in` is seen at once to be printable ASCII without
 * " & ' < > ` and backslash.  What follows may be so as well. */
size_t text_plain(text_span_t in);


#endif /* TEXT_PLAIN_H_INCLUDED */
