/* template.c: a page is compiled exactly when an interpreter that runs through
 * the text, again for each row, comes to its end; and it shows what that one
 * wrote, also once what is known beforehand is folded in. */

#include "fuzz.h"
#include "text/template.h"


static const char  partial[] = "P{{a}}\n  {{^e}}\nE{{/e}}{{! }}";

typedef struct {
    char         kind;          /* the tag's, v for a value, t for text */
    const char  *name;
    size_t       len;
} token_t;

typedef struct {
    const char  *name;
    const char  *list;          /* of whose rows it is, or NULL */
    int          rows;          /* -1: not a list */
    const char  *shown[3];      /* escaped; of each row if there are some */
} slot_t;

typedef struct {
    token_t  tokens[600];
    size_t   n;
} tokens_t;

static slot_t  slots[] = {
    { "a", NULL, -1, { "&lt;&quot;x\xef\xbf\xbd" } },
    { "e", NULL, -1, { "" } },
    { "l", NULL, 2, { NULL } },
    { "r", "l", -1, { "", "&amp;" } },
    { "m", NULL, 0, { NULL } },
    { "r", "m", -1, { "1", "", "3" } }
};

typedef struct {
    slot_t   *slot;
    int       inside;           /* a row of it is current, not its absence */
} open_t;

static open_t    opened[16];
static unsigned  depth;
static int       current[6];    /* row of a list */
static char      page[65536];
static size_t    written;


static int
name_is(const token_t *token, const char *name)
{
    return token->len == strlen(name)
           && memcmp(token->name, name, token->len) == 0;
}


static void
add(tokens_t *t, char kind, const char *name, const char *end)
{
    t->tokens[t->n++] = (token_t) { kind, name, (size_t) (end - name) };
}


/* 0: a tag is not closed.  s ends in a NUL. */
static int
cut(const char *s, const char *end, tokens_t *t)
{
    char         kind;
    const char  *open, *close, *p, *from, *to;

    for (t->n = 0; s < end; s = to) {
        for (open = s; open < end && (open[0] != '{' || open[1] != '{'); open++)
        {
            /* void */
        }

        if (open == end) {
            add(t, 't', s, end);
            return 1;
        }

        for (close = open + 2; close < end; close++) {
            if (close[0] == '}' && close[1] == '}') {
                break;
            }
        }

        if (close >= end) {
            return 0;
        }

        from = open;
        to = close + 2;
        p = open + 2 + strspn(open + 2, " \t\r\n");
        kind = *p && strchr("#^/>!", *p) ? *p++ : 'v';
        p += kind == 'v' ? 0 : strspn(p, " \t\r\n");

        while (close > p && strchr(" \t\r\n", close[-1]) && close[-1]) {
            close--;
        }

        if (kind != 'v') {
            while (from > s && (from[-1] == ' ' || from[-1] == '\t')) {
                from--;
            }

            to += strspn(to, " \t");
            to += *to == '\r' && to < end;

            if ((from == s ? t->n == 0 || s[-1] == '\n' : from[-1] == '\n')
                && (to == end || *to == '\n'))
            {
                to += to != end;

            } else {
                from = open;
                to = strstr(open + 2, "}}") + 2;
            }
        }

        add(t, 't', s, from);
        add(t, kind, p, close < p ? p : close);
    }

    return 1;
}


static slot_t *
find(const token_t *token)
{
    int          k;
    size_t       i;
    const char  *list;

    for (k = (int) depth; k >= 0; k--) {
        if (k > 0 && (opened[k - 1].slot == NULL || !opened[k - 1].inside
                      || opened[k - 1].slot->rows < 0))
        {
            continue;
        }

        list = k > 0 ? opened[k - 1].slot->name : NULL;

        for (i = 0; i < 6; i++) {
            if (name_is(token, slots[i].name)
                && (list ? slots[i].list && !strcmp(slots[i].list, list)
                         : slots[i].list == NULL))
            {
                return &slots[i];
            }
        }
    }

    return NULL;
}


static const char *
shown(const slot_t *slot)
{
    if (slot->list == NULL) {
        return slot->shown[0];
    }

    return slot->shown[current[*slot->list == 'l' ? 2 : 4]];
}


static void
show(const char *text, size_t n, int emit)
{
    if (emit) {
        fuzz_check(n <= sizeof(page) - written);
        memcpy(page + written, text, n);
        written += n;
    }
}


