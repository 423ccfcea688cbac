/*
 * ngx_http_session_throttle.c: how many sign-ins are tried.
 */


#include "ngx_http_session_throttle.h"
#include "ngx_http_session_store.h"
#include "text/siphash.h"


#define NGX_HTTP_SESSION_THROTTLE_MIN  (8 * 4096)
#define NGX_HTTP_SESSION_THROTTLE_MAX  (1024 * 1024 * 1024)

/* realm and login as the store bounds them; more than that is cut */
#define NGX_HTTP_SESSION_THROTTLE_NAME_MAX  256

/* swaps lost to other workers before an attempt is refused */
#define NGX_HTTP_SESSION_THROTTLE_TRIES  100


/* In the zone.  The sets follow at the next page. */
typedef struct {
    uint8_t                       secret[TEXT_SIPHASH_KEY_BYTES];
    ngx_msec_t                    start;        /* when the zone was made */
    size_t                        n;            /* sets */
    uint64_t                     *words;
} ngx_http_session_throttle_table_t;


struct ngx_http_session_throttle_zone_s {
    ngx_http_session_throttle_table_t  *table;
    ngx_shm_zone_t                     *shm;
};


/* A key before it is hashed: each part behind its length. */
typedef struct {
    u_char                        data[3 * NGX_HTTP_SESSION_THROTTLE_NAME_MAX];
    size_t                        len;
} ngx_http_session_throttle_key_t;


static ngx_int_t ngx_http_session_throttle_init(ngx_shm_zone_t *shm_zone,
    void *data);
static void ngx_http_session_throttle_part(
    ngx_http_session_throttle_key_t *key, const u_char *data, size_t len,
    ngx_uint_t lower);
static size_t ngx_http_session_throttle_prefix(struct sockaddr *sockaddr,
    u_char prefix[9]);
static void ngx_http_session_throttle_add(
    ngx_http_session_throttle_table_t *table,
    ngx_http_session_charge_t *charge, ngx_http_session_throttle_key_t *key,
    const text_bucket_rate_t *rate);
static uint64_t ngx_http_session_throttle_now(
    ngx_http_session_throttle_table_t *table);
static uint64_t ngx_http_session_throttle_take(
    ngx_http_session_throttle_table_t *table, uint64_t hash,
    const text_bucket_rate_t *rate);
static void ngx_http_session_throttle_give(
    ngx_http_session_throttle_table_t *table, uint64_t hash,
    const text_bucket_rate_t *rate);


void
ngx_http_session_throttle_create_conf(ngx_http_session_throttle_conf_t *conf)
{
    ngx_memzero(conf, sizeof(ngx_http_session_throttle_conf_t));
}


void
ngx_http_session_throttle_merge_conf(ngx_http_session_throttle_conf_t *conf,
    const ngx_http_session_throttle_conf_t *prev)
{
    /* one directive, one value: rates are not mixed from two levels */

    if (conf->account.attempts == 0 && conf->address.attempts == 0) {
        *conf = *prev;
    }

    if (conf->account.attempts == 0) {
        conf->account.attempts = 10;
        conf->account.period = 15 * 60 * 1000;
    }

    if (conf->address.attempts == 0) {
        conf->address.attempts = 30;
        conf->address.period = 15 * 60 * 1000;
    }
}


char *
ngx_http_session_throttle_rate(ngx_str_t *value, text_bucket_rate_t *rate)
{
    return (char *) text_bucket_rate((const char *) value->data, value->len,
                                     rate);
}


char *
ngx_http_session_throttle_size(ngx_str_t *value, size_t *size)
{
    ssize_t  n;

    n = ngx_parse_size(value);

    if (n == NGX_ERROR) {
        return "a zone is a size like 1m";
    }

    if (n < NGX_HTTP_SESSION_THROTTLE_MIN
        || n > NGX_HTTP_SESSION_THROTTLE_MAX)
    {
        return "a zone is from 32k to 1024m";
    }

    *size = (size_t) n;

    return NULL;
}


ngx_http_session_throttle_zone_t *
ngx_http_session_throttle_zone(ngx_conf_t *cf, size_t size,
    ngx_module_t *module)
{
    ngx_http_session_throttle_zone_t  *zone;

    static ngx_str_t  name = ngx_string("session_throttle");

    zone = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_throttle_zone_t));
    if (zone == NULL) {
        return NULL;
    }

    zone->shm = ngx_shared_memory_add(cf, &name, size, module);
    if (zone->shm == NULL) {
        return NULL;
    }

    zone->shm->init = ngx_http_session_throttle_init;
    zone->shm->data = zone;

    return zone;
}


