/*
 * template.c: compiling pages with slots into a flat list of operations, so
 * that nothing of a tag is looked at again when a page is rendered.
 */

#include "template.h"


#define TEXT_TEMPLATE_FILES_MAX  512    /* inclusions in all of one page */


typedef struct {
    unsigned                op;         /* SECTION or INVERTED */
    unsigned                line;
    text_span_t             name;
} text_template_open_t;

typedef struct {
    text_span_t             file;
    const text_slot_t      *slots;
    size_t                  nslots;
    text_op_t              *ops;
    size_t                  capacity;
    size_t                  n;
    text_template_open_t    open[TEXT_TEMPLATE_DEPTH_MAX];
    unsigned                nopen;
    unsigned                nested;     /* files around this one */
    unsigned                files;
    text_template_load_pt   load;
    void                   *data;
    text_template_error_t  *error;
} text_template_compiler_t;

/* One file being read; [from, end) is what is left. */
typedef struct {
    text_span_t             file;
    const uint8_t          *start;
    const uint8_t          *from;
    const uint8_t          *end;
    const uint8_t          *counted;    /* newlines before this are in line */
    unsigned                line;
    unsigned                nopen;      /* sections open around the file */
} text_template_reader_t;

typedef struct {
    uint8_t                 kind;       /* '#', '^', '/', '>', '!' or 0 */
    text_span_t             name;
} text_template_tag_t;


static int text_template_file(text_template_compiler_t *c, text_span_t file,
    const text_template_reader_t *from);


static inline int
text_template_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}


static int
text_template_fail(text_template_compiler_t *c,
    const text_template_reader_t *r, const char *what, text_span_t name)
{
    c->error->file = r == NULL ? c->file : r->file;
    c->error->line = r == NULL ? 0 : r->line;
    c->error->what = what;
    c->error->name = name;

    return -1;
}


static int
text_template_push(text_template_compiler_t *c,
    const text_template_reader_t *r, text_op_t op)
{
    if (c->n == c->capacity) {
        return text_template_fail(c, r, "too many tags", text_span(""));
    }

    c->ops[c->n++] = op;

    return 0;
}


static int
text_template_literal(text_template_compiler_t *c,
    const text_template_reader_t *r, const uint8_t *from, const uint8_t *to)
{
    text_op_t  op;

    if (from == to) {
        return 0;
    }

    op = (text_op_t) { .kind = TEXT_OP_LITERAL };
    op.literal.data = from;
    op.literal.len = (size_t) (to - from);

    return text_template_push(c, r, op);
}


static int
text_template_slot_named(const text_slot_t *slot, text_span_t name)
{
    return strlen(slot->name) == name.len
           && memcmp(slot->name, name.data, name.len) == 0;
}


/*
 * The slot a name means here: of the rows of the innermost list first, of the
 * page last.  NULL and the reason when there is none.
 */
static const text_slot_t *
text_template_slot(const text_template_compiler_t *c, text_span_t name,
    const char **what)
{
    int               list;
    size_t            i;
    unsigned          depth;
    const text_op_t  *op;

    *what = "unknown slot";

    for (depth = c->nopen; /* void */ ; depth--) {
        list = -1;

        if (depth != 0) {
            op = &c->ops[c->open[depth - 1].op];

            if (op->kind != TEXT_OP_SECTION || !op->list) {
                continue;
            }

            list = (int) op->slot;
        }

        for (i = 0; i < c->nslots; i++) {

            if (!text_template_slot_named(&c->slots[i], name)) {
                continue;
            }

            if (c->slots[i].list == list) {
                return &c->slots[i];
            }

            *what = "slot of a list used outside of it";
        }

        if (depth == 0) {
            return NULL;
        }
    }
}


static int
text_template_value(text_template_compiler_t *c,
    const text_template_reader_t *r, text_span_t name)
{
    text_op_t           op;
    const char         *what;
    const text_slot_t  *slot;

    if (name.len != 0 && (*name.data == '{' || *name.data == '&')) {
        return text_template_fail(c, r, "there is no raw form", name);
    }

    slot = text_template_slot(c, name, &what);

    if (slot == NULL) {
        return text_template_fail(c, r, what, name);
    }

    if (slot->flags & TEXT_SLOT_LIST) {
        return text_template_fail(c, r, "list used as a value", name);
    }

    op = (text_op_t) { .kind = TEXT_OP_VALUE };
    op.slot = (unsigned) (slot - c->slots);

    return text_template_push(c, r, op);
}


