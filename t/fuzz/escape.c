/* escape.c: what is escaped reads as what it was: entities and %XX decoded
 * again, and times as gmtime_r() and strftime() write them. */

#include <time.h>

#include "naive_utf8.h"
#include "text/escape.h"


/* The input with U+FFFD for what may not stand in a page. */
static size_t
harmless(const uint8_t *data, size_t size, uint8_t *out)
{
    int     code;
    size_t  i, n, len;

    for (i = len = 0; i < size; i += n) {
        n = naive_utf8(data + i, size - i, &code);

        if (code == '\t' || code == '\n' || (code >= 0x20 && code < 0x7f)
            || code >= 0xa0)
        {
            memcpy(out + len, data + i, n);
            len += n;

        } else {
            memcpy(out + len, "\xef\xbf\xbd", 3);
            len += 3;
        }
    }

    return len;
}


static void
check_html(text_span_t in)
{
    size_t       i, k, n, len;
    uint8_t     *out, *read, *expected;

    static const char *const  entities[] = {
        "&&amp;", "<&lt;", ">&gt;", "\"&quot;", "'&#39;", "`&#96;", NULL
    };

    len = text_escape_html(in, NULL, 0);
    out = fuzz_buffer(len);
    read = fuzz_buffer(len);
    fuzz_check(text_escape_html(in, out, len) == len);

    for (i = n = 0; i < len; n++) {
        read[n] = out[i];
        fuzz_check(strchr("<>\"'`", out[i]) == NULL);

        if (out[i] != '&') {
            i++;
            continue;
        }

        for (k = 0; entities[k] != NULL; k++) {
            if (len - i >= strlen(entities[k] + 1)
                && memcmp(out + i, entities[k] + 1, strlen(entities[k] + 1))
                   == 0)
            {
                break;
            }
        }

        fuzz_check(entities[k] != NULL);
        read[n] = (uint8_t) *entities[k];
        i += strlen(entities[k] + 1);
    }

    expected = fuzz_buffer(in.len * 3);
    k = harmless(in.data, in.len, expected);
    fuzz_check(fuzz_same(read, n, expected, k));
    free(expected);
    free(read);
    free(out);
}


static void
check_query(text_span_t in)
{
    char         hex[3] = "";
    size_t       i, n, len;
    uint8_t     *out;

    len = text_escape_query(in, NULL, 0);
    out = fuzz_buffer(len);
    fuzz_check(text_escape_query(in, out, len) == len);

    for (i = n = 0; i < len; i++, n++) {
        fuzz_check(n < in.len);

        if (out[i] != '%') {
            fuzz_check(out[i] == in.data[n] && out[i] < 0x80);
            fuzz_check(strchr(" \"#&'+,;<=>\\^`|", out[i]) == NULL);
            continue;
        }

        fuzz_check(len - i >= 3);
        memcpy(hex, out + i + 1, 2);
        fuzz_check(strspn(hex, "0123456789ABCDEF") == 2);
        fuzz_check(strtoul(hex, NULL, 16) == in.data[n]);
        i += 2;
    }

    fuzz_check(n == in.len);
    free(out);
}


static void
check_time(int64_t seconds)
{
    char       text[32];
    time_t     t;
    uint8_t    iso[TEXT_TIME_CHARS], human[TEXT_TIME_CHARS];
    struct tm  tm;

    t = seconds < -62167219200 ? -62167219200
        : seconds > 253402300799 ? 253402300799 : seconds;
    fuzz_check(gmtime_r(&t, &tm) != NULL);
    text_time_both(seconds, human, iso);

    (void) snprintf(text, sizeof(text), "%04d", tm.tm_year + 1900);
    (void) strftime(text + 4, 20, "-%m-%dT%H:%M:%SZ", &tm);
    fuzz_check(memcmp(iso, text, TEXT_TIME_CHARS) == 0);
    (void) strftime(text + 4, 20, "-%m-%d %H:%M UTC", &tm);
    fuzz_check(memcmp(human, text, TEXT_TIME_CHARS) == 0);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t      seconds;
    text_span_t  in = { data, size };

    check_html(in);
    check_query(in);

    memcpy(&seconds, size < 8 ? (const uint8_t *) "01234567" : data, 8);
    check_time(seconds >> (seconds & 31));

    return 0;
}
