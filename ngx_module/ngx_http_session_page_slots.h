/*
 * ngx_http_session_page_slots.h: the templates and what stands in their
 * slots.  One enum per template, in the order of its table in
 * ngx_http_session_page_slots.c; each begins with the slots that all have.
 *
 * A slot is text or a flag.  A flag is set to "1" and chooses a section, so
 * that all words a user reads stand in the template.
 */

#ifndef NGX_HTTP_SESSION_PAGE_SLOTS_H_INCLUDED
#define NGX_HTTP_SESSION_PAGE_SLOTS_H_INCLUDED


#include "ngx_http_session.h"


typedef enum {
    NGX_HTTP_SESSION_TPL_SIGN_IN = 0,
    NGX_HTTP_SESSION_TPL_SIGN_OUT,          /* asks before signing out */
    NGX_HTTP_SESSION_TPL_SIGNED_OUT,        /* nobody is signed in here */
    NGX_HTTP_SESSION_TPL_DASHBOARD,
    NGX_HTTP_SESSION_TPL_ERROR,
    NGX_HTTP_SESSION_TPL_UP,
    NGX_HTTP_SESSION_TEMPLATES
} ngx_http_session_template_e;


/* Filled in by ngx_http_session_page_values() for every template. */
enum {
    NGX_HTTP_SESSION_SLOT_TITLE = 0,        /* session_title */
    NGX_HTTP_SESSION_SLOT_NONCE,
    NGX_HTTP_SESSION_SLOT_STYLE,            /* URI; empty: inline it */
    NGX_HTTP_SESSION_SLOT_LOGO,             /* URI; empty: none */
    NGX_HTTP_SESSION_SLOT_SIGN_IN_URI,      /* empty: no such page */
    NGX_HTTP_SESSION_SLOT_SIGN_OUT_URI,
    NGX_HTTP_SESSION_SLOT_DASHBOARD_URI,
    NGX_HTTP_SESSION_SLOT_WHO,              /* name or login when signed in */
    NGX_HTTP_SESSION_SLOTS_COMMON
};


/*
 * sign_in.html.  ERROR is set beside any of the errors, and so is NOTICE
 * beside any of the reasons, by ngx_http_session_page_send().
 */
enum {
    NGX_HTTP_SESSION_SIGN_IN_ACTION = NGX_HTTP_SESSION_SLOTS_COMMON,
    NGX_HTTP_SESSION_SIGN_IN_CSRF,
    NGX_HTTP_SESSION_SIGN_IN_LOGIN,
    NGX_HTTP_SESSION_SIGN_IN_RETURN_TO,
    NGX_HTTP_SESSION_SIGN_IN_ERROR,                 /* flag: any of these */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_CREDENTIALS,     /* flags */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_MISSING,         /* login or password */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_THROTTLED,
    NGX_HTTP_SESSION_SIGN_IN_ERROR_COOKIE,          /* did not come back */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_CSRF,            /* form too old, ... */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_UNKNOWN,         /* outcome unknown */
    NGX_HTTP_SESSION_SIGN_IN_ERROR_BUSY,
    NGX_HTTP_SESSION_SIGN_IN_ERROR_STORE,           /* store unavailable */
    NGX_HTTP_SESSION_SIGN_IN_WAIT_SECONDS,          /* THROTTLED, BUSY: one */
    NGX_HTTP_SESSION_SIGN_IN_WAIT_MINUTES,          /* of the two, a number */
    NGX_HTTP_SESSION_SIGN_IN_NOTICE,                /* flag: any of these */
    NGX_HTTP_SESSION_SIGN_IN_REASON_IDLE,           /* flags, from status */
    NGX_HTTP_SESSION_SIGN_IN_REASON_EXPIRED,
    NGX_HTTP_SESSION_SIGN_IN_REASON_REVOKED,
    NGX_HTTP_SESSION_SIGN_IN_REASON_DISABLED,
    NGX_HTTP_SESSION_SIGN_IN_REASON_DUPLICATE,
    NGX_HTTP_SESSION_SIGN_IN_REASON_FRESH,          /* signed in long ago */
    NGX_HTTP_SESSION_SIGN_IN_SLOTS
};


/* sign_out.html */
enum {
    NGX_HTTP_SESSION_SIGN_OUT_ACTION = NGX_HTTP_SESSION_SLOTS_COMMON,
    NGX_HTTP_SESSION_SIGN_OUT_CSRF,
    NGX_HTTP_SESSION_SIGN_OUT_SLOTS
};


/* signed_out.html */
enum {
    NGX_HTTP_SESSION_SIGNED_OUT_SLOTS = NGX_HTTP_SESSION_SLOTS_COMMON
};