/* From token *i to where the section `within` is closed, or to the end. */
static int
run(const tokens_t *t, size_t *i, const token_t *within, int emit)
{
    int             row, rows, wanted;
    size_t          start, k;
    slot_t         *slot;
    const token_t  *token;
    tokens_t        included;

    while (*i < t->n) {
        token = &t->tokens[(*i)++];

        switch (token->kind) {

        case 't':
            show(token->name, token->len, emit);
            continue;

        case '!':
            continue;

        case '/':
            return within != NULL && token->len == within->len
                   && memcmp(token->name, within->name, token->len) == 0;

        case '>':
            if (!name_is(token, "p") || depth == 8) {
                return 0;
            }

            k = 0;
            opened[depth++].slot = NULL;

            if (!cut(partial, strchr(partial, '\0'), &included)
                || !run(&included, &k, NULL, emit))
            {
                return 0;
            }

            depth--;
            continue;
        }

        slot = find(token);

        if (slot == NULL) {
            return 0;
        }

        if (token->kind == 'v') {
            if (slot->rows >= 0) {
                return 0;
            }

            show(shown(slot), strlen(shown(slot)), emit);
            continue;
        }

        for (k = 0; k < depth && slot->rows >= 0; k++) {
            if (opened[k].slot == slot) {
                return 0;
            }
        }

        if (depth == 8) {
            return 0;
        }

        rows = slot->rows >= 0 ? slot->rows : *shown(slot) != '\0';
        wanted = token->kind == '#' ? rows : !rows;
        start = *i;

        for (row = 0; row == 0 || row < wanted; row++) {
            *i = start;
            opened[depth].slot = slot;
            opened[depth++].inside = token->kind == '#';

            if (slot->rows >= 0) {
                current[slot - slots] = row;
            }

            if (!run(t, i, token, emit && wanted)) {
                return 0;
            }

            depth--;
        }
    }

    return within == NULL;
}


static int
load(void *data, text_span_t name, text_span_t *source)
{
    *source = text_span(partial);

    if (text_span_equal(name, text_span("page"))) {
        *source = *(text_span_t *) data;
    }

    return text_span_equal(name, text_span("page"))
           || text_span_equal(name, text_span("p"));
}


static void
check(const text_template_t *tpl, const text_value_t *values)
{
    size_t    len;
    uint8_t   none[1], *out;

    len = text_template_render(tpl, values, none, 0);
    out = fuzz_buffer(len);
    fuzz_check(text_template_render(tpl, values, out, len) == len);
    fuzz_check(fuzz_same(out, len, page, written));
    free(out);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                    rc;
    char                   text[600];
    size_t                 i, len;
    uint8_t               *folded;
    tokens_t               t;
    text_op_t              ops[1024], fewer[1024];
    text_span_t            source = { data, size };
    text_value_t           v[6] = { { text_span("<\"x\xff"), NULL } };
    text_value_t           l[2] = { { { data, 0 }, NULL },
                                    { text_span("&"), NULL } };
    text_value_t           m[3] = { { text_span("1"), NULL },
                                    { { data, 0 }, NULL },
                                    { text_span("3"), NULL } };
    text_rows_t            ls = { l, 2, 1, 3 }, ms = { m, size % 4, 1, 5 };
    text_template_t        tpl, small;
    text_template_error_t  error;

    static const uint8_t      known[] = { 1, 1 };
    static const text_slot_t  table[6] = {
        { "a", -1, 0 }, { "e", -1, 0 }, { "l", -1, TEXT_SLOT_LIST },
        { "r", 2, 0 }, { "m", -1, TEXT_SLOT_LIST }, { "r", 4, 0 }
    };

    if (size > 512 || memchr(data, '\0', size) != NULL) {
        return 0;
    }

    v[2].rows = &ls;
    v[4].rows = &ms;
    slots[4].rows = size % 4;
    memcpy(text, data, size);
    text[size] = '\0';

    i = written = depth = 0;
    rc = cut(text, text + size, &t) && run(&t, &i, NULL, 1);
    fuzz_check((text_template_compile(text_span("page"), load, &source, table,
                                      6, ops, 1024, &tpl, &error) == 0) == rc);

    if (!rc) {
        return 0;
    }

    check(&tpl, v);
    len = text_template_fold(&tpl, v, known, 2, fewer, (uint8_t *) text, 0,
                             &small);
    folded = fuzz_buffer(len);
    fuzz_check(text_template_fold(&tpl, v, known, 2, fewer, folded, len,
                                  &small) == len);
    check(&small, v);
    free(folded);

    return 0;
}
