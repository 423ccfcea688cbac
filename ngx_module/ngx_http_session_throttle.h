/*
 * ngx_http_session_throttle.h: how many sign-ins are tried.
 *
 * Buckets in a shared zone, one word each (text/bucket.h), changed by
 * compare-and-swap: no lock, so a killed worker leaves nothing behind, and a
 * reload keeps them while zone= stays the same.  Where in the zone a key lies
 * depends on a secret of the zone: nobody can aim at a stranger's bucket.
 *
 * An attempt is charged before its password is verified and refunded when it
 * was right.  It is charged to two buckets, and refused when either is full:
 *
 *   (realm, login in lower case, address)     account=
 *   (address)                                 address=
 *
 * The address is an IPv4 address, or the first 64 bits of an IPv6 one.  Clients
 * on a unix socket have no address; only the first bucket is theirs.  Logins
 * that do not exist are counted alike.  A known device (a verified device
 * cookie of that very user) has one bucket of its own, of account= size, and
 * neither of the others: nobody else can lock it out.
 */

#ifndef NGX_HTTP_SESSION_THROTTLE_H_INCLUDED
#define NGX_HTTP_SESSION_THROTTLE_H_INCLUDED


#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>

#include "text/bucket.h"


#define NGX_HTTP_SESSION_THROTTLE_SIZE  (1024 * 1024)   /* zone= default */


typedef struct ngx_http_session_throttle_zone_s
    ngx_http_session_throttle_zone_t;

/* attempts 0: not set */
typedef struct {
    text_bucket_rate_t            account;
    text_bucket_rate_t            address;
} ngx_http_session_throttle_conf_t;

/* What one attempt was charged to; for the refund.  Lives with the request. */
typedef struct {
    uint64_t                      hash[2];
    text_bucket_rate_t            rate[2];
    ngx_uint_t                    n;
} ngx_http_session_charge_t;


/* ----------------------------------------------------- configuration --- */

void ngx_http_session_throttle_create_conf(
    ngx_http_session_throttle_conf_t *conf);
void ngx_http_session_throttle_merge_conf(
    ngx_http_session_throttle_conf_t *conf,
    const ngx_http_session_throttle_conf_t *prev);

/* Parses the value after account= or address=: NULL, or what is wrong. */
char *ngx_http_session_throttle_rate(ngx_str_t *value,
    text_bucket_rate_t *rate);

/* Parses the value after zone=: NULL, or what is wrong. */
char *ngx_http_session_throttle_size(ngx_str_t *value, size_t *size);

/* The one zone of a configuration; NULL: the reason has been logged. */
ngx_http_session_throttle_zone_t *ngx_http_session_throttle_zone(
    ngx_conf_t *cf, size_t size, ngx_module_t *module);


/* ------------------------------------------------------------ worker --- */

/*
 * NGX_OK: charged, *charge says to what.  NGX_BUSY: nothing was charged, and
 * *retry_after is the number of seconds (at least 1) to stay away.  device:
 * NGX_HTTP_SESSION_USER_LEN bytes of a verified device cookie, only where they
 * are the user that `login` names; else NULL.
 */
ngx_int_t ngx_http_session_throttle_charge(
    ngx_http_session_throttle_zone_t *zone,
    const ngx_http_session_throttle_conf_t *conf, ngx_str_t *realm,
    ngx_str_t *login, struct sockaddr *sockaddr, const u_char *device,
    ngx_http_session_charge_t *charge, ngx_uint_t *retry_after);

/* The password was right, or was never looked at.  Once per charge. */
void ngx_http_session_throttle_refund(ngx_http_session_throttle_zone_t *zone,
    ngx_http_session_charge_t *charge);


#endif /* NGX_HTTP_SESSION_THROTTLE_H_INCLUDED */