static int
text_template_section(text_template_compiler_t *c,
    const text_template_reader_t *r, text_op_kind_t kind, text_span_t name)
{
    unsigned               i;
    text_op_t              op;
    const char            *what;
    const text_slot_t     *slot;
    text_template_open_t  *open;

    slot = text_template_slot(c, name, &what);

    if (slot == NULL) {
        return text_template_fail(c, r, what, name);
    }

    if (c->nopen + c->nested == TEXT_TEMPLATE_DEPTH_MAX) {
        return text_template_fail(c, r, "nested too deep", name);
    }

    op = (text_op_t) { .kind = kind };
    op.slot = (unsigned) (slot - c->slots);
    op.list = (slot->flags & TEXT_SLOT_LIST) != 0;

    /* its rows would be counted once for each of its rows */

    for (i = 0; op.list && i < c->nopen; i++) {
        if (c->ops[c->open[i].op].slot == op.slot) {
            return text_template_fail(c, r, "list inside itself", name);
        }
    }

    open = &c->open[c->nopen];
    open->op = (unsigned) c->n;
    open->line = r->line;
    open->name = name;

    if (text_template_push(c, r, op) != 0) {
        return -1;
    }

    c->nopen++;

    return 0;
}


static int
text_template_close(text_template_compiler_t *c,
    const text_template_reader_t *r, text_span_t name)
{
    text_op_t                    op;
    const text_template_open_t  *open;

    if (c->nopen == r->nopen) {
        return text_template_fail(c, r, "section not open", name);
    }

    open = &c->open[c->nopen - 1];

    if (!text_span_equal(open->name, name)) {
        return text_template_fail(c, r, "section closed before the one in it",
                                  name);
    }

    op = (text_op_t) { .kind = TEXT_OP_END };
    op.slot = c->ops[open->op].slot;
    op.list = c->ops[open->op].list && c->ops[open->op].kind == TEXT_OP_SECTION;
    op.end = open->op;

    if (text_template_push(c, r, op) != 0) {
        return -1;
    }

    c->ops[open->op].end = (unsigned) c->n;
    c->nopen--;

    return 0;
}


