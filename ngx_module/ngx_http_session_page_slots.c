/*
 * The slots of every template, in the order of the enums in
 * ngx_http_session_page_slots.h.
 */

#include "ngx_http_session_page_slots.h"


#define ngx_http_session_slot(name)           { name, -1, 0 }
#define ngx_http_session_required_slot(name)  { name, -1, TEXT_SLOT_REQUIRED }
#define ngx_http_session_list_slot(name)      { name, -1, TEXT_SLOT_LIST }
#define ngx_http_session_row_slot(list, name) { name, list, 0 }

#define ngx_http_session_common_slots                                         \
    ngx_http_session_slot("title"),                                           \
    ngx_http_session_slot("nonce"),                                           \
    ngx_http_session_slot("style"),                                           \
    ngx_http_session_slot("logo"),                                            \
    ngx_http_session_slot("sign_in_uri"),                                     \
    ngx_http_session_slot("sign_out_uri"),                                    \
    ngx_http_session_slot("dashboard_uri"),                                   \
    ngx_http_session_slot("who")

#define ngx_http_session_slots_check(table, slots)                            \
    _Static_assert(sizeof(table) / sizeof(table[0]) == slots, #table)


static const text_slot_t  ngx_http_session_sign_in_slots[] = {
    ngx_http_session_common_slots,
    ngx_http_session_required_slot("action"),
    ngx_http_session_required_slot("csrf"),
    ngx_http_session_slot("login"),
    ngx_http_session_required_slot("return_to"),
    ngx_http_session_slot("error"),
    ngx_http_session_slot("error_credentials"),
    ngx_http_session_slot("error_missing"),
    ngx_http_session_slot("error_throttled"),
    ngx_http_session_slot("error_cookie"),
    ngx_http_session_slot("error_csrf"),
    ngx_http_session_slot("error_unknown"),
    ngx_http_session_slot("error_busy"),
    ngx_http_session_slot("error_store"),
    ngx_http_session_slot("wait_seconds"),
    ngx_http_session_slot("wait_minutes"),
    ngx_http_session_slot("notice"),
    ngx_http_session_slot("reason_idle"),
    ngx_http_session_slot("reason_expired"),
    ngx_http_session_slot("reason_revoked"),
    ngx_http_session_slot("reason_disabled"),
    ngx_http_session_slot("reason_duplicate"),
    ngx_http_session_slot("reason_fresh")
};

static const text_slot_t  ngx_http_session_sign_out_slots[] = {
    ngx_http_session_common_slots,
    ngx_http_session_required_slot("action"),
    ngx_http_session_required_slot("csrf")
};

static const text_slot_t  ngx_http_session_signed_out_slots[] = {
    ngx_http_session_common_slots
};

static const text_slot_t  ngx_http_session_dashboard_slots[] = {
    ngx_http_session_common_slots,
    ngx_http_session_required_slot("action"),
    ngx_http_session_required_slot("csrf"),
    ngx_http_session_slot("login"),
    ngx_http_session_slot("name"),
    ngx_http_session_slot("user_id"),
    ngx_http_session_slot("created"),
    ngx_http_session_slot("created_iso"),
    ngx_http_session_slot("expires"),
    ngx_http_session_slot("expires_iso"),
    ngx_http_session_slot("address"),
    ngx_http_session_slot("notice_ended"),
    ngx_http_session_slot("notice_others"),
    ngx_http_session_slot("notice_gone"),
    ngx_http_session_slot("others"),
    ngx_http_session_slot("count"),
    ngx_http_session_list_slot("roles"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_ROLES, "role"),
    ngx_http_session_list_slot("sessions"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "ref"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "device"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "from"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "since"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "since_iso"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "seen"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "seen_iso"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SESSIONS, "this"),
    ngx_http_session_list_slot("sign_ins"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "time"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "time_iso"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "by"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "at"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "failed"),
    ngx_http_session_row_slot(NGX_HTTP_SESSION_DASH_SIGN_INS, "times")
};

static const text_slot_t  ngx_http_session_error_slots[] = {
    ngx_http_session_common_slots,
    ngx_http_session_slot("status"),
    ngx_http_session_slot("error_bad_request"),
    ngx_http_session_slot("error_unauthorized"),
    ngx_http_session_slot("error_forbidden"),
    ngx_http_session_slot("error_csrf"),
    ngx_http_session_slot("error_cookie"),
    ngx_http_session_slot("error_not_found"),
    ngx_http_session_slot("error_method_not_allowed"),
    ngx_http_session_slot("error_payload_too_large"),
    ngx_http_session_slot("error_unsupported_media_type"),
    ngx_http_session_slot("error_too_many_requests"),
    ngx_http_session_slot("error_store_unavailable"),
    ngx_http_session_slot("error_outcome_unknown"),
    ngx_http_session_slot("error_busy"),
    ngx_http_session_slot("error_internal"),
    ngx_http_session_slot("error_other")
};

static const text_slot_t  ngx_http_session_up_slots[] = {
    ngx_http_session_common_slots,
    ngx_http_session_slot("down")
};


/* A slot missing from a table would shift all that follow it. */

ngx_http_session_slots_check(ngx_http_session_sign_in_slots,
                             NGX_HTTP_SESSION_SIGN_IN_SLOTS);
ngx_http_session_slots_check(ngx_http_session_sign_out_slots,
                             NGX_HTTP_SESSION_SIGN_OUT_SLOTS);
ngx_http_session_slots_check(ngx_http_session_signed_out_slots,
                             NGX_HTTP_SESSION_SIGNED_OUT_SLOTS);
ngx_http_session_slots_check(ngx_http_session_dashboard_slots,
                             NGX_HTTP_SESSION_DASH_SLOTS);
ngx_http_session_slots_check(ngx_http_session_error_slots,
                             NGX_HTTP_SESSION_ERROR_SLOTS);
ngx_http_session_slots_check(ngx_http_session_up_slots,
                             NGX_HTTP_SESSION_UP_SLOTS);


const ngx_http_session_template_t
    ngx_http_session_templates[NGX_HTTP_SESSION_TEMPLATES] =
{
    { "sign_in.html", ngx_http_session_sign_in_slots,
      NGX_HTTP_SESSION_SIGN_IN_SLOTS,
      { "_csrf", "login", "password", "return_to" } },

    { "sign_out.html", ngx_http_session_sign_out_slots,
      NGX_HTTP_SESSION_SIGN_OUT_SLOTS,
      { "_csrf", NULL, NULL, NULL } },

    { "signed_out.html", ngx_http_session_signed_out_slots,
      NGX_HTTP_SESSION_SIGNED_OUT_SLOTS,
      { NULL, NULL, NULL, NULL } },

    { "dashboard.html", ngx_http_session_dashboard_slots,
      NGX_HTTP_SESSION_DASH_SLOTS,
      { "_csrf", NULL, NULL, NULL } },

    { "error.html", ngx_http_session_error_slots,
      NGX_HTTP_SESSION_ERROR_SLOTS,
      { NULL, NULL, NULL, NULL } },

    { "up.html", ngx_http_session_up_slots,
      NGX_HTTP_SESSION_UP_SLOTS,
      { NULL, NULL, NULL, NULL } }
};


const char *const  ngx_http_session_page_codes[] = {
    "bad_request",
    "unauthorized",
    "forbidden",
    "csrf",
    "cookie",
    "not_found",
    "method_not_allowed",
    "payload_too_large",
    "unsupported_media_type",
    "too_many_requests",
    "store_unavailable",
    "outcome_unknown",
    "busy",
    "internal",
    NULL
};

_Static_assert(sizeof(ngx_http_session_page_codes) / sizeof(char *) - 1
               == NGX_HTTP_SESSION_ERROR_OTHER
                  - NGX_HTTP_SESSION_ERROR_BAD_REQUEST,
               "a flag in error.html for every code");
