/*
 * ngx_http_session_version.h: the version of the module.
 */

#ifndef NGX_HTTP_SESSION_VERSION_H_INCLUDED
#define NGX_HTTP_SESSION_VERSION_H_INCLUDED


#define NGX_HTTP_SESSION_VERSION  "0.1.0"


#endif /* NGX_HTTP_SESSION_VERSION_H_INCLUDED */
