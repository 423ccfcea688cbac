/*
 * csp.c: Content-Security-Policy values in pieces.
 */

#include "csp.h"
#include "out.h"


static inline uint8_t
text_csp_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}


static int
text_csp_same(text_span_t a, text_span_t b)
{
    size_t  i;

    if (a.len != b.len) {
        return 0;
    }

    for (i = 0; i < a.len; i++) {
        if (text_csp_lower(a.data[i]) != text_csp_lower(b.data[i])) {
            return 0;
        }
    }

    return 1;
}


static int
text_csp_has(text_span_t word, text_span_t part)
{
    size_t       i;
    text_span_t  at;

    at.len = part.len;

    for (i = 0; i + part.len <= word.len; i++) {
        at.data = word.data + i;

        if (text_csp_same(at, part)) {
            return 1;
        }
    }

    return 0;
}


/* Takes what stands before the next `c` out of *in; 0: nothing is left. */
static int
text_csp_split(text_span_t *in, uint8_t c, text_span_t *part)
{
    const uint8_t  *stop;

    if (in->len == 0) {
        return 0;
    }

    *part = *in;
    stop = memchr(in->data, c, in->len);

    if (stop == NULL) {
        in->data += in->len;
        in->len = 0;
        return 1;
    }

    part->len = (size_t) (stop - in->data);
    in->data += part->len + 1;
    in->len -= part->len + 1;

    return 1;
}


/* The name of the next directive that is not empty; *in goes behind it. */
static int
text_csp_directive(text_span_t *in, text_span_t *name)
{
    text_span_t  directive;

    while (text_csp_split(in, ';', &directive)) {
        while (text_csp_split(&directive, ' ', name)) {
            if (name->len != 0) {
                return 1;
            }
        }
    }

    return 0;
}


static int
text_csp_name_valid(text_span_t name)
{
    size_t   i;
    uint8_t  c;

    for (i = 0; i < name.len; i++) {
        c = text_csp_lower(name.data[i]);

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return 0;
        }
    }

    return 1;
}


/*
 * Each name is compared with the ones before it.  That is quadratic in a text
 * of TEXT_CSP_POLICY_MAX bytes that the operator wrote, once, at start.
 */
static int
text_csp_directives(text_span_t policy, size_t *at)
{
    text_span_t  in, name, before, other;

    for (in = policy; text_csp_directive(&in, &name); /* void */ ) {
        *at = (size_t) (name.data - policy.data);

        if (!text_csp_name_valid(name)) {
            return TEXT_CSP_BAD_DIRECTIVE;
        }

        before.data = policy.data;
        before.len = *at;

        while (text_csp_directive(&before, &other)) {
            if (text_csp_same(name, other)) {
                return TEXT_CSP_DUPLICATE;
            }
        }
    }

    return TEXT_CSP_OK;
}


/*
 * One word of the policy.  1: it is a place for a nonce; 0: any other word.
 * A nonce that is written into the policy is the same for everybody, and
 * $csp_nonce anywhere else reaches browsers as these ten characters: both are
 * refused.
 */
static int
text_csp_word(text_span_t word)
{
    if (text_csp_same(word, text_span("'nonce'"))
        || text_csp_same(word, text_span("'nonce-$csp_nonce'")))
    {
        return 1;
    }

    if (text_csp_has(word, text_span("'nonce"))
        || text_csp_has(word, text_span("$csp_nonce")))
    {
        return TEXT_CSP_BAD_NONCE;
    }

    return 0;
}


/* Closes the piece that is being written and begins the next one. */
static int
text_csp_border(text_csp_t *csp, const text_out_t *o)
{
    text_span_t  *piece;

    if (csp->n == TEXT_CSP_NONCES_MAX) {
        return TEXT_CSP_TOO_MANY_NONCES;
    }

    piece = &csp->pieces[csp->n++];
    piece->len = o->len - (size_t) (piece->data - o->data);
    piece[1].data = o->data + o->len;

    return TEXT_CSP_OK;
}


