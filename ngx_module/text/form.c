/*
 * form.c: application/x-www-form-urlencoded, decoded once, in place.
 */

#include "form.h"
#include "percent.h"


static int
text_form_decode(uint8_t *from, const uint8_t *to, text_span_t *out)
{
    int       c;
    uint8_t  *p, *w;

    w = from;

    for (p = from; p < to; p++) {

        if (*p == '+') {
            *w++ = ' ';
            continue;
        }

        if (*p != '%') {
            *w++ = *p;
            continue;
        }

        c = text_percent(p, (size_t) (to - p));

        if (c < 0) {
            return TEXT_FORM_BAD_ESCAPE;
        }

        *w++ = (uint8_t) c;
        p += 2;
    }

    out->data = from;
    out->len = (size_t) (w - from);

    return TEXT_FORM_OK;
}


static int
text_form_pair(uint8_t *p, uint8_t *end, text_form_field_t *fields, size_t n)
{
    int          rc;
    size_t       i, len;
    uint8_t     *equal;
    text_span_t  name, value;

    equal = memchr(p, '=', (size_t) (end - p));

    rc = text_form_decode(p, equal == NULL ? end : equal, &name);

    if (rc != TEXT_FORM_OK) {
        return rc;
    }

    rc = text_form_decode(equal == NULL ? end : equal + 1, end, &value);

    if (rc != TEXT_FORM_OK) {
        return rc;
    }

    for (i = 0; i < n; i++) {
        len = fields[i].name.len;

        if (name.len < len || memcmp(name.data, fields[i].name.data, len) != 0)
        {
            continue;
        }

        if (name.len > len && name.data[len] != '[') {
            continue;
        }

        if (name.len > len || fields[i].present) {
            return TEXT_FORM_DUPLICATE;
        }

        fields[i].present = 1;
        fields[i].value = value;
    }

    return TEXT_FORM_OK;
}


static void
text_form_clear(text_form_field_t *fields, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        fields[i].present = 0;
        fields[i].value.data = NULL;
        fields[i].value.len = 0;
    }
}


/*
 * A body that is refused leaves no field behind: nobody can use the half that
 * came before the error.
 */
int
text_form_parse(uint8_t *body, size_t len, text_form_field_t *fields, size_t n)
{
    int       rc;
    size_t    pairs;
    uint8_t  *p, *end, *stop;

    text_form_clear(fields, n);

    if (len == 0) {
        return TEXT_FORM_OK;
    }

    end = body + len;
    pairs = 0;

    for (p = body; p < end; p = stop + 1) {
        stop = memchr(p, '&', (size_t) (end - p));

        if (stop == p) {
            continue;
        }

        if (++pairs > TEXT_FORM_FIELDS_MAX) {
            rc = TEXT_FORM_TOO_MANY;
            goto failed;
        }

        rc = text_form_pair(p, stop == NULL ? end : stop, fields, n);

        if (rc != TEXT_FORM_OK) {
            goto failed;
        }

        if (stop == NULL) {
            break;
        }
    }

    return TEXT_FORM_OK;

failed:

    text_form_clear(fields, n);

    return rc;
}


static inline int
text_form_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}


int
text_form_type(text_span_t content_type)
{
    size_t       i;
    uint8_t      c;
    text_span_t  type, in;

    type = text_span("application/x-www-form-urlencoded");
    in = content_type;

    while (in.len != 0 && text_form_blank(*in.data)) {
        in.data++;
        in.len--;
    }

    if (in.len < type.len) {
        return 0;
    }

    for (i = 0; i < type.len; i++) {
        c = in.data[i];

        if (c >= 'A' && c <= 'Z') {
            c |= 0x20;
        }

        if (c != type.data[i]) {
            return 0;
        }
    }

    while (i < in.len && text_form_blank(in.data[i])) {
        i++;
    }

    return i == in.len || in.data[i] == ';';
}
