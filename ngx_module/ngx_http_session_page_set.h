/*
 * ngx_http_session_page_set.h: the files the pages are made of, as a server
 * has them.  Made in the master while the configuration is parsed, read-only
 * afterwards.
 */

#ifndef NGX_HTTP_SESSION_PAGE_SET_H_INCLUDED
#define NGX_HTTP_SESSION_PAGE_SET_H_INCLUDED


#include "ngx_http_session_page_slots.h"


#define NGX_HTTP_SESSION_ASSET_HASH_LEN  16


typedef enum {
    NGX_HTTP_SESSION_ASSET_STYLE = 0,       /* session.css */
    NGX_HTTP_SESSION_ASSET_LOGO,            /* logo.svg */
    NGX_HTTP_SESSION_ASSETS
} ngx_http_session_asset_e;

typedef struct {
    ngx_str_t                       name;
    ngx_str_t                       data;
} ngx_http_session_page_file_t;

/* One per session_templates directory, and one for the built-in files. */
typedef struct {
    ngx_str_t                       dir;        /* empty: built in only */
    ngx_array_t                     files;      /* of page_file_t, loaded */
    text_template_t                 templates[NGX_HTTP_SESSION_TEMPLATES];
    ngx_str_t                       assets[NGX_HTTP_SESSION_ASSETS];
    u_char                          hash[NGX_HTTP_SESSION_ASSET_HASH_LEN];
} ngx_http_session_page_files_t;

struct ngx_http_session_page_set_s {
    ngx_http_session_page_files_t  *files;
    /* with what this server's configuration decides: see page_fold.c */
    text_template_t                 templates[NGX_HTTP_SESSION_TEMPLATES];
    /* of this server; empty where no location has session_page assets */
    ngx_str_t                       uris[NGX_HTTP_SESSION_ASSETS];
};

/* The page module's main configuration: sets by directory. */
typedef struct {
    ngx_array_t                     files;      /* of page_files_t * */
} ngx_http_session_page_main_conf_t;

typedef struct {
    ngx_str_t                       file;
    ngx_str_t                       type;
} ngx_http_session_asset_t;


ngx_int_t ngx_http_session_page_fold(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *sscf);


extern const ngx_http_session_asset_t
    ngx_http_session_assets[NGX_HTTP_SESSION_ASSETS];


#endif /* NGX_HTTP_SESSION_PAGE_SET_H_INCLUDED */
