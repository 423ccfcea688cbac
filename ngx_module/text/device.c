/*
 * device.c: "Firefox on Linux" out of a User-Agent.
 */

#include "device.h"
#include "out.h"


#define TEXT_DEVICE_AGENT_MAX  512      /* what is looked at; a hint needs no
                                           more, and browsers send 200 */


typedef struct {
    text_span_t  token;         /* as it stands in the header */
    text_span_t  name;
} text_device_part_t;


#define text_device_part(token, name)                                        \
    { { (const uint8_t *) (token), sizeof(token) - 1 },                       \
      { (const uint8_t *) (name), sizeof(name) - 1 } }


/* Browsers claim to be the ones below them, so the order decides. */
static const text_device_part_t  text_device_browsers[] = {
    text_device_part("Edg/", "Edge"),
    text_device_part("EdgA/", "Edge"),
    text_device_part("EdgiOS/", "Edge"),
    text_device_part("Edge/", "Edge"),
    text_device_part("OPR/", "Opera"),
    text_device_part("OPT/", "Opera"),
    text_device_part("Opera", "Opera"),
    text_device_part("Vivaldi/", "Vivaldi"),
    text_device_part("SamsungBrowser/", "Samsung Internet"),
    text_device_part("YaBrowser/", "Yandex Browser"),
    text_device_part("DuckDuckGo/", "DuckDuckGo"),
    text_device_part("Ddg/", "DuckDuckGo"),
    text_device_part("Electron/", "Electron"),
    text_device_part("FxiOS/", "Firefox"),
    text_device_part("Firefox/", "Firefox"),
    text_device_part("CriOS/", "Chrome"),
    text_device_part("HeadlessChrome/", "Headless Chrome"),
    text_device_part("Chromium/", "Chromium"),
    text_device_part("Chrome/", "Chrome"),
    text_device_part("Safari/", "Safari"),
    text_device_part("Trident/", "Internet Explorer"),
    text_device_part("MSIE ", "Internet Explorer")
};

/* The same: Android says Linux, an iPhone says Mac OS X. */
static const text_device_part_t  text_device_systems[] = {
    text_device_part("Android", " on Android"),
    text_device_part("iPhone", " on iPhone"),
    text_device_part("iPad", " on iPad"),
    text_device_part("iPod", " on iPod"),
    text_device_part("Windows", " on Windows"),
    text_device_part("CrOS", " on ChromeOS"),
    text_device_part("Macintosh", " on macOS"),
    text_device_part("Mac OS X", " on macOS"),
    text_device_part("FreeBSD", " on FreeBSD"),
    text_device_part("OpenBSD", " on OpenBSD"),
    text_device_part("NetBSD", " on NetBSD"),
    text_device_part("Linux", " on Linux")
};

/* Tools are known by how the header begins. */
static const text_device_part_t  text_device_tools[] = {
    text_device_part("curl/", "curl"),
    text_device_part("Wget", "Wget"),
    text_device_part("HTTPie/", "HTTPie"),
    text_device_part("PostmanRuntime/", "Postman"),
    text_device_part("insomnia/", "Insomnia"),
    text_device_part("python-requests/", "Python"),
    text_device_part("python-httpx/", "Python"),
    text_device_part("Python-urllib/", "Python"),
    text_device_part("Python/", "Python"),
    text_device_part("Go-http-client/", "Go"),
    text_device_part("okhttp/", "OkHttp"),
    text_device_part("Java/", "Java"),
    text_device_part("Apache-HttpClient/", "Java"),
    text_device_part("axios/", "axios"),
    text_device_part("node-fetch", "Node.js"),
    text_device_part("undici", "Node.js"),
    text_device_part("node", "Node.js"),
    text_device_part("Ruby", "Ruby"),
    text_device_part("libwww-perl/", "Perl"),
    text_device_part("HTTP-Tiny/", "Perl"),
    text_device_part("PHP", "PHP"),
    text_device_part("GuzzleHttp/", "PHP"),
    text_device_part("Dart/", "Dart"),
    text_device_part("git/", "git")
};


#define text_device_count(parts)  (sizeof(parts) / sizeof((parts)[0]))


/* The first part of the table that is in the agent, or NULL: one pass over the
 * agent, which is longer than the table.  All tokens begin with a capital or
 * with the i of iPhone. */
static const text_device_part_t *
text_device_find(text_span_t agent, const text_device_part_t *parts, size_t n)
{
    size_t       i, k, found;
    uint8_t      c;
    text_span_t  token;

    found = n;

    for (i = 0; i < agent.len; i++) {
        c = agent.data[i];

        if ((c < 'A' || c > 'Z') && c != 'i') {
            continue;
        }

        for (k = 0; k < found; k++) {
            token = parts[k].token;

            if (token.data[0] == c && token.len <= agent.len - i
                && memcmp(&agent.data[i], token.data, token.len) == 0)
            {
                found = k;
            }
        }
    }

    return found < n ? &parts[found] : NULL;
}


size_t
text_device(text_span_t agent, uint8_t out[TEXT_DEVICE_CHARS])
{
    size_t                     i;
    text_out_t                 o;
    const text_device_part_t  *part;

    o = (text_out_t) { out, TEXT_DEVICE_CHARS, 0 };

    if (agent.len > TEXT_DEVICE_AGENT_MAX) {
        agent.len = TEXT_DEVICE_AGENT_MAX;
    }

    for (i = 0; i < text_device_count(text_device_tools); i++) {
        part = &text_device_tools[i];

        if (agent.len >= part->token.len
            && memcmp(agent.data, part->token.data, part->token.len) == 0)
        {
            text_out_bytes(&o, part->name);
            return o.len;
        }
    }

    part = text_device_find(agent, text_device_browsers,
                            text_device_count(text_device_browsers));

    if (part == NULL) {
        text_out_bytes(&o, text_span("Unknown device"));
        return o.len;
    }

    text_out_bytes(&o, part->name);

    part = text_device_find(agent, text_device_systems,
                            text_device_count(text_device_systems));

    if (part != NULL) {
        text_out_bytes(&o, part->name);
    }

    return o.len;
}