static ngx_int_t
ngx_http_session_throttle_init(ngx_shm_zone_t *shm_zone, void *data)
{
    ngx_http_session_throttle_zone_t  *old = data;

    size_t                              size;
    ngx_slab_pool_t                    *shpool;
    ngx_http_session_throttle_zone_t   *zone;
    ngx_http_session_throttle_table_t  *table;

    zone = shm_zone->data;
    shpool = (ngx_slab_pool_t *) shm_zone->shm.addr;

    if (old) {
        zone->table = old->table;
        return NGX_OK;
    }

    if (shm_zone->shm.exists) {
        zone->table = shpool->data;
        return NGX_OK;
    }

    table = ngx_slab_calloc(shpool, sizeof(ngx_http_session_throttle_table_t));
    if (table == NULL) {
        return NGX_ERROR;
    }

    if (ngx_http_session_random(table->secret, TEXT_SIPHASH_KEY_BYTES)
        != NGX_OK)
    {
        ngx_log_error(NGX_LOG_EMERG, shm_zone->shm.log, 0,
                      "session_throttle: no random bytes");
        return NGX_ERROR;
    }

    /* all pages that are left; whole pages are aligned to cache lines */

    size = shpool->pfree * ngx_pagesize;

    table->words = ngx_slab_calloc(shpool, size);
    if (table->words == NULL) {
        return NGX_ERROR;
    }

    table->start = ngx_current_msec;
    table->n = size / (TEXT_BUCKET_WAYS * sizeof(uint64_t));

    shpool->data = table;
    zone->table = table;

    return NGX_OK;
}


ngx_int_t
ngx_http_session_throttle_charge(ngx_http_session_throttle_zone_t *zone,
    const ngx_http_session_throttle_conf_t *conf, ngx_str_t *realm,
    ngx_str_t *login, struct sockaddr *sockaddr, const u_char *device,
    ngx_http_session_charge_t *charge, ngx_uint_t *retry_after)
{
    size_t                            len;
    u_char                            prefix[9];
    uint64_t                          wait;
    ngx_uint_t                        i;
    ngx_http_session_throttle_key_t   key;

    charge->n = 0;
    key.len = 0;

    if (device) {
        ngx_http_session_throttle_part(&key, (u_char *) "device", 6, 0);
        ngx_http_session_throttle_part(&key, realm->data, realm->len, 0);
        ngx_http_session_throttle_part(&key, device,
                                       NGX_HTTP_SESSION_USER_LEN, 0);

        ngx_http_session_throttle_add(zone->table, charge, &key,
                                      &conf->account);

    } else {
        len = ngx_http_session_throttle_prefix(sockaddr, prefix);

        if (len) {
            ngx_http_session_throttle_part(&key, (u_char *) "address", 7, 0);
            ngx_http_session_throttle_part(&key, prefix, len, 0);

            ngx_http_session_throttle_add(zone->table, charge, &key,
                                          &conf->address);
        }

        key.len = 0;

        ngx_http_session_throttle_part(&key, (u_char *) "account", 7, 0);
        ngx_http_session_throttle_part(&key, realm->data, realm->len, 0);
        ngx_http_session_throttle_part(&key, login->data, login->len, 1);
        ngx_http_session_throttle_part(&key, prefix, len, 0);

        ngx_http_session_throttle_add(zone->table, charge, &key,
                                      &conf->account);
    }

    for (i = 0; i < charge->n; i++) {
        wait = ngx_http_session_throttle_take(zone->table, charge->hash[i],
                                              &charge->rate[i]);
        if (wait) {
            charge->n = i;
            ngx_http_session_throttle_refund(zone, charge);

            *retry_after = (ngx_uint_t) ((wait + 999) / 1000);

            return NGX_BUSY;
        }
    }

    return NGX_OK;
}


void
ngx_http_session_throttle_refund(ngx_http_session_throttle_zone_t *zone,
    ngx_http_session_charge_t *charge)
{
    ngx_uint_t  i;

    for (i = 0; i < charge->n; i++) {
        ngx_http_session_throttle_give(zone->table, charge->hash[i],
                                       &charge->rate[i]);
    }

    charge->n = 0;
}


