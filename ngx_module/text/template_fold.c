/*
 * template_fold.c: a compiled page made smaller by what is known of it.
 */

#include "escape.h"
#include "out.h"
#include "template.h"


typedef struct {
    const text_op_t     *from;
    const text_value_t  *values;
    const uint8_t       *known;
    size_t               nknown;
    text_op_t           *ops;
    size_t               n;
    text_out_t           out;
    text_op_t           *literal;       /* the last operation, or NULL */
} text_template_fold_t;


static void text_template_fold_range(text_template_fold_t *f, size_t pc,
    size_t end);


static int
text_template_fold_known(const text_template_fold_t *f, const text_op_t *op)
{
    return op->slot < f->nknown && f->known[op->slot];
}


/* Whatever was written since `start` belongs to one literal with what stands
 * right before it. */
static void
text_template_fold_literal(text_template_fold_t *f, size_t start)
{
    if (f->out.len == start) {
        return;
    }

    if (f->literal == NULL) {
        f->literal = &f->ops[f->n++];

        *f->literal = (text_op_t) { .kind = TEXT_OP_LITERAL };
        f->literal->literal.data = f->out.data + (start < f->out.capacity
                                                  ? start : f->out.capacity);
    }

    f->literal->literal.len += f->out.len - start;
}


static void
text_template_fold_value(text_template_fold_t *f, text_span_t value)
{
    size_t  start, used;

    start = f->out.len;
    used = start < f->out.capacity ? start : f->out.capacity;

    f->out.len += text_escape_html(value, f->out.data + used,
                                   f->out.capacity - used);

    text_template_fold_literal(f, start);
}


static void
text_template_fold_push(text_template_fold_t *f, const text_op_t *op)
{
    f->ops[f->n++] = *op;
    f->literal = NULL;
}


/* The section at pc, which ends before `end` with an operation of its own. */
static void
text_template_fold_section(text_template_fold_t *f, size_t pc, size_t end)
{
    int               empty;
    size_t            start;
    const text_op_t  *op;

    op = &f->from[pc];

    if (text_template_fold_known(f, op)) {
        empty = f->values[op->slot].text.len == 0;

        if (empty == (op->kind == TEXT_OP_INVERTED)) {
            text_template_fold_range(f, pc + 1, end - 1);
        }

        return;
    }

    start = f->n;
    text_template_fold_push(f, op);

    text_template_fold_range(f, pc + 1, end - 1);

    text_template_fold_push(f, &f->from[end - 1]);

    f->ops[f->n - 1].end = (unsigned) start;
    f->ops[start].end = (unsigned) f->n;
}


static void
text_template_fold_range(text_template_fold_t *f, size_t pc, size_t end)
{
    size_t            start;
    const text_op_t  *op;

    while (pc < end) {
        op = &f->from[pc];

        switch (op->kind) {

        case TEXT_OP_LITERAL:
            start = f->out.len;
            text_out_bytes(&f->out, op->literal);
            text_template_fold_literal(f, start);
            pc++;
            break;

        case TEXT_OP_VALUE:
            if (text_template_fold_known(f, op)) {
                text_template_fold_value(f, f->values[op->slot].text);

            } else {
                text_template_fold_push(f, op);
            }

            pc++;
            break;

        default: /* a section: its end is passed over with it */
            text_template_fold_section(f, pc, op->end);
            pc = op->end;
            break;
        }
    }
}


size_t
text_template_fold(const text_template_t *tpl, const text_value_t *values,
    const uint8_t *known, size_t n, text_op_t *ops, uint8_t *text,
    size_t capacity, text_template_t *out)
{
    text_template_fold_t  f;

    f.from = tpl->ops;
    f.values = values;
    f.known = known;
    f.nknown = n;
    f.ops = ops;
    f.n = 0;
    f.out = (text_out_t) { text, capacity, 0 };
    f.literal = NULL;

    text_template_fold_range(&f, 0, tpl->n);

    out->ops = ops;
    out->n = f.n;

    return f.out.len;
}
