#include "base64.h"
#include "store.h"


#define STORE_BASE64_BAD  64


static const char  store_base64url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static const char  store_base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a base64url character; STORE_BASE64_BAD for any other. */
static const uint8_t  store_base64url_values[128] = {
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 64,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64,
    64,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 63,
    64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 64, 64, 64, 64, 64,
};


static size_t
store_base64_write(const char *alphabet, const uint8_t *data, size_t n,
    char *text)
{
    char      *p;
    unsigned   bits;
    uint32_t   acc;

    p = text;
    acc = 0;
    bits = 0;

    while (n--) {
        acc = acc << 8 | *data++;

        for (bits += 8; bits >= 6; /* void */) {
            bits -= 6;
            *p++ = alphabet[acc >> bits & 0x3f];
        }
    }

    if (bits) {
        *p++ = alphabet[acc << (6 - bits) & 0x3f];
    }

    return (size_t) (p - text);
}


static uint8_t
store_base64url_value(char c)
{
    uint8_t  u;

    u = (uint8_t) c;

    return u < 128 ? store_base64url_values[u] : STORE_BASE64_BAD;
}


static uint8_t
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


/*
 * The length is compared before anything is written, so data never needs more
 * than n bytes; the bits left over after the last whole byte must be zero, or
 * one value would have several texts.
 */
static int
store_base64_read(uint8_t (*value)(char c), const char *text, size_t len,
    uint8_t *data, size_t n)
{
    size_t    i;
    uint8_t   v;
    unsigned  bits;
    uint32_t  acc;

    if (n > SIZE_MAX / 16 || len != store_base64_chars(n)) {
        return STORE_MALFORMED;
    }

    acc = 0;
    bits = 0;

    for (i = 0; i < len; i++) {
        v = value(text[i]);

        if (v == STORE_BASE64_BAD) {
            return STORE_MALFORMED;
        }

        acc = acc << 6 | v;
        bits += 6;

        if (bits >= 8) {
            bits -= 8;
            *data++ = (uint8_t) (acc >> bits);
        }
    }

    if (acc & ((1u << bits) - 1)) {
        return STORE_MALFORMED;
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
