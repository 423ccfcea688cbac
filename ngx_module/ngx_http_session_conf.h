/*
 * ngx_http_session_conf.h: the module file's table of contents: what its
 * directives call, and the handlers it installs.
 */

#ifndef NGX_HTTP_SESSION_CONF_H_INCLUDED
#define NGX_HTTP_SESSION_CONF_H_INCLUDED


#include "ngx_http_session.h"


/* a worker's operations that wait for a commit, and how long a request does:
 * 4096 operations are some 10 MiB and more than a disk commits in the time */
#define NGX_HTTP_SESSION_WRITER_QUEUE    4096
#define NGX_HTTP_SESSION_WRITER_TIMEOUT  10000

#define NGX_HTTP_SESSION_LIFETIME_MAX    34560000   /* 400 days */

/* argon2id parameters of the Password Storage Cheat Sheet */
#define NGX_HTTP_SESSION_HASH_MEMORY     (19 * 1024 * 1024)
#define NGX_HTTP_SESSION_HASH_PASSES     2


/* ngx_http_session_conf.c: each directive's values */
char *ngx_http_session_conf_store(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_keys(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_realm(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_lifetime(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_templates(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_title(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_password(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_hash(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_throttle(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* ngx_http_session_conf_location.c */
char *ngx_http_session_conf_require(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_page(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);

/* ngx_http_session_conf_browser.c: cookie, origins, where people are sent */
char *ngx_http_session_conf_cookie(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_origin(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_return(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
char *ngx_http_session_conf_sign_in(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf);
ngx_http_session_cookie_t *ngx_http_session_conf_cookie_default(
    ngx_conf_t *cf);

/* Logs `directive: "value" why` and returns NGX_CONF_ERROR. */
char *ngx_http_session_conf_bad(ngx_conf_t *cf, ngx_str_t *value,
    const char *why);
/* Splits "name=value": 1 and the value when arg starts with name=. */
ngx_int_t ngx_http_session_conf_option(ngx_str_t *arg, const char *name,
    ngx_str_t *value);

/* ngx_http_session_merge.c */
void *ngx_http_session_create_main_conf(ngx_conf_t *cf);
char *ngx_http_session_init_main_conf(ngx_conf_t *cf, void *conf);
void *ngx_http_session_create_srv_conf(ngx_conf_t *cf);
char *ngx_http_session_merge_srv_conf(ngx_conf_t *cf, void *parent,
    void *child);
void *ngx_http_session_create_loc_conf(ngx_conf_t *cf);
char *ngx_http_session_merge_loc_conf(ngx_conf_t *cf, void *parent,
    void *child);
/* NULL without an http block. */
ngx_http_session_main_conf_t *ngx_http_session_conf_of_cycle(
    ngx_cycle_t *cycle);

/* ngx_http_session_finish.c: what is missing, what looks like a trap */
ngx_int_t ngx_http_session_conf_finish(ngx_conf_t *cf,
    ngx_http_session_main_conf_t *smcf);

/* run time */
ngx_int_t ngx_http_session_add_variables(ngx_conf_t *cf);
ngx_int_t ngx_http_session_preaccess_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_access_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_private_filter_init(ngx_conf_t *cf);


#endif /* NGX_HTTP_SESSION_CONF_H_INCLUDED */
