/*
 * plain.c: looks at sixteen bytes at a time.
 */

#include "plain.h"


#define TEXT_BLOCK  16          /* bytes of a block */


/* Vectors of gcc and clang: machine instructions where there are some. */
typedef uint8_t  text_block_t __attribute__((vector_size(TEXT_BLOCK)));


static int
text_plain_block(const uint8_t *data)
{
    uint64_t      bad[2];
    text_block_t  b, found;

    memcpy(&b, data, TEXT_BLOCK);

    /* & and ', < and > differ in one bit */

    found = (text_block_t) ((b < 0x20) | (b > 0x7e) | (b == '"') | (b == '`')
                            | (b == '\\') | ((b | 1) == '\'')
                            | ((b | 2) == '>'));

    memcpy(bad, &found, TEXT_BLOCK);

    return (bad[0] | bad[1]) == 0;
}


/* Less than a block is made one of its own bytes, each at least once. */
static size_t
text_plain_few(text_span_t in)
{
    uint8_t  few[TEXT_BLOCK];

    if (in.len >= 8) {
        memcpy(few, in.data, 8);
        memcpy(few + 8, in.data + in.len - 8, 8);

    } else if (in.len >= 4) {
        memcpy(few, in.data, 4);
        memcpy(few + 4, in.data + in.len - 4, 4);
        memcpy(few + 8, few, 8);

    } else if (in.len != 0) {
        memset(few, in.data[0], TEXT_BLOCK);
        few[1] = in.data[in.len / 2];
        few[2] = in.data[in.len - 1];

    } else {
        return 0;
    }

    return text_plain_block(few) ? in.len : 0;
}


/* The last block overlaps the one before. */
size_t
text_plain(text_span_t in)
{
    size_t  i;

    if (in.len < TEXT_BLOCK) {
        return text_plain_few(in);
    }

    for (i = 0; i <= in.len - TEXT_BLOCK; i += TEXT_BLOCK) {
        if (!text_plain_block(in.data + i)) {
            return i;
        }
    }

    return text_plain_block(in.data + in.len - TEXT_BLOCK) ? in.len : i;
}
