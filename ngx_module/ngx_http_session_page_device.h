/*
 * ngx_http_session_page_device.h: names of devices, each found once.
 */

#ifndef NGX_HTTP_SESSION_PAGE_DEVICE_H_INCLUDED
#define NGX_HTTP_SESSION_PAGE_DEVICE_H_INCLUDED


#include "ngx_http_session_page.h"


/* What text_device() says of a User-Agent.  Valid until the next call. */
text_span_t ngx_http_session_page_device(const ngx_str_t *agent);


#endif /* NGX_HTTP_SESSION_PAGE_DEVICE_H_INCLUDED */
