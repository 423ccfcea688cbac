
/*
 * What each directive accepts.  A wrong value is refused with the directive,
 * the value and the reason; nothing here touches a file except to read it.
 * Directives of locations stand in ngx_http_session_conf_location.c, those
 * about browsers in ngx_http_session_conf_browser.c.
 */

#include "ngx_http_session_compat.h"
#include "ngx_http_session.h"
#include "ngx_http_session_conf.h"


#define NGX_HTTP_SESSION_QUOTA_MIN   (1 << 20)
#define NGX_HTTP_SESSION_QUOTA_MAX   ((size_t) 64 << 30)

#define NGX_HTTP_SESSION_REALM_MAX   32

#define NGX_HTTP_SESSION_PASSWORD_FLOOR  8
#define NGX_HTTP_SESSION_PASSWORD_CAP    1024


static ngx_int_t ngx_http_session_conf_number(ngx_str_t *arg,
    const char *name, ngx_uint_t *number);
static ngx_int_t ngx_http_session_conf_hash_number(
    ngx_http_session_main_conf_t *smcf, ngx_str_t *arg);


ngx_int_t
ngx_http_session_conf_option(ngx_str_t *arg, const char *name,
    ngx_str_t *value)
{
    size_t  len;

    len = ngx_strlen(name);

    if (arg->len <= len || arg->data[len] != '='
        || ngx_strncmp(arg->data, name, len) != 0)
    {
        return 0;
    }

    value->data = arg->data + len + 1;
    value->len = arg->len - len - 1;

    return 1;
}


char *
ngx_http_session_conf_bad(ngx_conf_t *cf, ngx_str_t *value, const char *why)
{
    ngx_str_t  *directive;

    directive = cf->args->elts;

    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "%V: \"%V\" %s",
                       directive, value, why);

    return NGX_CONF_ERROR;
}


/* 1: arg is name=number and number is set; 0: another option; -1: bad. */

static ngx_int_t
ngx_http_session_conf_number(ngx_str_t *arg, const char *name,
    ngx_uint_t *number)
{
    ngx_int_t  n;
    ngx_str_t  value;

    if (!ngx_http_session_conf_option(arg, name, &value)) {
        return 0;
    }

    n = ngx_atoi(value.data, value.len);
    if (n == NGX_ERROR) {
        return -1;
    }

    *number = (ngx_uint_t) n;

    return 1;
}


/*
 * A plain string, never ngx_conf_set_path_slot(): the directories of that one
 * are created and chowned even by "nginx -t".
 */

char *
ngx_http_session_conf_store(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_main_conf_t *smcf = conf;

    off_t       size;
    ngx_str_t  *value, option;

    if (smcf->store.len) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (value[1].len == 0 || value[1].data[0] != '/') {
        return ngx_http_session_conf_bad(cf, &value[1],
                                         "must be an absolute path");
    }

    while (value[1].len > 1 && value[1].data[value[1].len - 1] == '/') {
        value[1].data[--value[1].len] = '\0';
    }

    smcf->store = value[1];

    if (cf->args->nelts == 2) {
        return NGX_CONF_OK;
    }

    if (!ngx_http_session_conf_option(&value[2], "size", &option)) {
        return ngx_http_session_conf_bad(cf, &value[2],
                                         "is not known here; use size=64g");
    }

    size = ngx_parse_offset(&option);

    if (size == (off_t) NGX_ERROR || size < NGX_HTTP_SESSION_QUOTA_MIN
        || (size_t) size > NGX_HTTP_SESSION_QUOTA_MAX)
    {
        return ngx_http_session_conf_bad(cf, &value[2],
                                         "must be between 1m and 64g");
    }

    smcf->quota = (size_t) size;

    return NGX_CONF_OK;
}