/* dashboard.html */
enum {
    NGX_HTTP_SESSION_DASH_ACTION = NGX_HTTP_SESSION_SLOTS_COMMON,
    NGX_HTTP_SESSION_DASH_CSRF,
    NGX_HTTP_SESSION_DASH_LOGIN,
    NGX_HTTP_SESSION_DASH_NAME,
    NGX_HTTP_SESSION_DASH_USER_ID,
    NGX_HTTP_SESSION_DASH_CREATED,          /* "2026-01-02 03:04 UTC" */
    NGX_HTTP_SESSION_DASH_CREATED_ISO,
    NGX_HTTP_SESSION_DASH_EXPIRES,
    NGX_HTTP_SESSION_DASH_EXPIRES_ISO,
    NGX_HTTP_SESSION_DASH_ADDRESS,
    NGX_HTTP_SESSION_DASH_NOTICE_ENDED,     /* flags */
    NGX_HTTP_SESSION_DASH_NOTICE_OTHERS,
    NGX_HTTP_SESSION_DASH_NOTICE_GONE,
    NGX_HTTP_SESSION_DASH_OTHERS,           /* flag: more than this one */
    NGX_HTTP_SESSION_DASH_COUNT,            /* live sessions */
    NGX_HTTP_SESSION_DASH_ROLES,            /* list */
    NGX_HTTP_SESSION_DASH_ROLE,
    NGX_HTTP_SESSION_DASH_SESSIONS,         /* list */
    NGX_HTTP_SESSION_DASH_S_REF,
    NGX_HTTP_SESSION_DASH_S_DEVICE,
    NGX_HTTP_SESSION_DASH_S_ADDRESS,
    NGX_HTTP_SESSION_DASH_S_CREATED,
    NGX_HTTP_SESSION_DASH_S_CREATED_ISO,
    NGX_HTTP_SESSION_DASH_S_SEEN,
    NGX_HTTP_SESSION_DASH_S_SEEN_ISO,
    NGX_HTTP_SESSION_DASH_S_THIS,           /* flag */
    NGX_HTTP_SESSION_DASH_SIGN_INS,         /* list */
    NGX_HTTP_SESSION_DASH_I_TIME,
    NGX_HTTP_SESSION_DASH_I_TIME_ISO,
    NGX_HTTP_SESSION_DASH_I_DEVICE,
    NGX_HTTP_SESSION_DASH_I_ADDRESS,
    NGX_HTTP_SESSION_DASH_I_FAILED,         /* flag */
    NGX_HTTP_SESSION_DASH_I_COUNT,          /* empty when 1 */
    NGX_HTTP_SESSION_DASH_SLOTS
};


/* error.html: one flag per code, in the order of
 * ngx_http_session_page_codes[]; a code without one sets OTHER. */
enum {
    NGX_HTTP_SESSION_ERROR_STATUS = NGX_HTTP_SESSION_SLOTS_COMMON,
    NGX_HTTP_SESSION_ERROR_BAD_REQUEST,
    NGX_HTTP_SESSION_ERROR_UNAUTHORIZED,
    NGX_HTTP_SESSION_ERROR_FORBIDDEN,
    NGX_HTTP_SESSION_ERROR_CSRF,
    NGX_HTTP_SESSION_ERROR_COOKIE,
    NGX_HTTP_SESSION_ERROR_NOT_FOUND,
    NGX_HTTP_SESSION_ERROR_METHOD_NOT_ALLOWED,
    NGX_HTTP_SESSION_ERROR_PAYLOAD_TOO_LARGE,
    NGX_HTTP_SESSION_ERROR_UNSUPPORTED_MEDIA_TYPE,
    NGX_HTTP_SESSION_ERROR_TOO_MANY_REQUESTS,
    NGX_HTTP_SESSION_ERROR_STORE_UNAVAILABLE,
    NGX_HTTP_SESSION_ERROR_OUTCOME_UNKNOWN,
    NGX_HTTP_SESSION_ERROR_BUSY,
    NGX_HTTP_SESSION_ERROR_INTERNAL,
    NGX_HTTP_SESSION_ERROR_OTHER,
    NGX_HTTP_SESSION_ERROR_SLOTS
};


/* up.html */
enum {
    NGX_HTTP_SESSION_UP_DOWN = NGX_HTTP_SESSION_SLOTS_COMMON,   /* flag */
    NGX_HTTP_SESSION_UP_SLOTS
};


#define NGX_HTTP_SESSION_TEMPLATE_FIELDS  4

typedef struct {
    const char                *file;
    const text_slot_t         *slots;
    ngx_uint_t                 n;
    /* names of form fields the text must hold, as name="..." */
    const char                *fields[NGX_HTTP_SESSION_TEMPLATE_FIELDS];
} ngx_http_session_template_t;


extern const ngx_http_session_template_t
    ngx_http_session_templates[NGX_HTTP_SESSION_TEMPLATES];

/* The words page_error() knows, beginning with NGX_HTTP_SESSION_ERROR_
 * BAD_REQUEST; ends with NULL. */
extern const char *const  ngx_http_session_page_codes[];


#endif /* NGX_HTTP_SESSION_PAGE_SLOTS_H_INCLUDED */
