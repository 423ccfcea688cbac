/*
 * ngx_http_session_version.h: the version of the module.
 */

#ifndef NGX_HTTP_SESSION_VERSION_H_INCLUDED
#define NGX_HTTP_SESSION_VERSION_H_INCLUDED


#define NGX_HTTP_SESSION_VERSION  "0.1.0"

/* This and nginx's version, for bin/doctor-build to find in the file. */
extern const char  ngx_http_session_built[];


#endif /* NGX_HTTP_SESSION_VERSION_H_INCLUDED */