/* Writes the policy with its places rewritten; *at is the place of an error. */
static int
text_csp_pieces(text_span_t policy, text_out_t *o, text_csp_t *csp,
    size_t *at)
{
    int             rc;
    text_span_t     word;
    const uint8_t  *p, *end;

    csp->n = 0;
    csp->pieces[0].data = o->data;
    end = policy.data + policy.len;

    for (p = policy.data; p < end; p = word.data + word.len) {

        if (*p == ' ' || *p == ';') {
            text_out_byte(o, *p);
            word.data = p;
            word.len = 1;
            continue;
        }

        word.data = p;

        while (p < end && *p != ' ' && *p != ';') {
            p++;
        }

        word.len = (size_t) (p - word.data);
        *at = (size_t) (word.data - policy.data);
        rc = text_csp_word(word);

        if (rc < 0) {
            return rc;
        }

        if (rc == 0) {
            text_out_bytes(o, word);
            continue;
        }

        text_out_bytes(o, text_span("'nonce-"));
        rc = text_csp_border(csp, o);

        if (rc != TEXT_CSP_OK) {
            return rc;
        }

        text_out_byte(o, '\'');
    }

    csp->pieces[csp->n].len = o->len
                              - (size_t) (csp->pieces[csp->n].data - o->data);
    csp->n++;
    csp->len = o->len + (csp->n - 1) * TEXT_CSP_NONCE_CHARS;

    return TEXT_CSP_OK;
}


/* HTTP/2 forbids a field to begin or end in a space, so both go. */
static text_span_t
text_csp_trim(text_span_t policy, size_t *skipped)
{
    *skipped = 0;

    while (policy.len != 0 && *policy.data == ' ') {
        policy.data++;
        policy.len--;
        (*skipped)++;
    }

    while (policy.len != 0 && policy.data[policy.len - 1] == ' ') {
        policy.len--;
    }

    return policy;
}


int
text_csp_compile(text_span_t policy, uint8_t *normal, size_t capacity,
    text_csp_t *csp, size_t *at)
{
    int          rc;
    size_t       i, skipped;
    text_out_t   o;
    text_span_t  in, name;

    *at = 0;

    if (policy.len > TEXT_CSP_POLICY_MAX
        || capacity < 2 * policy.len + 64)
    {
        return TEXT_CSP_TOO_LONG;
    }

    for (i = 0; i < policy.len; i++) {
        if (policy.data[i] < ' ' || policy.data[i] > '~'
            || policy.data[i] == ',')
        {
            *at = i;
            return TEXT_CSP_BAD_BYTE;
        }
    }

    policy = text_csp_trim(policy, &skipped);
    in = policy;

    if (!text_csp_directive(&in, &name)) {
        return TEXT_CSP_EMPTY;
    }

    o = (text_out_t) { normal, capacity, 0 };
    rc = text_csp_directives(policy, at);

    if (rc == TEXT_CSP_OK) {
        rc = text_csp_pieces(policy, &o, csp, at);
    }

    *at = rc == TEXT_CSP_OK ? 0 : *at + skipped;

    return rc;
}


size_t
text_csp_write(const text_csp_t *csp,
    const uint8_t nonce[TEXT_CSP_NONCE_CHARS], uint8_t *out)
{
    size_t    i;
    uint8_t  *p;

    p = out;

    for (i = 0; i < csp->n; i++) {

        if (i != 0) {
            memcpy(p, nonce, TEXT_CSP_NONCE_CHARS);
            p += TEXT_CSP_NONCE_CHARS;
        }

        memcpy(p, csp->pieces[i].data, csp->pieces[i].len);
        p += csp->pieces[i].len;
    }

    return (size_t) (p - out);
}


const char *
text_csp_strerror(int code)
{
    switch (code) {

    case TEXT_CSP_OK:
        return "no error";

    case TEXT_CSP_EMPTY:
        return "policy is empty";

    case TEXT_CSP_TOO_LONG:
        return "policy is too long";

    case TEXT_CSP_TOO_MANY_NONCES:
        return "too many nonces";

    case TEXT_CSP_BAD_BYTE:
        return "only printable ASCII without a comma can stand in a policy";

    case TEXT_CSP_BAD_DIRECTIVE:
        return "not a directive name";

    case TEXT_CSP_DUPLICATE:
        return "directive is duplicate, browsers ignore the second";

    case TEXT_CSP_BAD_NONCE:
        return "write 'nonce', with the quotes, where a nonce goes";

    default:
        return "unknown error";
    }
}
