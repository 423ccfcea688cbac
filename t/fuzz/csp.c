/* csp.c: a policy fits where it is written and is a legal field value. */

#include "fuzz.h"
#include "text/csp.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          rc;
    size_t       i, at, room;
    uint8_t     *normal, *out;
    text_csp_t   csp;
    text_span_t  policy;

    policy.data = data;
    policy.len = size;
    room = 2 * size + 64;
    normal = fuzz_buffer(room);
    rc = text_csp_compile(policy, normal, room, &csp, &at);
    fuzz_check(at <= size && text_csp_strerror(rc) != NULL);

    if (rc == TEXT_CSP_OK) {
        fuzz_check(csp.n >= 1 && csp.n <= TEXT_CSP_NONCES_MAX + 1);
        out = fuzz_buffer(csp.len);
        fuzz_check(text_csp_write(&csp, (const uint8_t *)
                                  "0123456789abcdefABCDEF==", out) == csp.len);

        for (i = 0; i < csp.len; i++) {
            fuzz_check(out[i] >= ' ' && out[i] < 0x7f && out[i] != ',');
        }

        fuzz_check(out[0] != ' ' && out[csp.len - 1] != ' ');
        free(out);
    }

    free(normal);
    return 0;
}
