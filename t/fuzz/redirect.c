/* redirect.c: an accepted path is plain and has no dots to walk up. */

#include "fuzz.h"
#include "text/redirect.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         s[TEXT_RETURN_MAX + 1], *p, *segment;
    size_t       i;
    uint8_t      normal[512], again[512];
    text_span_t  in, good;

    in.data = data;
    in.len = size;
    good.data = normal;
    good.len = text_origin_normal(in, normal, sizeof(normal));
    fuzz_check(good.len <= size && good.len < sizeof(normal));
    fuzz_check(text_origin_normal(good, again, sizeof(again)) == good.len);
    fuzz_check(good.len == 0 || text_return_origin(in, &good, 1) == 1);

    if (!text_return_path(in)) {
        return 0;
    }
    for (i = 0; i < size && memchr("?#", data[i], 2) == NULL; i++) {
        fuzz_check(data[i] > ' ' && data[i] < 0x7f && data[i] != '\\');
        s[i] = (char) data[i];
    }

    s[i] = '\0';
    fuzz_check(s[0] == '/' && s[1] != '/' && strncmp(s, "/%2f", 4) != 0);
    for (p = s; (p = strcasestr(p, "%2e")) != NULL; *p++ = '.') {
        memmove(p + 1, p + 3, strlen(p + 3) + 1);
    }
    for (p = s; (segment = strsep(&p, "/")) != NULL; ) {
        fuzz_check(strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0);
    }
    return 0;
}
