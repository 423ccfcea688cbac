/*
 * siphash.c: SipHash-2-4 as Aumasson and Bernstein define it.
 */


#include "siphash.h"


static uint64_t text_siphash_word(const uint8_t *data, size_t n);
static uint64_t text_siphash_rotate(uint64_t x, unsigned bits);
static void text_siphash_round(uint64_t v[4]);


uint64_t
text_siphash(const uint8_t key[TEXT_SIPHASH_KEY_BYTES], const uint8_t *data,
    size_t n)
{
    size_t    left;
    uint64_t  k0, k1, m, v[4];

    k0 = text_siphash_word(key, 8);
    k1 = text_siphash_word(key + 8, 8);

    v[0] = k0 ^ 0x736f6d6570736575;
    v[1] = k1 ^ 0x646f72616e646f6d;
    v[2] = k0 ^ 0x6c7967656e657261;
    v[3] = k1 ^ 0x7465646279746573;

    for (left = n; left >= 8; left -= 8) {
        m = text_siphash_word(data, 8);
        data += 8;

        v[3] ^= m;
        text_siphash_round(v);
        text_siphash_round(v);
        v[0] ^= m;
    }

    m = text_siphash_word(data, left) | ((uint64_t) n << 56);

    v[3] ^= m;
    text_siphash_round(v);
    text_siphash_round(v);
    v[0] ^= m;

    v[2] ^= 0xff;
    text_siphash_round(v);
    text_siphash_round(v);
    text_siphash_round(v);
    text_siphash_round(v);

    return v[0] ^ v[1] ^ v[2] ^ v[3];
}


/* Little-endian, n <= 8 bytes. */

static uint64_t
text_siphash_word(const uint8_t *data, size_t n)
{
    size_t    i;
    uint64_t  word;

    word = 0;

    for (i = 0; i < n; i++) {
        word |= (uint64_t) data[i] << (8 * i);
    }

    return word;
}


static uint64_t
text_siphash_rotate(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}


static void
text_siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = text_siphash_rotate(v[1], 13) ^ v[0];
    v[0] = text_siphash_rotate(v[0], 32);

    v[2] += v[3];
    v[3] = text_siphash_rotate(v[3], 16) ^ v[2];

    v[0] += v[3];
    v[3] = text_siphash_rotate(v[3], 21) ^ v[0];

    v[2] += v[1];
    v[1] = text_siphash_rotate(v[1], 17) ^ v[2];
    v[2] = text_siphash_rotate(v[2], 32);
}
