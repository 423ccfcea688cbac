
/*
 * ngx_http_session_module: directives, their merge rules and the start of a
 * worker.  What a directive accepts stands in ngx_http_session_conf.c, what a
 * request goes through in ngx_http_session_handler.c.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


static ngx_int_t ngx_http_session_init(ngx_conf_t *cf);
static ngx_int_t ngx_http_session_init_process(ngx_cycle_t *cycle);
static void ngx_http_session_exit_process(ngx_cycle_t *cycle);


static ngx_conf_enum_t  ngx_http_session_refuse_modes[] = {
    { ngx_string("auto"), NGX_HTTP_SESSION_REFUSE_AUTO },
    { ngx_string("redirect"), NGX_HTTP_SESSION_REFUSE_REDIRECT },
    { ngx_string("401"), NGX_HTTP_SESSION_REFUSE_401 },
    { ngx_null_string, 0 }
};


static ngx_conf_enum_t  ngx_http_session_forward_modes[] = {
    { ngx_string("off"), NGX_HTTP_SESSION_FORWARD_OFF },
    { ngx_string("headers"), NGX_HTTP_SESSION_FORWARD_HEADERS },
    { ngx_null_string, 0 }
};


static ngx_conf_num_bounds_t  ngx_http_session_limit_bounds = {
    ngx_conf_check_num_bounds, 1, NGX_HTTP_SESSION_LIMIT_MAX
};


static ngx_command_t  ngx_http_session_commands[] = {

    { ngx_string("session_store"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE12,
      ngx_http_session_conf_store,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_keys"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_TAKE1,
      ngx_http_session_conf_keys,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_FLAG,
      ngx_conf_set_flag_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_session_loc_conf_t, enable),
      NULL },

    { ngx_string("session_realm"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE1,
      ngx_http_session_conf_realm,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_cookie"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_1MORE,
      ngx_http_session_conf_cookie,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_lifetime"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE123,
      ngx_http_session_conf_lifetime,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_limit"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_num_slot,
      NGX_HTTP_SRV_CONF_OFFSET,
      offsetof(ngx_http_session_srv_conf_t, limit),
      &ngx_http_session_limit_bounds },

    { ngx_string("session_origin"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_1MORE,
      ngx_http_session_conf_origin,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_return"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_1MORE,
      ngx_http_session_conf_return,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_require"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_HTTP_LMT_CONF
                        |NGX_CONF_1MORE,
      ngx_http_session_conf_require,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_refuse"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_session_loc_conf_t, refuse),
      &ngx_http_session_refuse_modes },

    { ngx_string("session_sign_in"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_http_session_conf_sign_in,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_forward"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_HTTP_LOC_CONF|NGX_CONF_TAKE1,
      ngx_conf_set_enum_slot,
      NGX_HTTP_LOC_CONF_OFFSET,
      offsetof(ngx_http_session_loc_conf_t, forward),
      &ngx_http_session_forward_modes },

    { ngx_string("session_page"),
      NGX_HTTP_LOC_CONF|NGX_CONF_TAKE12,
      ngx_http_session_conf_page,
      NGX_HTTP_LOC_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_templates"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE1,
      ngx_http_session_conf_templates,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_title"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE1,
      ngx_http_session_conf_title,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_password"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE123,
      ngx_http_session_conf_password,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_hash"),
      NGX_HTTP_MAIN_CONF|NGX_CONF_1MORE,
      ngx_http_session_conf_hash,
      NGX_HTTP_MAIN_CONF_OFFSET,
      0,
      NULL },

    { ngx_string("session_throttle"),
      NGX_HTTP_MAIN_CONF|NGX_HTTP_SRV_CONF|NGX_CONF_TAKE123,
      ngx_http_session_conf_throttle,
      NGX_HTTP_SRV_CONF_OFFSET,
      0,
      NULL },

      ngx_null_command
};


static ngx_http_module_t  ngx_http_session_module_ctx = {
    ngx_http_session_add_variables,        /* preconfiguration */
    ngx_http_session_init,                 /* postconfiguration */

    ngx_http_session_create_main_conf,     /* create main configuration */
    ngx_http_session_init_main_conf,       /* init main configuration */

    ngx_http_session_create_srv_conf,      /* create server configuration */
    ngx_http_session_merge_srv_conf,       /* merge server configuration */

    ngx_http_session_create_loc_conf,      /* create location configuration */
    ngx_http_session_merge_loc_conf        /* merge location configuration */
};


