/* accept.c: an answer is asked for by name, and a later wish that weighs no
 * more than an earlier one changes nothing. */

#include "fuzz.h"
#include "text/accept.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t       *more;
    text_span_t    in;
    text_accept_t  got;

    in.data = data;
    in.len = size;
    got = text_accept(in);
    fuzz_check(got == TEXT_ACCEPT_ANY || memchr(data, '/', size) != NULL);

    more = fuzz_buffer(size + 16);
    memcpy(more, "text/html;q=1,", 14);
    memcpy(more + 14, data, size);
    in.data = more;
    in.len = size + 14;
    fuzz_check(text_accept(in) == TEXT_ACCEPT_HTML);
    free(more);

    return 0;
}