/* A file name has no '/' and no leading '.', so it stays in its folder. */
static int
text_template_include(text_template_compiler_t *c,
    const text_template_reader_t *r, text_span_t name)
{
    size_t   i;
    uint8_t  byte, lower;

    for (i = 0; i < name.len; i++) {
        byte = name.data[i];
        lower = byte | 0x20;

        if (!((lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9')
              || byte == '_' || (i != 0 && (byte == '-' || byte == '.'))))
        {
            break;
        }
    }

    if (name.len == 0 || i != name.len) {
        return text_template_fail(c, r, "bad file name", name);
    }

    if (c->nopen + c->nested == TEXT_TEMPLATE_DEPTH_MAX) {
        return text_template_fail(c, r, "nested too deep", name);
    }

    return text_template_file(c, name, r);
}


static int
text_template_tag(text_template_compiler_t *c,
    const text_template_reader_t *r, const text_template_tag_t *tag)
{
    switch (tag->kind) {

    case '!':
        return 0;

    case '>':
        return text_template_include(c, r, tag->name);

    case '#':
        return text_template_section(c, r, TEXT_OP_SECTION, tag->name);

    case '^':
        return text_template_section(c, r, TEXT_OP_INVERTED, tag->name);

    case '/':
        return text_template_close(c, r, tag->name);

    default:
        return text_template_value(c, r, tag->name);
    }
}


/* What stands between the braces: a kind, blanks, a name, blanks. */
static text_template_tag_t
text_template_read(const uint8_t *p, const uint8_t *end)
{
    text_template_tag_t  tag;

    while (p < end && text_template_blank(*p)) {
        p++;
    }

    tag.kind = 0;

    if (p < end && memchr("#^/>!", *p, 5) != NULL) {
        tag.kind = *p++;
    }

    while (p < end && text_template_blank(*p)) {
        p++;
    }

    while (end > p && text_template_blank(end[-1])) {
        end--;
    }

    tag.name.data = p;
    tag.name.len = (size_t) (end - p);

    return tag;
}


/*
 * A tag alone on its line takes the line with it: *from goes back to the start
 * of the line and *to behind its end.  Both walks stop at the first byte that
 * is not blank, so they never meet the same bytes again.
 */
static void
text_template_alone(const text_template_reader_t *r, const uint8_t **from,
    const uint8_t **to)
{
    const uint8_t  *p, *q;

    p = *from;
    q = *to;

    while (p > r->start && (p[-1] == ' ' || p[-1] == '\t')) {
        p--;
    }

    if (p > r->start && p[-1] != '\n') {
        return;
    }

    while (q < r->end && (*q == ' ' || *q == '\t')) {
        q++;
    }

    if (q < r->end && *q == '\r') {
        q++;
    }

    if (q < r->end) {

        if (*q != '\n') {
            return;
        }

        q++;
    }

    *from = p;
    *to = q;
}


static void
text_template_count(text_template_reader_t *r, const uint8_t *to)
{
    while (r->counted < to) {
        r->line += *r->counted++ == '\n';
    }
}


static int
text_template_next(text_template_compiler_t *c, text_template_reader_t *r)
{
    const uint8_t        *open, *close, *from, *to;
    text_template_tag_t   tag;

    open = memmem(r->from, (size_t) (r->end - r->from), "{{", 2);

    if (open == NULL) {
        from = r->from;
        r->from = r->end;
        return text_template_literal(c, r, from, r->end);
    }

    text_template_count(r, open);
    close = memmem(open + 2, (size_t) (r->end - open - 2), "}}", 2);

    if (close == NULL) {
        return text_template_fail(c, r, "tag not closed", text_span(""));
    }

    tag = text_template_read(open + 2, close);
    from = open;
    to = close + 2;

    if (tag.kind != 0) {
        text_template_alone(r, &from, &to);
    }

    if (text_template_literal(c, r, r->from, from) != 0) {
        return -1;
    }

    r->from = to;

    return text_template_tag(c, r, &tag);
}


static int
text_template_file(text_template_compiler_t *c, text_span_t file,
    const text_template_reader_t *from)
{
    text_span_t             source;
    text_template_reader_t  r;

    if (++c->files > TEXT_TEMPLATE_FILES_MAX) {
        return text_template_fail(c, from, "too many files", file);
    }

    if (c->load(c->data, file, &source) == 0) {
        return text_template_fail(c, from, "no such file", file);
    }

    if (source.len > TEXT_TEMPLATE_SIZE_MAX) {
        return text_template_fail(c, from, "file too large", file);
    }

    r.file = file;
    r.start = r.from = r.counted = source.data;
    r.end = source.len == 0 ? source.data : source.data + source.len;
    r.line = 1;
    r.nopen = c->nopen;

    c->nested += from != NULL;

    while (r.from < r.end) {
        if (text_template_next(c, &r) != 0) {
            return -1;
        }
    }

    c->nested -= from != NULL;

    if (c->nopen != r.nopen) {
        r.line = c->open[c->nopen - 1].line;
        return text_template_fail(c, &r, "section not closed",
                                  c->open[c->nopen - 1].name);
    }

    return 0;
}


/* A slot is used where its value comes out; to ask whether it is empty does
 * not put a form's secret field into the form.  A list is used by its rows. */
static int
text_template_required(text_template_compiler_t *c)
{
    size_t          i, k;
    text_span_t     name;
    text_op_kind_t  kind;

    for (i = 0; i < c->nslots; i++) {

        if (!(c->slots[i].flags & TEXT_SLOT_REQUIRED)) {
            continue;
        }

        kind = c->slots[i].flags & TEXT_SLOT_LIST ? TEXT_OP_SECTION
                                                  : TEXT_OP_VALUE;

        for (k = 0; k < c->n; k++) {
            if (c->ops[k].kind == kind && c->ops[k].slot == i) {
                break;
            }
        }

        if (k == c->n) {
            name.data = (const uint8_t *) c->slots[i].name;
            name.len = strlen(c->slots[i].name);

            return text_template_fail(c, NULL, "required slot not used", name);
        }
    }

    return 0;
}


int
text_template_compile(text_span_t file, text_template_load_pt load,
    void *data, const text_slot_t *slots, size_t nslots, text_op_t *ops,
    size_t capacity, text_template_t *out, text_template_error_t *error)
{
    text_template_compiler_t  c;

    memset(&c, 0, sizeof(c));

    c.file = file;
    c.slots = slots;
    c.nslots = nslots;
    c.ops = ops;
    c.capacity = capacity;
    c.load = load;
    c.data = data;
    c.error = error;

    if (text_template_file(&c, file, NULL) != 0
        || text_template_required(&c) != 0)
    {
        return -1;
    }

    out->ops = ops;
    out->n = c.n;

    return 0;
}