char *
ngx_http_session_conf_keys(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_main_conf_t *smcf = conf;

    ngx_str_t  *value;

    if (smcf->keys.len) {
        return "is duplicate";
    }

    value = cf->args->elts;
    smcf->keys = value[1];

    if (smcf->keys.len == 0) {
        return "needs the path of a keys file";
    }

    if (ngx_conf_full_name(cf->cycle, &smcf->keys, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_session_keys_read(cf, &smcf->keys, &smcf->secrets) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_session_conf_realm(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    u_char      c;
    size_t      i;
    ngx_str_t  *value;

    if (sscf->realm.data) {
        return "is duplicate";
    }

    value = cf->args->elts;

    if (value[1].len == 0 || value[1].len > NGX_HTTP_SESSION_REALM_MAX) {
        return ngx_http_session_conf_bad(cf, &value[1],
                                         "must be 1 to 32 characters");
    }

    for (i = 0; i < value[1].len; i++) {
        c = value[1].data[i];

        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')
            && c != '_' && c != '.' && c != '-')
        {
            return ngx_http_session_conf_bad(cf, &value[1],
                             "may hold a-z, 0-9, \"_\", \".\" and \"-\" only");
        }
    }

    sscf->realm = value[1];

    return NGX_CONF_OK;
}


char *
ngx_http_session_conf_lifetime(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    time_t      time, *slot;
    ngx_str_t  *value, option;
    ngx_uint_t  i;

    if (sscf->lifetime != NGX_CONF_UNSET) {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (i == 1) {
            slot = &sscf->lifetime;
            option = value[1];

        } else if (ngx_http_session_conf_option(&value[i], "idle", &option)) {
            slot = &sscf->idle;

        } else if (ngx_http_session_conf_option(&value[i], "touch", &option)) {
            slot = &sscf->touch;

        } else {
            return ngx_http_session_conf_bad(cf, &value[i],
                                             "is neither idle= nor touch=");
        }

        if (*slot != NGX_CONF_UNSET) {
            return ngx_http_session_conf_bad(cf, &value[i], "is duplicate");
        }

        time = ngx_parse_time(&option, 1);

        if (time == (time_t) NGX_ERROR
            || (time == 0 && slot != &sscf->idle)
            || time > NGX_HTTP_SESSION_LIFETIME_MAX)
        {
            return ngx_http_session_conf_bad(cf, &value[i],
                                     "must be a time from 1s to 400d");
        }

        *slot = time;
    }

    return NGX_CONF_OK;
}


char *
ngx_http_session_conf_templates(ngx_conf_t *cf, ngx_command_t *cmd,
    void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    ngx_str_t  *value;

    if (sscf->templates.data) {
        return "is duplicate";
    }

    value = cf->args->elts;
    sscf->templates = value[1];

    if (sscf->templates.len == 0) {
        return "needs the path of a directory";
    }

    return ngx_conf_full_name(cf->cycle, &sscf->templates, 1) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


char *
ngx_http_session_conf_title(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    ngx_str_t                         *value;
    ngx_http_compile_complex_value_t   ccv;

    if (sscf->title != NGX_CONF_UNSET_PTR) {
        return "is duplicate";
    }

    value = cf->args->elts;

    sscf->title = ngx_palloc(cf->pool, sizeof(ngx_http_complex_value_t));
    if (sscf->title == NULL) {
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&ccv, sizeof(ngx_http_compile_complex_value_t));

    ccv.cf = cf;
    ccv.value = &value[1];
    ccv.complex_value = sscf->title;

    return ngx_http_compile_complex_value(&ccv) == NGX_OK
           ? NGX_CONF_OK : NGX_CONF_ERROR;
}


char *
ngx_http_session_conf_password(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    ngx_str_t       *value, option;
    ngx_int_t        rc;
    ngx_uint_t       i, *slot;
    ngx_file_info_t  fi;

    if (sscf->password_min != NGX_CONF_UNSET_UINT
        || sscf->password_max != NGX_CONF_UNSET_UINT || sscf->blocklist.data)
    {
        return "is duplicate";
    }

    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_session_conf_option(&value[i], "blocklist", &option)) {

            sscf->blocklist = option;

            if (ngx_conf_full_name(cf->cycle, &sscf->blocklist, 1) != NGX_OK) {
                return NGX_CONF_ERROR;
            }

            if (ngx_file_info(sscf->blocklist.data, &fi) == NGX_FILE_ERROR
                || !ngx_is_file(&fi))
            {
                return ngx_http_session_conf_bad(cf, &sscf->blocklist,
                                                 "is no readable file");
            }

            continue;
        }

        slot = &sscf->password_min;
        rc = ngx_http_session_conf_number(&value[i], "min", slot);

        if (rc == 0) {
            slot = &sscf->password_max;
            rc = ngx_http_session_conf_number(&value[i], "max", slot);
        }

        if (rc == 0) {
            return ngx_http_session_conf_bad(cf, &value[i],
                                   "is none of min=, max=, blocklist=");
        }

        if (rc < 0 || *slot < NGX_HTTP_SESSION_PASSWORD_FLOOR
            || *slot > NGX_HTTP_SESSION_PASSWORD_CAP)
        {
            return ngx_http_session_conf_bad(cf, &value[i],
                                             "must be from 8 to 1024");
        }
    }

    return NGX_CONF_OK;
}


/* 1: one of the three counts, in its range; 0: something else; -1: bad. */

static ngx_int_t
ngx_http_session_conf_hash_number(ngx_http_session_main_conf_t *smcf,
    ngx_str_t *arg)
{
    ngx_int_t    rc;
    ngx_uint_t   i;

    struct {
        const char  *name;
        ngx_uint_t  *slot;
        ngx_uint_t   max;
    } counts[] = {
        { "passes", &smcf->hash_passes, 16 },
        { "concurrent", &smcf->hash_concurrent, 256 },
        { "queue", &smcf->hash_queue, 65536 },
    };

    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        rc = ngx_http_session_conf_number(arg, counts[i].name,
                                          counts[i].slot);

        if (rc == 1
            && (*counts[i].slot == 0 || *counts[i].slot > counts[i].max))
        {
            return -1;
        }

        if (rc) {
            return rc;
        }
    }

    return 0;
}