ngx_module_t  ngx_http_session_module = {
    NGX_MODULE_V1,
    &ngx_http_session_module_ctx,          /* module context */
    ngx_http_session_commands,             /* module directives */
    NGX_HTTP_MODULE,                       /* module type */
    NULL,                                  /* init master */
    NULL,                                  /* init module */
    ngx_http_session_init_process,         /* init process */
    NULL,                                  /* init thread */
    NULL,                                  /* exit thread */
    ngx_http_session_exit_process,         /* exit process */
    NULL,                                  /* exit master */
    NGX_MODULE_V1_PADDING
};


static ngx_int_t
ngx_http_session_init(ngx_conf_t *cf)
{
    ngx_http_handler_pt           *h;
    ngx_http_core_main_conf_t     *cmcf;
    ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_session_module);

    if (!smcf->used) {
        return NGX_OK;
    }

    if (ngx_http_session_conf_finish(cf, smcf) != NGX_OK) {
        return NGX_ERROR;
    }

    cmcf = ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module);

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_PREACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    *h = ngx_http_session_preaccess_handler;

    h = ngx_array_push(&cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers);
    if (h == NULL) {
        return NGX_ERROR;
    }

    /*
     * Handlers run from the last to the first: at index 0 ours runs after
     * address and password rules, and under "satisfy any" it may then send
     * any refusal, since nobody is left to let the client in.
     */

    h = cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers.elts;

    ngx_memmove(h + 1, h, (cmcf->phases[NGX_HTTP_ACCESS_PHASE].handlers.nelts
                           - 1) * sizeof(ngx_http_handler_pt));

    h[0] = ngx_http_session_access_handler;

    ngx_http_session_forward_init();

    return ngx_http_session_private_filter_init(cf);
}


/*
 * A worker: queues first, since opening the store may need the writer.  A
 * store that will not open is no error here: nginx does not respawn a worker
 * whose init_process fails, and public locations need no store.
 */

static ngx_int_t
ngx_http_session_init_process(ngx_cycle_t *cycle)
{
    ngx_http_session_hash_conf_t    hash;
    ngx_http_session_main_conf_t   *smcf;
    ngx_http_session_store_conf_t   store;
    ngx_http_session_writer_conf_t  writer;

    smcf = ngx_http_session_conf_of_cycle(cycle);

    if (smcf == NULL || !smcf->used) {
        return NGX_OK;
    }

    if (ngx_process == NGX_PROCESS_HELPER) {

        /* the cache manager and loader were forked with the secrets too */

        ngx_http_session_keys_wipe(smcf->secrets);

        return NGX_OK;
    }

    writer.pool = smcf->writer_pool;
    writer.queue = NGX_HTTP_SESSION_WRITER_QUEUE;
    writer.timeout = NGX_HTTP_SESSION_WRITER_TIMEOUT;

    if (ngx_http_session_writer_init_worker(cycle, &writer) != NGX_OK) {
        return NGX_ERROR;
    }

    hash.pool = smcf->hash_pool;
    hash.concurrent = smcf->hash_concurrent;
    hash.queue = smcf->hash_queue;
    hash.timeout = smcf->hash_timeout;
    hash.nice = (smcf->hash_pool != smcf->writer_pool);

    if (ngx_http_session_hash_init_worker(cycle, &hash) != NGX_OK) {
        return NGX_ERROR;
    }

    store.path = smcf->store;
    store.quota = smcf->quota;
    store.secrets = smcf->secrets;
    store.realms = &smcf->realms;
    store.hash_memory = smcf->hash_memory / 1024;
    store.hash_passes = smcf->hash_passes;

    return ngx_http_session_store_init_worker(cycle, &store);
}


static void
ngx_http_session_exit_process(ngx_cycle_t *cycle)
{
    ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_http_session_conf_of_cycle(cycle);

    if (smcf == NULL || !smcf->used || ngx_process == NGX_PROCESS_HELPER) {
        return;
    }

    ngx_http_session_hash_exit_worker(cycle);
    ngx_http_session_writer_exit_worker(cycle);
    ngx_http_session_store_exit_worker(cycle);
}
