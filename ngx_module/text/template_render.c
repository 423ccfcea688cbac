/*
 * template_render.c: rendering a compiled page in one pass.
 */

#include "escape.h"
#include "template.h"


#define TEXT_TEMPLATE_PIECE  512        /* escaped bytes given out at once */


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


/*
 * A value without a character to escape, nearly every one, goes out as it is.
 * Anything else is gathered on the stack, so that many small pieces make few
 * calls; a run too long for that goes out between.
 */
static int
text_template_escape(text_span_t in, text_template_emit_pt emit, void *data)
{
    int          rc;
    size_t       n;
    uint8_t      buffer[TEXT_TEMPLATE_PIECE];
    text_span_t  piece, out;

    out.data = buffer;
    out.len = 0;

    while (in.len != 0) {
        n = text_escape_html_step(in, &piece);
        in.data += n;
        in.len -= n;

        if (piece.len > sizeof(buffer) - out.len && out.len != 0) {
            rc = emit(data, out, 0);
            out.len = 0;

            if (rc != 0) {
                return rc;
            }
        }

        if (piece.len > sizeof(buffer) || (in.len == 0 && out.len == 0)) {
            rc = emit(data, piece, 0);

            if (rc != 0) {
                return rc;
            }

            continue;
        }

        memcpy(buffer + out.len, piece.data, piece.len);
        out.len += piece.len;
    }

    return out.len == 0 ? 0 : emit(data, out, 0);
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


int
text_template_render(const text_template_t *tpl, const text_value_t *values,
    text_template_emit_pt emit, void *data)
{
    int                     rc;
    size_t                  pc;
    const text_op_t        *op;
    text_template_scope_t   scope;

    scope.values = values;
    scope.n = 0;

    for (pc = 0; pc < tpl->n; /* void */ ) {
        op = &tpl->ops[pc];
        rc = 0;

        switch (op->kind) {

        case TEXT_OP_LITERAL:
            rc = emit(data, op->literal, 1);
            pc++;
            break;

        case TEXT_OP_VALUE:
            rc = text_template_escape(
                               text_template_lookup(&scope, op->slot)->text,
                               emit, data);
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

        if (rc != 0) {
            return rc;
        }
    }

    return 0;
}
