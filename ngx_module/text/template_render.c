/*
 * template_render.c: rendering a compiled page in one pass.
 */

#include "escape.h"
#include "out.h"
#include "plain.h"
#include "template.h"


typedef struct {
    const text_rows_t     *rows;
    size_t                 row;
} text_template_frame_t;

typedef struct {
    const text_value_t    *values;
    text_template_frame_t  frames[TEXT_TEMPLATE_DEPTH_MAX];
    unsigned               n;
} text_template_scope_t;


static const text_value_t *
text_template_lookup(const text_template_scope_t *scope, size_t slot)
{
    unsigned            i;
    const text_rows_t  *rows;

    for (i = scope->n; i > 0; i--) {
        rows = scope->frames[i - 1].rows;

        if (slot >= rows->first && slot - rows->first < rows->width) {
            return &rows->values[scope->frames[i - 1].row * rows->width
                                 + (slot - rows->first)];
        }
    }

    return &scope->values[slot];
}


static void
text_template_escape(text_out_t *out, text_span_t value)
{
    size_t  used;

    if (text_plain(value) == value.len) {
        text_out_bytes(out, value);
        return;
    }

    used = out->len < out->capacity ? out->len : out->capacity;

    out->len += text_escape_html(value, out->data + used,
                                 out->capacity - used);
}


/* Enters a section; the operation that comes next. */
static size_t
text_template_enter(text_template_scope_t *scope, const text_op_t *ops,
    size_t pc)
{
    int                  empty;
    const text_op_t     *op;
    const text_value_t  *value;

    op = &ops[pc];
    value = text_template_lookup(scope, op->slot);

    if (op->list) {
        empty = value->rows == NULL || value->rows->n == 0;

    } else {
        empty = value->text.len == 0;
    }

    if (empty == (op->kind == TEXT_OP_SECTION)) {
        return op->end;
    }

    if (op->list && op->kind == TEXT_OP_SECTION) {
        scope->frames[scope->n].rows = value->rows;
        scope->frames[scope->n].row = 0;
        scope->n++;
    }

    return pc + 1;
}


/* Ends a section, or goes back to its first operation for the next row. */
static size_t
text_template_leave(text_template_scope_t *scope, const text_op_t *ops,
    size_t pc)
{
    text_template_frame_t  *frame;

    if (!ops[pc].list) {
        return pc + 1;
    }

    frame = &scope->frames[scope->n - 1];

    if (++frame->row < frame->rows->n) {
        return ops[pc].end + 1;
    }

    scope->n--;

    return pc + 1;
}


size_t
text_template_render(const text_template_t *tpl, const text_value_t *values,
    uint8_t *data, size_t capacity)
{
    size_t                  pc;
    text_out_t              out;
    const text_op_t        *op;
    text_template_scope_t   scope;

    out = (text_out_t) { data, capacity, 0 };

    scope.values = values;
    scope.n = 0;

    for (pc = 0; pc < tpl->n; /* void */ ) {
        op = &tpl->ops[pc];

        switch (op->kind) {

        case TEXT_OP_LITERAL:
            text_out_bytes(&out, op->literal);
            pc++;
            break;

        case TEXT_OP_VALUE:
            text_template_escape(&out,
                                 text_template_lookup(&scope, op->slot)->text);
            pc++;
            break;

        case TEXT_OP_SECTION:
        case TEXT_OP_INVERTED:
            pc = text_template_enter(&scope, tpl->ops, pc);
            break;

        case TEXT_OP_END:
            pc = text_template_leave(&scope, tpl->ops, pc);
            break;
        }
    }

    return out.len;
}