char *
ngx_http_session_conf_hash(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_main_conf_t *smcf = conf;

    ngx_int_t    rc;
    ngx_str_t   *value, option;
    ngx_uint_t   i;

    if (smcf->hash_memory != NGX_CONF_UNSET_SIZE) {
        return "is duplicate";
    }

    smcf->hash_memory = NGX_HTTP_SESSION_HASH_MEMORY;
    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_session_conf_option(&value[i], "memory", &option)) {
            smcf->hash_memory = ngx_parse_size(&option);
            rc = (smcf->hash_memory == (size_t) NGX_ERROR) ? -1 : 1;

        } else if (ngx_http_session_conf_option(&value[i], "timeout",
                                                &option))
        {
            smcf->hash_timeout = ngx_parse_time(&option, 0);
            rc = (smcf->hash_timeout == (ngx_msec_t) NGX_ERROR
                  || smcf->hash_timeout == 0) ? -1 : 1;

        } else if (ngx_http_session_conf_option(&value[i], "pool", &option)) {
            smcf->hash_pool_name = option;
            rc = option.len ? 1 : -1;

        } else {
            rc = ngx_http_session_conf_hash_number(smcf, &value[i]);
        }

        if (rc == 0) {
            return ngx_http_session_conf_bad(cf, &value[i],
                            "is none of memory=, passes=, concurrent=, "
                            "queue=, timeout=, pool=");
        }

        if (rc < 0) {
            return ngx_http_session_conf_bad(cf, &value[i],
                                             "is out of its range");
        }
    }

    return NGX_CONF_OK;
}


/* One zone serves all servers, so its size can only be said for all. */

char *
ngx_http_session_conf_throttle(ngx_conf_t *cf, ngx_command_t *cmd, void *conf)
{
    ngx_http_session_srv_conf_t *sscf = conf;

    char                          *why;
    ngx_str_t                     *value, option;
    ngx_uint_t                     i;
    ngx_http_session_main_conf_t  *smcf;

    if (sscf->throttle.account.attempts || sscf->throttle.address.attempts
        || sscf->throttled)
    {
        return "is duplicate";
    }

    sscf->throttled = 1;
    value = cf->args->elts;

    for (i = 1; i < cf->args->nelts; i++) {

        if (ngx_http_session_conf_option(&value[i], "account", &option)) {
            why = ngx_http_session_throttle_rate(&option,
                                                 &sscf->throttle.account);

        } else if (ngx_http_session_conf_option(&value[i], "address",
                                                &option))
        {
            why = ngx_http_session_throttle_rate(&option,
                                                 &sscf->throttle.address);

        } else if (ngx_http_session_conf_option(&value[i], "zone", &option)) {

            if (cf->cmd_type != NGX_HTTP_MAIN_CONF) {
                why = "can only stand at the http level: one zone serves all "
                      "servers";

            } else {
                smcf = ngx_http_conf_get_module_main_conf(cf,
                                                     ngx_http_session_module);
                why = ngx_http_session_throttle_size(&option,
                                                     &smcf->throttle_size);
            }

        } else {
            why = "is none of zone=, account=, address=";
        }

        if (why) {
            return ngx_http_session_conf_bad(cf, &value[i], why);
        }
    }

    return NGX_CONF_OK;
}
