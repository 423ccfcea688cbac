/*
 * session_page actor: who am I, for scripts of the site.
 */

#include "ngx_http_session_page.h"


typedef struct {
    ngx_str_t                         csrf;
    ngx_http_session_status_e         status;
    const ngx_http_session_record_t  *record;
} ngx_http_session_page_actor_t;


static void ngx_http_session_page_actor_write(text_json_t *json, void *data);


ngx_int_t
ngx_http_session_page_actor_handler(ngx_http_request_t *r)
{
    ngx_http_session_ctx_t         *ctx;
    ngx_http_session_page_actor_t   actor;

    ctx = ngx_http_session_identify(r);
    if (ctx == NULL) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    if (ctx->status == NGX_HTTP_SESSION_STORE_ERROR) {
        return ngx_http_session_page_error(r, NGX_HTTP_SERVICE_UNAVAILABLE,
                                           "store_unavailable");
    }

    ngx_memzero(&actor, sizeof(ngx_http_session_page_actor_t));

    actor.status = ctx->status;
    actor.record = ctx->record;

    /* nobody signed in gets no token: it would set a cookie on a plain GET */

    if (actor.record
        && ngx_http_session_csrf_token(r, ctx, &actor.csrf) != NGX_OK)
    {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    return ngx_http_session_page_send_json(r, NGX_HTTP_OK,
                                           ngx_http_session_page_actor_write,
                                           &actor);
}


static void
ngx_http_session_page_actor_write(text_json_t *json, void *data)
{
    ngx_http_session_page_actor_t    *actor = data;

    const ngx_http_session_record_t  *record;

    record = actor->record;

    text_json_object(json, NULL);

    if (record == NULL) {
        text_json_null(json, "actor");
        ngx_http_session_json_text(json, "status",
                               &ngx_http_session_status_names[actor->status]);
        text_json_object_end(json);
        return;
    }

    ngx_http_session_json_actor(json, record);
    ngx_http_session_json_text(json, "csrf_token", &actor->csrf);

    text_json_object_end(json);
}


void
ngx_http_session_json_actor(text_json_t *json,
    const ngx_http_session_record_t *record)
{
    text_json_object(json, "actor");
    ngx_http_session_json_text(json, "id", &record->user_id);
    ngx_http_session_json_text(json, "login", &record->login);
    ngx_http_session_json_text(json, "name", &record->name);
    ngx_http_session_json_roles(json, &record->roles);
    text_json_object_end(json);

    text_json_object(json, "session");
    ngx_http_session_json_text(json, "ref", &record->ref);
    text_json_time(json, "created", record->created);
    text_json_time(json, "authenticated", record->authenticated);
    text_json_time(json, "seen", record->seen);
    text_json_time(json, "expires", record->expires);
    text_json_object_end(json);
}
