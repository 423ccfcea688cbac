/*
 * One attempt to sign in.
 *
 *   form -> csrf -> given -> lookup -> throttle -> hash
 *                                                   |  argon2id, in a thread
 *                                                verify
 *                                                   |
 *                                                commit <----+ key taken:
 *                                                   |  writer | draw again
 *                                               committed ----+
 *                                                   |
 *                                                answer
 *
 * Every step either lets the next one run, waits for a job, or ends the
 * attempt with a result; end() is the one way out.  It wipes the form, logs
 * and audits a failure, has the page answer and finalizes the request.
 *
 * The order is what it is for these reasons.  A request that another site has
 * made a browser send must neither use up the user's attempts nor cost a hash,
 * so csrf is first.  The user is looked up before the throttle is asked,
 * because a known device has a bucket of its own only where its cookie names
 * the very user who signs in.  An attempt is charged before its hash is
 * queued, so that many at once cannot all slip under the limit.
 *
 * A client that goes away while a job runs takes the request with it: resume
 * is not called any more, so what has not been submitted never is.
 */

#include "ngx_http_session_attempt.h"


/* A taken key is one in 2^96; more than one in a row is a broken store. */
#define NGX_HTTP_SESSION_ATTEMPT_DRAWS_MAX  3


typedef ngx_http_session_attempt_e (*ngx_http_session_attempt_pt)(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);


