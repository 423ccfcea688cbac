/*
 * Names of devices, remembered by the worker: a site's users have few
 * different browsers, and each User-Agent is searched for dozens of words.
 */

#include "ngx_http_session_page_device.h"
#include "text/device.h"


#define NGX_HTTP_SESSION_DEVICES    64      /* a power of two */
#define NGX_HTTP_SESSION_AGENT_LEN  256     /* the store keeps no more */


typedef struct {
    size_t     len;                         /* of the agent, 0: empty */
    size_t     name_len;
    u_char     agent[NGX_HTTP_SESSION_AGENT_LEN];
    u_char     name[TEXT_DEVICE_CHARS];
} ngx_http_session_device_t;


static ngx_http_session_device_t
    ngx_http_session_devices[NGX_HTTP_SESSION_DEVICES];


text_span_t
ngx_http_session_page_device(const ngx_str_t *agent)
{
    size_t                      len;
    uint32_t                    hash;
    text_span_t                 span;
    ngx_http_session_device_t  *device;

    len = ngx_min(agent->len, NGX_HTTP_SESSION_AGENT_LEN);

    /* who makes agents meet in one slot makes his own page dearer */

    hash = ngx_murmur_hash2(agent->data, len);
    device = &ngx_http_session_devices[hash % NGX_HTTP_SESSION_DEVICES];

    if (len == 0 || device->len != len
        || ngx_memcmp(device->agent, agent->data, len) != 0)
    {
        span.data = agent->data;
        span.len = len;

        device->len = len;
        device->name_len = text_device(span, device->name);

        ngx_memcpy(device->agent, agent->data, len);
    }

    span.data = device->name;
    span.len = device->name_len;

    return span;
}