static void
ngx_http_session_throttle_part(ngx_http_session_throttle_key_t *key,
    const u_char *data, size_t len, ngx_uint_t lower)
{
    u_char  *p;

    len = ngx_min(len, NGX_HTTP_SESSION_THROTTLE_NAME_MAX - 2);

    p = key->data + key->len;

    *p++ = (u_char) (len >> 8);
    *p++ = (u_char) len;

    if (lower) {
        ngx_strlow(p, (u_char *) data, len);

    } else {
        p = ngx_cpymem(p, data, len);
    }

    key->len += 2 + len;
}


/* Bytes written: family and address, or 0 where there is no address. */

static size_t
ngx_http_session_throttle_prefix(struct sockaddr *sockaddr, u_char prefix[9])
{
#if (NGX_HAVE_INET6)
    u_char               *p;
    struct sockaddr_in6  *sin6;
#endif
    struct sockaddr_in   *sin;

    switch (sockaddr->sa_family) {

    case AF_INET:
        sin = (struct sockaddr_in *) sockaddr;

        prefix[0] = 4;
        ngx_memcpy(&prefix[1], &sin->sin_addr, 4);

        return 5;

#if (NGX_HAVE_INET6)

    case AF_INET6:
        sin6 = (struct sockaddr_in6 *) sockaddr;
        p = sin6->sin6_addr.s6_addr;

        if (IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr)) {
            prefix[0] = 4;
            ngx_memcpy(&prefix[1], p + 12, 4);

            return 5;
        }

        prefix[0] = 6;
        ngx_memcpy(&prefix[1], p, 8);

        return 9;

#endif

    default:
        return 0;
    }
}


static void
ngx_http_session_throttle_add(ngx_http_session_throttle_table_t *table,
    ngx_http_session_charge_t *charge, ngx_http_session_throttle_key_t *key,
    const text_bucket_rate_t *rate)
{
    charge->hash[charge->n] = text_siphash(table->secret, key->data, key->len);
    charge->rate[charge->n] = *rate;
    charge->n++;
}


/*
 * ngx_current_msec is the machine's monotonic clock, the same for all workers;
 * where nginx has only the wall clock it may go back, but not below 0.
 */

static uint64_t
ngx_http_session_throttle_now(ngx_http_session_throttle_table_t *table)
{
    ngx_msec_int_t  elapsed;

    elapsed = (ngx_msec_int_t) (ngx_current_msec - table->start);

    return (elapsed > 0) ? (uint64_t) elapsed : 0;
}


/* 0, or the milliseconds to wait. */

static uint64_t
ngx_http_session_throttle_take(ngx_http_session_throttle_table_t *table,
    uint64_t hash, const text_bucket_rate_t *rate)
{
    uint32_t    tag;
    uint64_t   *set, word, next, now, wait, copy[TEXT_BUCKET_WAYS];
    ngx_uint_t  i, tries;

    now = ngx_http_session_throttle_now(table);
    tag = text_bucket_tag(hash);
    set = table->words
          + text_bucket_set(hash, table->n) * TEXT_BUCKET_WAYS;

    for (tries = 0; tries < NGX_HTTP_SESSION_THROTTLE_TRIES; tries++) {

        for (i = 0; i < TEXT_BUCKET_WAYS; i++) {
            copy[i] = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
        }

        i = text_bucket_find(copy, tag);
        word = copy[i];

        if (!text_bucket_charge(word, tag, rate, now, &next, &wait)) {
            return wait;
        }

        if (__atomic_compare_exchange_n(&set[i], &word, next, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        {
            return 0;
        }
    }

    /* other workers change this very set all the time: an attack */

    return 1000;
}


static void
ngx_http_session_throttle_give(ngx_http_session_throttle_table_t *table,
    uint64_t hash, const text_bucket_rate_t *rate)
{
    uint32_t    tag;
    uint64_t   *set, word, next;
    ngx_uint_t  i, tries;

    tag = text_bucket_tag(hash);
    set = table->words
          + text_bucket_set(hash, table->n) * TEXT_BUCKET_WAYS;

    for (i = 0; i < TEXT_BUCKET_WAYS; i++) {

        word = __atomic_load_n(&set[i], __ATOMIC_RELAXED);

        for (tries = 0; tries < NGX_HTTP_SESSION_THROTTLE_TRIES; tries++) {

            next = text_bucket_refund(word, tag, rate);

            if (next == word) {
                break;
            }

            if (__atomic_compare_exchange_n(&set[i], &word, next, 0,
                                            __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            {
                return;
            }
        }
    }
}
