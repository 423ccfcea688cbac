/* device.c: only our own words come out. */

#include "fuzz.h"
#include "text/device.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t       i, n;
    uint8_t     *out;
    text_span_t  agent;

    agent.data = data;
    agent.len = size;
    out = fuzz_buffer(TEXT_DEVICE_CHARS);
    n = text_device(agent, out);
    fuzz_check(n > 0 && n <= TEXT_DEVICE_CHARS);

    for (i = 0; i < n; i++) {
        fuzz_check(out[i] == ' ' || out[i] == '.'
                   || ((out[i] | 0x20) >= 'a' && (out[i] | 0x20) <= 'z'));
    }

    free(out);

    return 0;
}
