/* accept.c: of the types that strsep() cuts out, separators in quoted strings
 * painted over before, the first one of the highest weight is chosen. */

#include "fuzz.h"
#include "text/accept.h"


/* Without blanks at either end. */
static char *
trim(char *s)
{
    size_t  n;

    s += strspn(s, " \t");

    for (n = strlen(s); n > 0 && (s[n - 1] == ' ' || s[n - 1] == '\t'); n--) {
        s[n - 1] = '\0';
    }

    return s;
}


static text_accept_t
kind(const char *type)
{
    size_t  n;

    n = strlen(type);

    if (strcasecmp(type, "text/html") == 0
        || strcasecmp(type, "application/xhtml+xml") == 0)
    {
        return TEXT_ACCEPT_HTML;
    }

    if (strcasecmp(type, "application/json") == 0
        || strcasecmp(type, "text/json") == 0
        || (n > 17 && strncasecmp(type, "application/", 12) == 0
            && strcasecmp(type + n - 5, "+json") == 0))
    {
        return TEXT_ACCEPT_JSON;
    }

    return TEXT_ACCEPT_ANY;
}


/* One of "", "0" and "1", then maybe a point and digits, of which three count;
 * 0 for anything else, and for more than 1. */
static unsigned
weight(const char *s)
{
    char      digits[4] = "000";
    size_t    n;
    unsigned  q;

    q = *s == '1' ? 1000 : 0;
    s += *s == '0' || *s == '1';

    if (*s == '.') {
        s++;
        n = strspn(s, "0123456789");
        memcpy(digits, s, n < 3 ? n : 3);
        q += (unsigned) atoi(digits);
        s += n;
    }

    return *s != '\0' || q > 1000 ? 0 : q;
}


static text_accept_t
expect(char *s)
{
    char           *range, *part, *equal, *p, *q;
    unsigned        w, best;
    text_accept_t   chosen, type;

    chosen = TEXT_ACCEPT_ANY;
    best = 0;

    for (range = strsep(&s, ","); range != NULL; range = strsep(&s, ",")) {
        p = range;
        type = kind(trim(strsep(&p, ";")));
        w = 1000;

        while ((part = strsep(&p, ";")) != NULL) {
            q = part;
            equal = strsep(&q, "=");

            if (q != NULL && strcasecmp(trim(equal), "q") == 0) {
                w = weight(trim(q));
                break;
            }
        }

        if (type != TEXT_ACCEPT_ANY && w > best) {
            best = w;
            chosen = type;
        }
    }

    return chosen;
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          quoted, escaped;
    char         s[4096];
    size_t       i;
    text_span_t  in = { data, size };

    if (size >= sizeof(s)) {
        return 0;
    }

    for (i = 0, quoted = escaped = 0; i < size; i++) {
        s[i] = data[i] == '\0' || (quoted && strchr(",;=", data[i]))
               ? 1 : (char) data[i];
        quoted ^= data[i] == '"' && !escaped;
        escaped = quoted && data[i] == '\\' && !escaped;
    }

    s[size] = '\0';
    fuzz_check(text_accept(in) == expect(s));

    return 0;
}
