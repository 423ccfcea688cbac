/* template.c: any page that compiles shows values as text. */
#include "fuzz.h"
#include "text/template.h"

static int
load(void *data, text_span_t name, text_span_t *source)
{
    *source = *(text_span_t *) data;
    return name.len != 2;
}

static int
emit(void *data, text_span_t piece, int literal)
{
    fuzz_check(piece.len != 0);
    fuzz_check(literal || memchr(piece.data, '<', piece.len) == NULL);
    return ++*(unsigned *) data > 100000;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned               n = 0;
    text_op_t              ops[64];
    text_span_t            page = { data, size }, value = text_span("<\"\xff");
    text_value_t           v[5] = { { value, NULL } };
    text_rows_t            l = { v, 2, 1, 2 }, m = { v, size % 4, 1, 4 };
    text_template_t        tpl;
    text_template_error_t  error;
    const text_slot_t      slots[5] = {
        { "a", -1, 0 }, { "l", -1, TEXT_SLOT_LIST }, { "r", 1, 0 },
        { "m", -1, TEXT_SLOT_LIST }, { "r", 3, 0 } };

    v[1].rows = &l;
    v[3].rows = &m;
    fuzz_check(text_template_compile(page, load, &page, slots, 5, ops, 64,
                                     &tpl, &error) != 0
               || text_template_render(&tpl, v, emit, &n) >= 0);
    return 0;
}
