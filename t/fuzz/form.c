/* form.c: a body is read as splitting it at each '&' and decoding each half of
 * each piece with strtoul() reads it, and a refused body leaves nothing. */

#include <ctype.h>

#include "fuzz.h"
#include "text/form.h"


typedef struct {
    char    data[4096];
    size_t  len;
} field_t;


static int
decode(const uint8_t *p, const uint8_t *end, field_t *field)
{
    char  hex[3] = "";

    for (field->len = 0; p < end; p++) {
        field->data[field->len] = *p == '+' ? ' ' : (char) *p;

        if (*p == '%') {
            if (end - p < 3 || !isxdigit(p[1]) || !isxdigit(p[2])) {
                return TEXT_FORM_BAD_ESCAPE;
            }

            memcpy(hex, p + 1, 2);
            field->data[field->len] = (char) strtoul(hex, NULL, 16);
            p += 2;
        }

        field->len++;
    }

    return TEXT_FORM_OK;
}


static int
is(const field_t *field, const char *name, const char *also)
{
    size_t  n;

    n = strlen(name);

    return field->len >= n && memcmp(field->data, name, n) == 0
           && (field->len == n || field->data[n] == *also)
           && (field->len > n) == (*also != '\0');
}


static int
expect(const uint8_t *data, size_t size, field_t *values, int *present)
{
    int              k;
    size_t           pairs;
    const uint8_t   *p, *stop, *equal, *end;
    static field_t   name, value;

    present[0] = present[1] = 0;
    pairs = 0;
    end = data + size;

    for (p = data; p < end; p = stop + 1) {
        for (stop = p; stop < end && *stop != '&'; stop++);
        for (equal = p; equal < stop && *equal != '='; equal++);

        if (stop == p) {
            continue;
        }

        if (++pairs > 64) {
            return TEXT_FORM_TOO_MANY;
        }

        if (decode(p, equal, &name) != TEXT_FORM_OK
            || decode(equal < stop ? equal + 1 : stop, stop, &value))
        {
            return TEXT_FORM_BAD_ESCAPE;
        }

        for (k = 0; k < 2; k++) {
            if (is(&name, k ? "p" : "user", "[")
                || (is(&name, k ? "p" : "user", "") && present[k]))
            {
                return TEXT_FORM_DUPLICATE;
            }

            if (is(&name, k ? "p" : "user", "")) {
                present[k] = 1;
                memcpy(values[k].data, value.data, value.len);
                values[k].len = value.len;
            }
        }
    }

    return TEXT_FORM_OK;
}


/* A regular expression in plain words: spaces, the type, spaces, ';' or end. */
static int
expect_type(const uint8_t *data, size_t size)
{
    char  line[512];

    if (size >= sizeof(line)) {
        return -1;
    }

    memcpy(line, data, size);
    line[size] = '\0';
    data = (uint8_t *) line + strspn(line, " \t");

    if (strncasecmp((char *) data, "application/x-www-form-urlencoded", 33)) {
        return 0;
    }

    data += 33;
    data += strspn((char *) data, " \t");

    return *data == ';' || data == (uint8_t *) line + size;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int                 i, rc, present[2];
    uint8_t            *body;
    text_span_t         type = { data, size };
    text_form_field_t   f[2];
    static field_t      values[2];

    if (size > sizeof(values[0].data)) {
        return 0;
    }

    body = fuzz_buffer(size);
    memcpy(body, data, size);
    f[0].name = text_span("user");
    f[1].name = text_span("p");
    rc = text_form_parse(body, size, f, 2);

    fuzz_check(rc == expect(data, size, values, present));

    for (i = 0; i < 2; i++) {
        fuzz_check(f[i].present == (rc == TEXT_FORM_OK && present[i]));

        if (f[i].present) {
            fuzz_check(f[i].value.data >= body);
            fuzz_check(f[i].value.data + f[i].value.len <= body + size);
            fuzz_check(fuzz_same(f[i].value.data, f[i].value.len,
                                 values[i].data, values[i].len));

        } else {
            fuzz_check(f[i].value.len == 0);
        }
    }

    free(body);
    i = expect_type(data, size);
    fuzz_check(i == -1 || text_form_type(type) == i);

    return 0;
}
