#include <errno.h>
#include <string.h>

#include <lmdb.h>

#include "store.h"


#define STORE_ERROR_CHARS  128


/* by store_code_t, whose values are 0, -1, -2... */
static const char *const  store_codes[] = {
    [-STORE_OK] = "ok",
    [-STORE_NOT_FOUND] = "not found",
    [-STORE_EXISTS] = "exists already",
    [-STORE_MALFORMED] = "malformed",
    [-STORE_BAD_SIGNATURE] = "bad signature",
    [-STORE_UNKNOWN_KEY] = "signed with a key that is not loaded",
    [-STORE_REVOKED] = "revoked",
    [-STORE_IDLE] = "idle for too long",
    [-STORE_EXPIRED] = "expired",
    [-STORE_DISABLED] = "user disabled or deleted",
    [-STORE_FUTURE] = "created in the future",
    [-STORE_REALM] = "belongs to another realm",
    [-STORE_BAD_PASSWORD] = "wrong password",
    [-STORE_CONFLICT] = "changed meanwhile",
    [-STORE_LIMIT] = "limit reached",
    [-STORE_CORRUPT] = "damaged record",
    [-STORE_VERSION] = "newer format",
    [-STORE_MISSING] = "store missing",
    [-STORE_BUSY] = "in use by another process",
    [-STORE_UNSAFE] = "unsafe owner, mode or file type",
    [-STORE_INVALID] = "invalid argument",
    [-STORE_REPLACED] = "its files were replaced, or its lock is broken"
};


static const char *store_code_text(int code);
static const char *store_errno_text(int code);


/*
 * mdb_strerror() answers from constants for LMDB's own codes; for all others
 * it would call strerror(), which is not safe with threads everywhere.
 */
const char *
store_strerror(int code)
{
    if (code > 0) {
        return store_errno_text(code);
    }

    if (code >= MDB_KEYEXIST && code <= MDB_LAST_ERRCODE) {
        return mdb_strerror(code);
    }

    return store_code_text(code);
}


static const char *
store_code_text(int code)
{
    size_t  i;

    i = (size_t) -(long long) code;

    if (i >= sizeof(store_codes) / sizeof(store_codes[0])) {
        return "unknown error";
    }

    return store_codes[i];
}


/*
 * glibc's own texts are constants; the buffer is for numbers it does not know
 * and for the lower-case letter at the start.  A C library without the GNU
 * strerror_r() (musl) has a strerror() that answers from constants.
 */
static const char *
store_errno_text(int code)
{
    size_t                     n;
    const char                *text;
    static _Thread_local char  buf[STORE_ERROR_CHARS];

    /* glibc allocates a thread's buf when it is first used, or aborts */

    if (code == ENOMEM) {
        return "cannot allocate memory";
    }

#ifdef __GLIBC__
    text = strerror_r(code, buf, sizeof(buf));
#else
    text = strerror(code);
#endif

    n = strnlen(text, sizeof(buf) - 1);
    memmove(buf, text, n);
    buf[n] = '\0';

    /* "RFS specific error" keeps its capitals */

    if (n > 1 && buf[0] >= 'A' && buf[0] <= 'Z'
        && (buf[1] < 'A' || buf[1] > 'Z'))
    {
        buf[0] = (char) (buf[0] | 0x20);
    }

    return buf;
}


const char *
store_end_name(store_end_t end)
{
    switch (end) {

    case STORE_END_NONE:
        return "none";

    case STORE_END_SIGN_OUT:
        return "sign_out";

    case STORE_END_REVOKED:
        return "revoked";

    case STORE_END_REPLACED:
        return "replaced";

    case STORE_END_LIMIT:
        return "limit";

    case STORE_END_IDLE:
        return "idle";

    case STORE_END_EXPIRED:
        return "expired";

    case STORE_END_DISABLED:
        return "disabled";

    case STORE_END_DELETED:
        return "deleted";

    case STORE_END_PASSWORD:
        return "password";

    case STORE_END_UNCERTAIN:
        return "uncertain";
    }

    return "unknown";
}


const char *
store_event_name(store_event_type_t type)
{
    switch (type) {

    case STORE_EVENT_SIGN_IN:
        return "sign_in";

    case STORE_EVENT_SIGN_IN_FAILED:
        return "sign_in_failed";

    case STORE_EVENT_SESSION_END:
        return "session_end";

    case STORE_EVENT_REFUSED:
        return "refused";

    case STORE_EVENT_USER_CREATED:
        return "user_created";

    case STORE_EVENT_USER_PASSWORD:
        return "user_password";

    case STORE_EVENT_USER_ROLES:
        return "user_roles";

    case STORE_EVENT_USER_DISABLED:
        return "user_disabled";

    case STORE_EVENT_USER_ENABLED:
        return "user_enabled";

    case STORE_EVENT_USER_DELETED:
        return "user_deleted";

    case STORE_EVENT_USER_NAME:
        return "user_name";

    case STORE_EVENT_RESTORED:
        return "restored";
    }

    return "unknown";
}
