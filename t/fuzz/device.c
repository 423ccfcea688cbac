/* device.c: what is known by the beginning of a User-Agent, and else the first
 * browser and the first system of the tables that memmem() finds in it. */

#include "fuzz.h"
#include "text/device.h"

/* for its tables */
#define text_device  device_not_used
#include "text/device.c"
#undef text_device


static const text_device_part_t *
find(text_span_t in, const text_device_part_t *parts, size_t n)
{
    size_t  i;

    for (i = 0; i < n; i++) {
        if (memmem(in.data, in.len, parts[i].token.data, parts[i].token.len))
        {
            return &parts[i];
        }
    }

    return NULL;
}


static void
expect(text_span_t in, char *out)
{
    size_t                     i;
    const text_device_part_t  *browser, *system;

    in.len = in.len < TEXT_DEVICE_AGENT_MAX ? in.len : TEXT_DEVICE_AGENT_MAX;

    for (i = 0; i < text_device_count(text_device_tools); i++) {
        browser = &text_device_tools[i];

        if (memmem(in.data, in.len, browser->token.data, browser->token.len)
            == in.data)
        {
            (void) sprintf(out, "%.*s", (int) browser->name.len,
                           (const char *) browser->name.data);
            return;
        }
    }

    browser = find(in, text_device_browsers,
                   text_device_count(text_device_browsers));
    system = find(in, text_device_systems,
                  text_device_count(text_device_systems));

    if (browser == NULL) {
        (void) strcpy(out, "Unknown device");

    } else {
        (void) sprintf(out, "%.*s%.*s", (int) browser->name.len,
                       (const char *) browser->name.data,
                       system ? (int) system->name.len : 0,
                       system ? (const char *) system->name.data : "");
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         expected[2 * TEXT_DEVICE_CHARS];
    size_t       n;
    uint8_t     *out;
    text_span_t  agent = { data, size };

    out = fuzz_buffer(TEXT_DEVICE_CHARS);
    n = text_device(agent, out);
    fuzz_check(n <= TEXT_DEVICE_CHARS);
    expect(agent, expected);
    fuzz_check(fuzz_same(out, n, expected, strlen(expected)));
    free(out);

    return 0;
}
