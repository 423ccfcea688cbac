/*
 * device.h: "Firefox on Linux" out of a User-Agent.  A hint for people who
 * look through their own sessions, never an input of a decision.
 */

#ifndef TEXT_DEVICE_H_INCLUDED
#define TEXT_DEVICE_H_INCLUDED


#include "span.h"


#define TEXT_DEVICE_CHARS  48


/* Known browsers and tools by family, else "Unknown device".  Static parts
 * only, so nothing of the header itself comes out.  Returns the length. */
size_t text_device(text_span_t agent, uint8_t out[TEXT_DEVICE_CHARS]);


#endif /* TEXT_DEVICE_H_INCLUDED */
