/*
 * siphash.h: SipHash-2-4, a hash with a secret, so that nobody can choose
 * inputs that fall into one bucket.  Not for signatures.
 */

#ifndef TEXT_SIPHASH_H_INCLUDED
#define TEXT_SIPHASH_H_INCLUDED


#include <stddef.h>
#include <stdint.h>


#define TEXT_SIPHASH_KEY_BYTES  16

uint64_t text_siphash(const uint8_t key[TEXT_SIPHASH_KEY_BYTES],
    const uint8_t *data, size_t n);


#endif /* TEXT_SIPHASH_H_INCLUDED */
