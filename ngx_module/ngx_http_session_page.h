/*
 * ngx_http_session_page.h: what the pages share: forms in, templates and
 * JSON out, redirects.
 *
 * All of it runs on the event thread.  A function that "sends" has sent a
 * whole response; its return value is what a content handler returns, or what
 * a form handler or a waiter's resume gives to ngx_http_finalize_request().
 */

#ifndef NGX_HTTP_SESSION_PAGE_H_INCLUDED
#define NGX_HTTP_SESSION_PAGE_H_INCLUDED


#include "ngx_http_session_page_slots.h"
#include "text/form.h"
#include "text/json.h"


#define NGX_HTTP_SESSION_FORM_SIZE_MAX    16384     /* bytes of a body */
#define NGX_HTTP_SESSION_FORM_FIELDS_MAX  8         /* wanted by one page */


/* ------------------------------------------------------------- forms --- */

typedef struct ngx_http_session_form_s  ngx_http_session_form_t;

/* Finalizes the request, or takes over the count and waits for a job. */
typedef void (*ngx_http_session_form_pt)(ngx_http_request_t *r,
    ngx_http_session_form_t *form);

struct ngx_http_session_form_s {
    text_form_field_t           fields[NGX_HTTP_SESSION_FORM_FIELDS_MAX];
    ngx_uint_t                  n;
    ngx_http_session_form_pt    handler;
    void                       *data;
    u_char                     *body;       /* decoded in place, r->pool */
    size_t                      len;
};

/*
 * Reads a POST form whose wanted fields are names[0 .. n-1]; form->fields has
 * the same order.  Returns what the content handler must return: NGX_DONE
 * when handler has been or will be called (once, and not if the client goes
 * away), or the end of a refusal.  It is refused before handler: 415 for
 * another type (an empty body needs none), 413 above the cap, 400 for
 * a field twice or a broken escape.  The body, and nginx's own copy of it, are
 * wiped when the request ends, so values are good until then.
 */
ngx_int_t ngx_http_session_form_read(ngx_http_request_t *r,
    const ngx_str_t *names, ngx_uint_t n, ngx_http_session_form_pt handler,
    void *data);

/* The value of fields[i]; len 0 when absent.  Points into the form. */
ngx_str_t ngx_http_session_form_value(const ngx_http_session_form_t *form,
    ngx_uint_t i);
/* Wipes the body now: all values are gone afterwards. */
void ngx_http_session_form_wipe(ngx_http_session_form_t *form);


/* ------------------------------------------------------------- pages --- */

/*
 * Values of a template, from r->pool, with the common slots filled in; NULL:
 * no memory or no randomness, the caller answers 500.
 */
text_value_t *ngx_http_session_page_values(ngx_http_request_t *r,
    ngx_http_session_template_e template);

/* Spans are not copied: they must live as long as the request. */
static ngx_inline void
ngx_http_session_page_set(text_value_t *values, ngx_uint_t slot,
    const ngx_str_t *text)
{
    values[slot].text.data = text->data;
    values[slot].text.len = text->len;
}


static ngx_inline void
ngx_http_session_page_flag(text_value_t *values, ngx_uint_t slot)
{
    values[slot].text = text_span("1");
}


/* A number in decimal, from r->pool. */
ngx_int_t ngx_http_session_page_number(ngx_http_request_t *r,
    text_value_t *values, ngx_uint_t slot, ngx_uint_t number);

/*
 * Renders and sends: HTML, never stored by a cache, never compressed (it holds
 * form tokens beside reflected text), with our own strict policy.  A request
 * body that has not been read is discarded.
 */
ngx_int_t ngx_http_session_page_send(ngx_http_request_t *r,
    ngx_http_session_template_e template, ngx_uint_t status,
    text_value_t *values);

/* Writes one JSON value; called once or twice, so it must have no effects. */
typedef void (*ngx_http_session_json_pt)(text_json_t *json, void *data);

/* Writes and sends JSON under the same rules. */
ngx_int_t ngx_http_session_page_send_json(ngx_http_request_t *r,
    ngx_uint_t status, ngx_http_session_json_pt write, void *data);

/* A string member, and "roles" as an array. */
void ngx_http_session_json_text(text_json_t *json, const char *name,
    const ngx_str_t *value);
void ngx_http_session_json_roles(text_json_t *json, const ngx_str_t *roles);
/* Members "actor" and "session" of what is known of somebody signed in. */
void ngx_http_session_json_actor(text_json_t *json,
    const ngx_http_session_record_t *record);
/* The roles of a record one by one; NGX_DECLINED: no more. */
ngx_int_t ngx_http_session_next_role(u_char **pos, u_char *last,
    ngx_str_t *role);

/* Sends plain text about the server; not copied. */
ngx_int_t ngx_http_session_page_send_text(ngx_http_request_t *r,
    ngx_uint_t status, const ngx_str_t *text);

/* 303 with an empty body.  location is pushed as it is and not copied. */
ngx_int_t ngx_http_session_page_redirect(ngx_http_request_t *r,
    ngx_str_t *location);

/* Sets the session cookie anew where another key than the first has signed
 * it; page_send() calls it.  ngx_http_session_page_renew.c */
ngx_int_t ngx_http_session_page_renew(ngx_http_request_t *r);

/* The URI of another page of this server, or NULL when there is none. */
ngx_str_t *ngx_http_session_page_uri(ngx_http_request_t *r,
    ngx_http_session_page_e page);


/* ---------------------------------------------------------- handlers --- */

/* Content handlers, called for allowed methods only. */
ngx_int_t ngx_http_session_page_up_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_sign_in_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_sign_out_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_dashboard_handler(ngx_http_request_t *r);
/* its POST; ngx_http_session_page_dashboard_action.c */
ngx_int_t ngx_http_session_page_dashboard_post(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_actor_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_versions_handler(ngx_http_request_t *r);
ngx_int_t ngx_http_session_page_assets_handler(ngx_http_request_t *r);


#endif /* NGX_HTTP_SESSION_PAGE_H_INCLUDED */
