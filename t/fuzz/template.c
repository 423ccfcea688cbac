/* template.c: in any page that compiles, no value adds markup. */
#include "fuzz.h"
#include "text/template.h"

static int
load(void *data, text_span_t name, text_span_t *source)
{
    *source = *(text_span_t *) data;
    return name.len != 2;
}

/* The page with that value everywhere; how many < are in it. */
static size_t
render(const text_template_t *tpl, text_value_t v[5], text_span_t value)
{
    size_t   i, n, len;
    uint8_t  none[1], *page;

    v[0].text = v[2].text = v[4].text = value;
    len = text_template_render(tpl, v, none, 0);
    page = fuzz_buffer(len);
    fuzz_check(text_template_render(tpl, v, page, len) == len);

    for (i = n = 0; i < len; i++) {
        n += page[i] == '<';
    }

    free(page);
    return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    text_op_t              ops[64];
    text_span_t            page = { data, size };
    text_value_t           v[5] = { { page, NULL } };
    text_rows_t            l = { v, 2, 1, 2 }, m = { v, size % 4, 1, 4 };
    text_template_t        tpl;
    text_template_error_t  error;
    const text_slot_t      slots[5] = {
        { "a", -1, 0 }, { "l", -1, TEXT_SLOT_LIST }, { "r", 1, 0 },
        { "m", -1, TEXT_SLOT_LIST }, { "r", 3, 0 } };

    v[1].rows = &l;
    v[3].rows = &m;

    if (text_template_compile(page, load, &page, slots, 5, ops, 64, &tpl,
                              &error)
        == 0)
    {
        fuzz_check(render(&tpl, v, text_span("<\"\xff"))
                   == render(&tpl, v, text_span("x")));
    }

    return 0;
}
