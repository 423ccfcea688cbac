/*
 * template.h: pages as text with slots, compiled once, escaped by default.
 *
 *   {{name}}                   the value, HTML-escaped
 *   {{#name}} .. {{/name}}     for a list: once a row; else: if not empty
 *   {{^name}} .. {{/name}}     if empty, or a list without rows
 *   {{> file}}                 another template, put in here when compiling
 *   {{! comment }}             nothing
 *
 * A subset of Mustache, so editors know it.  There is no raw form: slots are
 * text, and markup stands in templates.  A tag other than a value that stands
 * alone on its line takes the line with it.
 *
 * Slots come from one table per page.  Inside {{#list}} the row's slots are
 * in force and the page's remain visible.
 */

#ifndef TEXT_TEMPLATE_H_INCLUDED
#define TEXT_TEMPLATE_H_INCLUDED


#include "span.h"


#define TEXT_TEMPLATE_OPS_MAX    512
#define TEXT_TEMPLATE_DEPTH_MAX  8      /* nested sections and includes */
#define TEXT_TEMPLATE_SIZE_MAX   65536  /* one file */


#define TEXT_SLOT_LIST      0x01        /* has rows */
#define TEXT_SLOT_REQUIRED  0x02        /* its value or rows must come out */

typedef struct {
    const char  *name;
    int          list;          /* index of the list whose rows have it; -1 */
    unsigned     flags;
} text_slot_t;


typedef enum {
    TEXT_OP_LITERAL = 0,
    TEXT_OP_VALUE,
    TEXT_OP_SECTION,            /* jump to `end` if empty */
    TEXT_OP_INVERTED,
    TEXT_OP_END                 /* back to `end` (the SECTION) for a list */
} text_op_kind_t;

typedef struct {
    text_op_kind_t  kind;
    unsigned        slot;
    unsigned        end;        /* op index */
    text_span_t     literal;    /* into the source text */
    int             list;       /* SECTION or END of a slot with rows */
} text_op_t;

typedef struct {
    text_op_t  *ops;            /* caller's array */
    size_t      n;
} text_template_t;


/* Where a template comes from: 1 and the span, or 0 when there is no such
 * file.  Spans must outlive the compiled template. */
typedef int (*text_template_load_pt)(void *data, text_span_t name,
    text_span_t *source);

typedef struct {
    text_span_t  file;          /* name as it was asked for */
    unsigned     line;          /* from 1 */
    const char  *what;          /* "unknown slot", "section not closed", ... */
    text_span_t  name;          /* the slot, section or file meant */
} text_template_error_t;

/*
 * Compiles `file` and all it includes.  ops has room for capacity operations.
 * 0, or -1 with *error set.  Required slots that are not used are errors too,
 * with line 0.
 */
int text_template_compile(text_span_t file, text_template_load_pt load,
    void *data, const text_slot_t *slots, size_t nslots, text_op_t *ops,
    size_t capacity, text_template_t *out, text_template_error_t *error);


/*
 * Values: one span per slot, indexed as the slot table.  For a list slot,
 * rows.  Row values are indexed as the slot table too: rows[i].values[slot -
 * first], for slots first .. first + width - 1.
 */
typedef struct text_rows_s  text_rows_t;

typedef struct {
    text_span_t         text;
    const text_rows_t  *rows;   /* list slots, may be NULL: no rows */
} text_value_t;

struct text_rows_s {
    const text_value_t  *values;        /* n * width */
    size_t               n;
    size_t               width;
    size_t               first;
};


/*
 * The page, values escaped.  As everywhere in text/: what the whole takes is
 * returned and what fits is stored, so a call with capacity 0 measures.  data
 * is never NULL.
 */
size_t text_template_render(const text_template_t *tpl,
    const text_value_t *values, uint8_t *data, size_t capacity);


/*
 * The same page with some values known beforehand: what they alone decide is
 * decided, and literals that meet become one.  known[slot] != 0 says that
 * values[slot] is such a value; list slots, slots of rows and those from n on
 * never are.  ops has room for tpl->n operations, text for the literals, which
 * point into it: what they take is returned, and *out is a page only if that
 * is not more than capacity.
 */
size_t text_template_fold(const text_template_t *tpl,
    const text_value_t *values, const uint8_t *known, size_t n,
    text_op_t *ops, uint8_t *text, size_t capacity, text_template_t *out);


#endif /* TEXT_TEMPLATE_H_INCLUDED */