static ngx_http_session_attempt_e ngx_http_session_attempt_form(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static ngx_http_session_attempt_e ngx_http_session_attempt_csrf(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static ngx_http_session_attempt_e ngx_http_session_attempt_given(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static ngx_http_session_attempt_e ngx_http_session_attempt_lookup(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static ngx_uint_t ngx_http_session_attempt_device(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt,
    u_char user[NGX_HTTP_SESSION_USER_LEN]);
static ngx_http_session_attempt_e ngx_http_session_attempt_throttle(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static void ngx_http_session_attempt_refund(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt);
static ngx_http_session_attempt_e ngx_http_session_attempt_hash(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static void ngx_http_session_attempt_hashed(ngx_http_request_t *r,
    void *data);
static ngx_http_session_attempt_e ngx_http_session_attempt_verify(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static ngx_http_session_attempt_e ngx_http_session_attempt_commit(
    ngx_http_request_t *r, ngx_http_session_attempt_t *attempt);
static void ngx_http_session_attempt_committed(ngx_http_request_t *r,
    void *data);
static void ngx_http_session_attempt_end(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_http_session_attempt_e result);
static void ngx_http_session_attempt_wipe(
    ngx_http_session_attempt_t *attempt);


static const ngx_http_session_attempt_pt  ngx_http_session_attempt_steps[] = {
    ngx_http_session_attempt_form,
    ngx_http_session_attempt_csrf,
    ngx_http_session_attempt_given,
    ngx_http_session_attempt_lookup,
    ngx_http_session_attempt_throttle,
    ngx_http_session_attempt_hash
};


void
ngx_http_session_attempt_start(ngx_http_request_t *r,
    ngx_http_session_form_t *form)
{
    ngx_uint_t                   i, n;
    ngx_http_session_attempt_e   result;
    ngx_http_session_attempt_t  *attempt;

    attempt = form->data;
    attempt->form = form;

    result = NGX_HTTP_SESSION_ATTEMPT_ERROR;
    n = sizeof(ngx_http_session_attempt_steps)
        / sizeof(ngx_http_session_attempt_steps[0]);

    for (i = 0; i < n; i++) {
        result = ngx_http_session_attempt_steps[i](r, attempt);

        if (result != NGX_HTTP_SESSION_ATTEMPT_NEXT) {
            break;
        }
    }

    ngx_http_session_attempt_end(r, attempt, result);
}


/* Copies what outlives the form. */

static ngx_http_session_attempt_e
ngx_http_session_attempt_form(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t  value;

    value = ngx_http_session_form_value(attempt->form,
                                        NGX_HTTP_SESSION_ATTEMPT_FORM_LOGIN);

    if (value.len) {
        attempt->login.data = ngx_pstrdup(r->pool, &value);
        if (attempt->login.data == NULL) {
            return NGX_HTTP_SESSION_ATTEMPT_ERROR;
        }

        attempt->login.len = value.len;
    }

    value = ngx_http_session_form_value(attempt->form,
                                     NGX_HTTP_SESSION_ATTEMPT_FORM_RETURN_TO);

    if (value.len
        && ngx_http_session_return_to_check(r, &value) == NGX_OK)
    {
        attempt->return_to.data = ngx_pstrdup(r->pool, &value);
        if (attempt->return_to.data == NULL) {
            return NGX_HTTP_SESSION_ATTEMPT_ERROR;
        }

        attempt->return_to.len = value.len;
    }

    return NGX_HTTP_SESSION_ATTEMPT_NEXT;
}


/*
 * A form of ours that comes back without any cookie of ours is from a browser
 * that does not keep them, most often a Secure one over plain http.  Such a
 * browser would be sent round in circles after signing in, so it is told,
 * whatever made csrf_check() content.
 */

static ngx_http_session_attempt_e
ngx_http_session_attempt_csrf(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_int_t    rc;
    ngx_str_t    field;
    const char  *why, *ignored;

    field = ngx_http_session_form_value(attempt->form,
                                        NGX_HTTP_SESSION_ATTEMPT_FORM_CSRF);

    rc = ngx_http_session_csrf_check(r, attempt->session, &field, &why);

    if (rc == NGX_ERROR) {
        return NGX_HTTP_SESSION_ATTEMPT_STORE;
    }

    if (field.len && attempt->session->record == NULL
        && ngx_http_session_origin_check(r, &ignored) == NGX_OK
        && !ngx_http_session_attempt_pre(r, attempt))
    {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "session: sign-in form came back without its cookie; "
                      "over plain http this needs \"session_cookie session "
                      "secure=off\"");

        return NGX_HTTP_SESSION_ATTEMPT_COOKIE;
    }

    if (rc != NGX_OK) {
        ngx_log_error(NGX_LOG_INFO, r->connection->log, 0,
                      "session: sign-in refused: %s", why);

        return NGX_HTTP_SESSION_ATTEMPT_CSRF;
    }

    return NGX_HTTP_SESSION_ATTEMPT_NEXT;
}


ngx_uint_t
ngx_http_session_attempt_pre(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t  value;

    if (attempt->session->has_pre) {
        return 1;
    }

    if (ngx_http_session_find_cookie(r,
                                (ngx_str_t *) &attempt->conf->cookie->pre,
                                &value)
        != NGX_OK)
    {
        return 0;
    }

    if (ngx_http_session_pre_read(attempt->conf->realm_index, &value,
                                  attempt->session->pre_id)
        != NGX_OK)
    {
        return 0;
    }

    attempt->session->has_pre = 1;

    return 1;
}


static ngx_http_session_attempt_e
ngx_http_session_attempt_given(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_str_t  password;

    password = ngx_http_session_form_value(attempt->form,
                                      NGX_HTTP_SESSION_ATTEMPT_FORM_PASSWORD);

    if (attempt->login.len == 0 || password.len == 0) {
        return NGX_HTTP_SESSION_ATTEMPT_MISSING;
    }

    if (password.len > attempt->conf->password_max) {
        return NGX_HTTP_SESSION_ATTEMPT_TOO_LONG;
    }

    return NGX_HTTP_SESSION_ATTEMPT_NEXT;
}


/*
 * The device cookie is verified for logins that do not exist as well, or the
 * time of its HMAC would tell them from the others.
 */

static ngx_http_session_attempt_e
ngx_http_session_attempt_lookup(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    u_char      user[NGX_HTTP_SESSION_USER_LEN];
    ngx_uint_t  device;

    device = ngx_http_session_attempt_device(r, attempt, user);

    switch (ngx_http_session_store_user(r->pool, attempt->conf->realm_index,
                                        &attempt->login, &attempt->user))
    {

    case NGX_OK:
        attempt->found = 1;
        attempt->known = device
                         && ngx_memcmp(user, attempt->user.user,
                                       NGX_HTTP_SESSION_USER_LEN)
                            == 0;
        break;

    case NGX_DECLINED:
        break;

    default: /* NGX_ERROR */
        return NGX_HTTP_SESSION_ATTEMPT_STORE;
    }

    return NGX_HTTP_SESSION_ATTEMPT_NEXT;
}


static ngx_uint_t
ngx_http_session_attempt_device(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, u_char user[NGX_HTTP_SESSION_USER_LEN])
{
    ngx_str_t  value;

    if (ngx_http_session_find_cookie(r,
                               (ngx_str_t *) &attempt->conf->cookie->device,
                               &value)
        != NGX_OK)
    {
        return 0;
    }

    return ngx_http_session_device_read(attempt->conf->realm_index, &value,
                                        user)
           == NGX_OK;
}


static ngx_http_session_attempt_e
ngx_http_session_attempt_throttle(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_int_t                            rc;
    const ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_session_module);

    rc = ngx_http_session_throttle_charge(smcf->throttle_zone,
                               &attempt->conf->throttle,
                               (ngx_str_t *) &attempt->conf->realm,
                               &attempt->login, r->connection->sockaddr,
                               attempt->known ? attempt->user.user : NULL,
                               &attempt->charge, &attempt->wait);

    return (rc == NGX_OK) ? NGX_HTTP_SESSION_ATTEMPT_NEXT
                          : NGX_HTTP_SESSION_ATTEMPT_THROTTLED;
}


static void
ngx_http_session_attempt_refund(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    const ngx_http_session_main_conf_t  *smcf;

    smcf = ngx_http_get_module_main_conf(r, ngx_http_session_module);

    ngx_http_session_throttle_refund(smcf->throttle_zone, &attempt->charge);
}


/* An unknown user costs the same hash in the same queue as a known one. */

static ngx_http_session_attempt_e
ngx_http_session_attempt_hash(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_int_t  rc;
    ngx_str_t  phc, password;

    attempt->waiter = ngx_http_session_wait(r, ngx_http_session_attempt_hashed,
                                            attempt);
    if (attempt->waiter == NULL) {
        return NGX_HTTP_SESSION_ATTEMPT_ERROR;
    }

    ngx_str_null(&phc);

    if (attempt->found) {
        phc = attempt->user.phc;
    }

    password = ngx_http_session_form_value(attempt->form,
                                      NGX_HTTP_SESSION_ATTEMPT_FORM_PASSWORD);

    rc = ngx_http_session_hash_submit(attempt->waiter, &phc, &password,
                                      attempt->known);

    ngx_http_session_attempt_wipe(attempt);

    if (rc != NGX_OK) {
        ngx_http_session_attempt_refund(r, attempt);
        attempt->wait = ngx_http_session_hash_retry_after();

        return NGX_HTTP_SESSION_ATTEMPT_BUSY;
    }

    return NGX_HTTP_SESSION_ATTEMPT_WAIT;
}


static void
ngx_http_session_attempt_hashed(ngx_http_request_t *r, void *data)
{
    ngx_http_session_attempt_t *attempt = data;

    ngx_http_session_attempt_e  result;

    result = ngx_http_session_attempt_verify(r, attempt);

    if (result == NGX_HTTP_SESSION_ATTEMPT_NEXT) {
        result = ngx_http_session_attempt_commit(r, attempt);
    }

    ngx_http_session_attempt_end(r, attempt, result);
}


/*
 * Whether the user may sign in at all is asked here, after the hash, so that
 * the time says nothing about it.
 */

static ngx_http_session_attempt_e
ngx_http_session_attempt_verify(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    if (attempt->waiter->busy) {
        ngx_http_session_attempt_refund(r, attempt);
        attempt->wait = ngx_http_session_hash_retry_after();

        return NGX_HTTP_SESSION_ATTEMPT_BUSY;
    }

    switch (attempt->waiter->password) {

    case NGX_HTTP_SESSION_PASSWORD_OK:
        break;

    case NGX_HTTP_SESSION_PASSWORD_BAD:
        return NGX_HTTP_SESSION_ATTEMPT_BAD;

    default: /* NGX_HTTP_SESSION_PASSWORD_ERROR */
        ngx_http_session_attempt_refund(r, attempt);

        return NGX_HTTP_SESSION_ATTEMPT_STORE;
    }

    if (!attempt->found || attempt->user.disabled
        || attempt->user.phc.len == 0)
    {
        return NGX_HTTP_SESSION_ATTEMPT_BAD;
    }

    ngx_http_session_attempt_refund(r, attempt);

    attempt->upgraded = attempt->waiter->upgraded;

    return NGX_HTTP_SESSION_ATTEMPT_NEXT;
}


/*
 * One transaction: it reads the user again, makes the session, ends the one
 * that this browser had, and the oldest where there are too many.
 */

static ngx_http_session_attempt_e
ngx_http_session_attempt_commit(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt)
{
    ngx_http_session_op_t            *op;
    ngx_http_session_sign_in_args_t   args;

    if (ngx_http_session_token_new(ngx_time(), attempt->id) != NGX_OK) {
        return NGX_HTTP_SESSION_ATTEMPT_STORE;
    }

    attempt->draws++;

    ngx_memzero(&args, sizeof(ngx_http_session_sign_in_args_t));

    ngx_memcpy(args.id, attempt->id, NGX_HTTP_SESSION_ID_LEN);
    ngx_memcpy(args.user, attempt->user.user, NGX_HTTP_SESSION_USER_LEN);
    args.generation = attempt->user.generation;
    args.idle = attempt->conf->idle;
    args.lifetime = attempt->conf->lifetime;
    args.limit = attempt->conf->limit;
    args.address = r->connection->addr_text;
    args.agent = ngx_http_session_attempt_agent(r);
    args.phc = attempt->upgraded;

    if (attempt->session->record) {
        args.old_key = attempt->session->record->key;
    }

    op = ngx_http_session_op_sign_in(&args, ngx_time());

    ngx_http_session_wipe(args.id, NGX_HTTP_SESSION_ID_LEN);

    if (op == NULL) {
        return NGX_HTTP_SESSION_ATTEMPT_ERROR;
    }

    attempt->waiter->resume = ngx_http_session_attempt_committed;

    if (ngx_http_session_writer_submit(op, attempt->waiter, 0) != NGX_OK) {
        return NGX_HTTP_SESSION_ATTEMPT_BUSY;
    }

    return NGX_HTTP_SESSION_ATTEMPT_WAIT;
}


/*
 * The user may have changed between lookup and commit.  A password that is
 * no longer right, and a user who is gone or disabled, are a failed attempt.
 */

static void
ngx_http_session_attempt_committed(ngx_http_request_t *r, void *data)
{
    ngx_http_session_attempt_t *attempt = data;

    ngx_http_session_attempt_e  result;

    switch (attempt->waiter->outcome) {

    case NGX_HTTP_SESSION_OP_OK:
        result = NGX_HTTP_SESSION_ATTEMPT_OK;
        break;

    case NGX_HTTP_SESSION_OP_EXISTS:
        result = (attempt->draws < NGX_HTTP_SESSION_ATTEMPT_DRAWS_MAX)
                 ? ngx_http_session_attempt_commit(r, attempt)
                 : NGX_HTTP_SESSION_ATTEMPT_STORE;
        break;

    case NGX_HTTP_SESSION_OP_GONE:
    case NGX_HTTP_SESSION_OP_CONFLICT:
    case NGX_HTTP_SESSION_OP_DISABLED:
        result = NGX_HTTP_SESSION_ATTEMPT_BAD;
        break;

    case NGX_HTTP_SESSION_OP_BUSY:
        result = NGX_HTTP_SESSION_ATTEMPT_BUSY;
        break;

    case NGX_HTTP_SESSION_OP_UNKNOWN:
        result = NGX_HTTP_SESSION_ATTEMPT_UNKNOWN;
        break;

    default: /* NGX_HTTP_SESSION_OP_FAILED */
        result = NGX_HTTP_SESSION_ATTEMPT_STORE;
        break;
    }

    ngx_http_session_attempt_end(r, attempt, result);
}


static void
ngx_http_session_attempt_end(ngx_http_request_t *r,
    ngx_http_session_attempt_t *attempt, ngx_http_session_attempt_e result)
{
    ngx_int_t  rc;

    if (result == NGX_HTTP_SESSION_ATTEMPT_WAIT) {
        return;
    }

    ngx_http_session_attempt_wipe(attempt);

    if (result == NGX_HTTP_SESSION_ATTEMPT_BAD) {
        ngx_http_session_attempt_log(r, attempt, "failed");
        ngx_http_session_attempt_audit(r, attempt);

    } else if (result == NGX_HTTP_SESSION_ATTEMPT_THROTTLED) {
        ngx_http_session_attempt_log(r, attempt, "throttled");
    }

    rc = ngx_http_session_attempt_answer(r, attempt, result);

    if (result == NGX_HTTP_SESSION_ATTEMPT_OK
        && (rc == NGX_ERROR || rc >= NGX_HTTP_SPECIAL_RESPONSE))
    {
        ngx_http_session_withdraw_cookies(r);
        ngx_http_session_writer_untold();
    }

    ngx_http_session_wipe(attempt->id, NGX_HTTP_SESSION_ID_LEN);

    ngx_http_finalize_request(r, rc);
}


static void
ngx_http_session_attempt_wipe(ngx_http_session_attempt_t *attempt)
{
    if (attempt->form) {
        ngx_http_session_form_wipe(attempt->form);
        attempt->form = NULL;
    }
}
