/*
 * The page module: session_page NAME makes a location answer by itself.  The
 * directives are parsed beside the session module's (one place merges them);
 * here stand the table of pages and what is common to all requests for one.
 */

#include "ngx_http_session_page.h"
#include "ngx_http_session_page_set.h"


typedef struct {
    ngx_http_handler_pt   handler;
    ngx_uint_t            methods;
    ngx_str_t             allow;
} ngx_http_session_page_t;


static void *ngx_http_session_page_create_main_conf(ngx_conf_t *cf);


static const ngx_http_session_page_t
    ngx_http_session_pages[NGX_HTTP_SESSION_PAGES] =
{
    { ngx_http_session_page_up_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD,
      ngx_string("GET, HEAD") },

    { ngx_http_session_page_sign_in_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST,
      ngx_string("GET, HEAD, POST") },

    { ngx_http_session_page_sign_out_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST|NGX_HTTP_DELETE,
      ngx_string("GET, HEAD, POST, DELETE") },

    { ngx_http_session_page_dashboard_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD|NGX_HTTP_POST,
      ngx_string("GET, HEAD, POST") },

    { ngx_http_session_page_actor_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD,
      ngx_string("GET, HEAD") },

    { ngx_http_session_page_versions_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD,
      ngx_string("GET, HEAD") },

    { ngx_http_session_page_assets_handler,
      NGX_HTTP_GET|NGX_HTTP_HEAD,
      ngx_string("GET, HEAD") }
};


static ngx_command_t  ngx_http_session_page_commands[] = {

      ngx_null_command
};


static ngx_http_module_t  ngx_http_session_page_module_ctx = {
    NULL,                                  /* preconfiguration */
    NULL,                                  /* postconfiguration */

    ngx_http_session_page_create_main_conf, /* create main configuration */
    NULL,                                  /* init main configuration */

    NULL,                                  /* create server configuration */
    NULL,                                  /* merge server configuration */

    NULL,                                  /* create location configuration */
    NULL                                   /* merge location configuration */
};


ngx_module_t  ngx_http_session_page_module = {
    NGX_MODULE_V1,
    &ngx_http_session_page_module_ctx,     /* module context */
    ngx_http_session_page_commands,        /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    NULL,                                  /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    NULL,                                  /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


/*
 * A page is a whole response with its own headers and cookies, which a
 * subrequest would drop, Cache-Control among them; so a subrequest gets none.
 */
ngx_int_t
ngx_http_session_page_handler(ngx_http_request_t *r)
{
    const ngx_http_session_page_t      *page;
    const ngx_http_session_loc_conf_t  *slcf;

    slcf = ngx_http_get_module_loc_conf(r, ngx_http_session_module);

    if (slcf->page >= NGX_HTTP_SESSION_PAGES) {
        return NGX_DECLINED;
    }

    if (r != r->main) {
        ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                      "session page \"%V\" in a subrequest",
                      &ngx_http_session_page_names[slcf->page]);
        return NGX_HTTP_FORBIDDEN;
    }

    page = &ngx_http_session_pages[slcf->page];

    if ((r->method & page->methods) == 0) {
        if (ngx_http_session_header_out(r, "Allow",
                                        (ngx_str_t *) &page->allow)
            != NGX_OK)
        {
            return NGX_ERROR;
        }

        return ngx_http_session_page_error(r, NGX_HTTP_NOT_ALLOWED,
                                           "method_not_allowed");
    }

    return page->handler(r);
}


static void *
ngx_http_session_page_create_main_conf(ngx_conf_t *cf)
{
    ngx_http_session_page_main_conf_t  *pmcf;

    pmcf = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_page_main_conf_t));
    if (pmcf == NULL) {
        return NULL;
    }

    if (ngx_array_init(&pmcf->files, cf->pool, 2,
                       sizeof(ngx_http_session_page_files_t *))
        != NGX_OK)
    {
        return NULL;
    }

    return pmcf;
}
