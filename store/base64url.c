#include <string.h>

#include "base64.h"
#include "store.h"


#define STORE_BASE64_BAD    64          /* no value of a character */
#define STORE_BASE64_WRONG  (1u << 24)  /* nor of a group */


static const char  store_base64url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static const char  store_base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a base64url character; STORE_BASE64_BAD for any other. */
static const uint8_t  store_base64url_values[256] = {
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 64,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64,
    64,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 63,
    64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
};


/* Three bytes are four characters; one or two left over are two or three. */
static size_t
store_base64_write(const char *alphabet, const uint8_t *data, size_t n,
    char *text)
{
    char      *p;
    uint32_t   group;

    for (p = text; n >= 3; n -= 3, data += 3) {
        group = (uint32_t) (data[0] << 16 | data[1] << 8 | data[2]);

        *p++ = alphabet[group >> 18];
        *p++ = alphabet[group >> 12 & 0x3f];
        *p++ = alphabet[group >> 6 & 0x3f];
        *p++ = alphabet[group & 0x3f];
    }

    if (n) {
        group = (uint32_t) (data[0] << 16 | (n == 2 ? data[1] << 8 : 0));

        *p++ = alphabet[group >> 18];
        *p++ = alphabet[group >> 12 & 0x3f];

        if (n == 2) {
            *p++ = alphabet[group >> 6 & 0x3f];
        }
    }

    return (size_t) (p - text);
}


static inline uint8_t
store_base64url_value(char c)
{
    return store_base64url_values[(uint8_t) c];
}


static inline uint8_t
store_base64_value(char c)
{
    switch (c) {

    case '+':
        return store_base64url_value('-');

    case '/':
        return store_base64url_value('_');

    case '-':
    case '_':
        return STORE_BASE64_BAD;

    default:
        return store_base64url_value(c);
    }
}


/* Four characters as 24 bits; with a bad one, STORE_BASE64_WRONG or more. */
static inline uint32_t
store_base64_group(uint8_t (*value)(char c), const char *text)
{
    uint8_t  a, b, c, d;

    a = value(text[0]);
    b = value(text[1]);
    c = value(text[2]);
    d = value(text[3]);

    if ((a | b | c | d) & STORE_BASE64_BAD) {
        return STORE_BASE64_WRONG;
    }

    return (uint32_t) (a << 18 | b << 12 | c << 6 | d);
}


/*
 * The length is compared before anything is written, so data never needs more
 * than n bytes; the bits left over after the last whole byte must be zero, or
 * one value would have several texts.  Missing characters of the last group
 * count as A, which is zero.
 */
static inline int
store_base64_read(uint8_t (*value)(char c), const char *text, size_t len,
    uint8_t *data, size_t n)
{
    char      rest[4] = { 'A', 'A', 'A', 'A' };
    uint32_t  group;

    if (n > SIZE_MAX / 16 || len != store_base64_chars(n)) {
        return STORE_MALFORMED;
    }

    for ( /* void */ ; n >= 3; n -= 3, text += 4) {
        group = store_base64_group(value, text);

        if (group >= STORE_BASE64_WRONG) {
            return STORE_MALFORMED;
        }

        *data++ = (uint8_t) (group >> 16);
        *data++ = (uint8_t) (group >> 8);
        *data++ = (uint8_t) group;
    }

    if (n == 0) {
        return STORE_OK;
    }

    memcpy(rest, text, n + 1);
    group = store_base64_group(value, rest);

    if (group >= STORE_BASE64_WRONG || group & (n == 1 ? 0xffff : 0xff)) {
        return STORE_MALFORMED;
    }

    *data++ = (uint8_t) (group >> 16);

    if (n == 2) {
        *data = (uint8_t) (group >> 8);
    }

    return STORE_OK;
}


size_t
store_base64url_encode(const uint8_t *data, size_t n, char *text)
{
    return store_base64_write(store_base64url_alphabet, data, n, text);
}


int
store_base64url_decode(const char *text, size_t len, uint8_t *data, size_t n)
{
    return store_base64_read(store_base64url_value, text, len, data, n);
}


size_t
store_base64_encode(const uint8_t *data, size_t n, char *text)
{
    return store_base64_write(store_base64_alphabet, data, n, text);
}


int
store_base64_decode(const char *text, size_t len, uint8_t *data, size_t n)
{
    return store_base64_read(store_base64_value, text, len, data, n);
}
