/* redirect.c: a target is taken exactly when a naive reading of the rules takes
 * it, and never one that resolves to another origin or another path by the
 * steps of the WHATWG's URL standard, which browsers follow. */

#include <arpa/inet.h>
#include <ctype.h>

#include "whatwg_url.h"
#include "text/redirect.h"


/* The byte that "%XX" at p stands for, or -1. */
static int
escape(const char *p)
{
    char  hex[3] = { 0 };

    if (p[0] != '%' || !isxdigit((uint8_t) p[1]) || !isxdigit((uint8_t) p[2]))
    {
        return -1;
    }

    memcpy(hex, p + 1, 2);

    return (int) strtoul(hex, NULL, 16);
}


static int
expect_path(const char *s, size_t n)
{
    int     c;
    char    path[TEXT_RETURN_MAX + 1], *p, *segment;
    size_t  i, k, stop;

    if (n == 0 || n > TEXT_RETURN_MAX || s[0] != '/' || s[1] == '/') {
        return 0;
    }

    for (i = 0; i < n; i++) {
        if (!isgraph((uint8_t) s[i]) || s[i] == '\\') {
            return 0;
        }

        c = escape(s + i);

        if (c >= 0 && iscntrl(c)) {
            return 0;
        }
    }

    stop = strcspn(s, "?#");

    for (i = k = 0; i < stop; i++, k++) {
        c = (uint8_t) s[i];

        if (c == '%') {
            c = escape(s + i);

            if (c == -1 || ((c == '/' || c == '\\')
                            && memchr(s + 1, '/', i - 1) == NULL))
            {
                return 0;
            }

            i += 2;
        }

        path[k] = (char) c;
    }

    path[k] = '\0';

    for (p = path; (segment = strsep(&p, "/\\")) != NULL; ) {
        if (strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0) {
            return 0;
        }
    }

    return 1;
}


/* scheme://host or scheme://host:port in lower case without the port that is
 * the scheme's own; "" for what is no origin.  out has 32 bytes more. */
static void
expect_origin(const char *s, char *out)
{
    int              standard;
    char             host[512], *port;
    size_t           i, n;
    unsigned long    number;
    struct in6_addr  address;

    out[0] = '\0';
    standard = strncasecmp(s, "https://", 8) == 0 ? 443 : 80;
    n = standard == 443 ? 8 : 7;

    if ((n == 7 && strncasecmp(s, "http://", 7) != 0) || strlen(s + n) > 400) {
        return;
    }

    strcpy(host, s + n);
    port = host[0] == '[' ? strstr(host, "]:") : strchr(host, ':');

    if (port != NULL) {
        port += *port == ']';
        *port++ = '\0';
        number = strtoul(port, NULL, 10);

        if (port[strspn(port, "0123456789")] != '\0' || strlen(port) > 5
            || number == 0 || number > 65535)
        {
            return;
        }

    } else {
        number = (unsigned long) standard;
    }

    for (i = 0; host[i] != '\0'; i++) {
        host[i] = (char) tolower((uint8_t) host[i]);
    }

    if (host[0] == '[') {
        if (i < 2 || host[i - 1] != ']' || strchr(host, '.') != NULL) {
            return;
        }

        host[i - 1] = '\0';

        if (inet_pton(AF_INET6, host + 1, &address) != 1) {
            return;
        }

        host[i - 1] = ']';

    } else if (i == 0 || i > 255 || host[0] == '.' || strstr(host, "..")
               || host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-_."
                              )] != '\0')
    {
        return;
    }

    i = (size_t) sprintf(out, "%s://%s", standard == 443 ? "https" : "http",
                         host);

    if (number != (unsigned long) standard) {
        (void) sprintf(out + i, ":%lu", number);
    }
}


static void
check_origin(const char *s, text_span_t in)
{
    char         head[1024], expected[1024], *slash;
    size_t       i, taken;
    url_t        url;
    uint8_t      normal[1024];
    text_span_t  out = { normal, 0 }, allowed[4];

    out.len = text_origin_normal(in, normal, sizeof(normal));
    expect_origin(s, expected);
    fuzz_check(fuzz_same(normal, out.len, expected, strlen(expected)));

    allowed[0] = text_span("https://a.example");
    allowed[1] = text_span("http://b.example:8080");
    allowed[2] = text_span("https://[::1]");
    allowed[3] = out;

    taken = (size_t) text_return_origin(in, allowed, 4);

    if (strncasecmp(s, "http", 4) != 0 || strstr(s, "//") == NULL) {
        fuzz_check(!taken);
        return;
    }

    strcpy(head, s);
    slash = strchr(strstr(head, "//") + 2, '/');

    if (slash != NULL) {
        *slash = '\0';
        s += slash - head;
    }

    expect_origin(head, expected);

    for (i = 0; i < 4; i++) {
        if (expected[0] != '\0'
            && fuzz_same(allowed[i].data, allowed[i].len, expected,
                         strlen(expected)))
        {
            break;
        }
    }

    fuzz_check(taken == (i < 4 && (slash == NULL
                                   || expect_path(s, strlen(s)))));

    if (taken) {
        fuzz_check(url_resolve(in.data, in.len, &url));
        fuzz_check(strcmp(url.origin, expected) == 0 && !url.moved);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int          taken;
    char         s[1024];
    url_t        url;
    text_span_t  in = { data, size };

    if (size > 900) {
        return 0;
    }

    if (memchr(data, '\0', size) != NULL) {
        fuzz_check(!text_return_path(in));
        fuzz_check(!text_origin_normal(in, (uint8_t *) s, sizeof(s)));
        return 0;
    }

    memcpy(s, data, size);
    s[size] = '\0';
    taken = text_return_path(in);
    fuzz_check(taken == expect_path(s, size));

    if (taken) {
        fuzz_check(url_resolve(data, size, &url));
        fuzz_check(strcmp(url.origin, "https://base.example") == 0);
        fuzz_check(!url.moved);
    }

    check_origin(s, in);

    return 0;
}
