/* form.c: values lie in the body, and a refused body leaves none. */

#include "fuzz.h"
#include "text/form.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                rc;
    size_t             i;
    uint8_t           *body;
    text_span_t        type;
    text_form_field_t  f[2];

    body = fuzz_buffer(size);
    memcpy(body, data, size);
    f[0].name = text_span("user");
    f[1].name = text_span("p");
    rc = text_form_parse(body, size, f, 2);

    for (i = 0; i < 2; i++) {
        fuzz_check(rc == TEXT_FORM_OK || !f[i].present);
        fuzz_check(f[i].present || f[i].value.len == 0);
        fuzz_check(!f[i].present || (f[i].value.data >= body
                   && f[i].value.data + f[i].value.len <= body + size));
    }

    free(body);
    type.data = data;
    type.len = size;
    fuzz_check(!text_form_type(type) || size >= 33);

    return 0;
}
