/*
 * whatwg_url.h: where a browser that is at https://base.example/a/b goes when
 * it is given a reference, by the states of the WHATWG's URL standard.
 */

#ifndef WHATWG_URL_H_INCLUDED
#define WHATWG_URL_H_INCLUDED


#include <ctype.h>

#include "fuzz.h"


typedef struct {
    char  origin[1024];
    int   moved;                /* the path is not the one that was given */
} url_t;


static inline int
url_slash(char c)
{
    return c == '/' || c == '\\';
}


/* A segment that the standard takes for "." or "..". */
static inline int
url_dots(const char *p, size_t n)
{
    size_t  i, dots;

    for (i = dots = 0; i < n; dots++) {
        if (p[i] == '.') {
            i++;

        } else if (n - i >= 3 && strncasecmp(p + i, "%2e", 3) == 0) {
            i += 3;

        } else {
            return 0;
        }
    }

    return dots == 1 || dots == 2;
}


static inline void
url_path(const char *p, url_t *url)
{
    size_t  n;

    while (*p != '\0' && *p != '?' && *p != '#') {
        url->moved |= *p == '\\';
        p += url_slash(*p);
        n = strcspn(p, "/\\?#");
        url->moved |= url_dots(p, n);
        p += n;
    }
}


/* Authority, then path.  0 where the standard says failure. */
static inline int
url_authority(const char *scheme, char *p, url_t *url)
{
    int     standard;
    char   *host, *end, *at, *port, rest[1024];
    size_t  i;

    while (url_slash(*p)) {
        p++;
    }

    end = p + strcspn(p, "/\\?#");
    strcpy(rest, end);
    *end = '\0';
    at = strrchr(p, '@');
    host = at == NULL ? p : at + 1;
    port = *host == '[' ? strstr(host, "]:") : strchr(host, ':');

    if (port != NULL) {
        port += *port == ']';
        *port++ = '\0';

        if (port[strspn(port, "0123456789")] != '\0') {
            return 0;
        }
    }

    for (i = 0; host[i] != '\0'; i++) {
        host[i] = (char) tolower((unsigned char) host[i]);
    }

    if (i == 0) {
        return 0;
    }

    standard = strcmp(scheme, "https") == 0 ? 443 : 80;

    if (port == NULL || *port == '\0' || atoi(port) == standard) {
        sprintf(url->origin, "%s://%.900s", scheme, host);

    } else {
        sprintf(url->origin, "%s://%.900s:%d", scheme, host, atoi(port));
    }

    url_path(rest, url);

    return 1;
}


/* 0: failure, or a scheme that has nothing to do with HTTP. */
static inline int
url_resolve(const uint8_t *data, size_t size, url_t *url)
{
    char    s[1024], scheme[8], *p;
    size_t  i, n;

    memset(url, 0, sizeof(url_t));

    while (size > 0 && *data <= ' ') {
        data++;
        size--;
    }

    while (size > 0 && data[size - 1] <= ' ') {
        size--;
    }

    for (i = n = 0; i < size && n < sizeof(s) - 1; i++) {
        if (strchr("\t\n\r", data[i]) == NULL) {
            s[n++] = (char) data[i];
        }
    }

    s[n] = '\0';
    p = s;
    n = strcspn(s, ":/\\?#");

    if (s[n] == ':' && isalpha((unsigned char) s[0])) {

        if (n > 5) {
            return 0;
        }

        for (i = 0; i < n; i++) {
            scheme[i] = (char) tolower((unsigned char) s[i]);
        }

        scheme[n] = '\0';
        p += n + 1;

        if (strcmp(scheme, "http") == 0
            || (strcmp(scheme, "https") == 0 && p[0] == '/' && p[1] == '/'))
        {
            return url_authority(scheme, p, url);
        }

        if (strcmp(scheme, "https") != 0) {
            return 0;
        }
    }

    if (url_slash(p[0]) && url_slash(p[1])) {
        return url_authority("https", p, url);
    }

    strcpy(url->origin, "https://base.example");
    url->moved = !url_slash(*p);
    url_path(p, url);

    return 1;
}


#endif /* WHATWG_URL_H_INCLUDED */
