/*
 * Pages at configuration: files are read and templates compiled in the master,
 * so that a mistake in one is an error of nginx -t.
 */

#include "ngx_http_session_page_set.h"
#include "html.h"

#include <ngx_sha1.h>


/* One compilation: where includes come from, and what went wrong there. */
typedef struct {
    ngx_conf_t                     *cf;
    ngx_http_session_page_files_t  *files;
    unsigned                        failed:1;   /* and logged */
} ngx_http_session_page_load_t;


static ngx_http_session_page_files_t *ngx_http_session_page_find(
    ngx_conf_t *cf, ngx_str_t *dir);
static ngx_int_t ngx_http_session_page_check_dir(ngx_conf_t *cf,
    ngx_str_t *dir);
static ngx_int_t ngx_http_session_page_compile_all(ngx_conf_t *cf,
    ngx_http_session_page_files_t *files);
static ngx_int_t ngx_http_session_page_compile_one(
    ngx_http_session_page_load_t *load, const ngx_http_session_template_t *tpl,
    text_op_t *ops, text_template_t *out);
static void ngx_http_session_page_complain(ngx_http_session_page_load_t *load,
    const text_template_error_t *error);
static ngx_uint_t ngx_http_session_page_has_field(const text_template_t *tpl,
    const char *name);
static ngx_int_t ngx_http_session_page_hash(
    ngx_http_session_page_load_t *load);
static int ngx_http_session_page_load(void *data, text_span_t name,
    text_span_t *source);
static ngx_int_t ngx_http_session_page_read(
    ngx_http_session_page_load_t *load, text_span_t name, ngx_str_t *out);
static ngx_int_t ngx_http_session_page_read_file(ngx_conf_t *cf,
    const char *path, ngx_str_t *out);
static ngx_int_t ngx_http_session_page_read_fd(ngx_conf_t *cf, ngx_fd_t fd,
    const char *path, ngx_str_t *out);
static ngx_int_t ngx_http_session_page_asset_uris(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *sscf);


const ngx_http_session_asset_t
    ngx_http_session_assets[NGX_HTTP_SESSION_ASSETS] =
{
    { ngx_string("session.css"), ngx_string("text/css") },
    { ngx_string("logo.svg"), ngx_string("image/svg+xml") }
};


char *
ngx_http_session_page_compile(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *sscf)
{
    sscf->pages = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_page_set_t));
    if (sscf->pages == NULL) {
        return NGX_CONF_ERROR;
    }

    sscf->pages->files = ngx_http_session_page_find(cf, &sscf->templates);
    if (sscf->pages->files == NULL) {
        return NGX_CONF_ERROR;
    }

    if (ngx_http_session_page_asset_uris(cf, sscf) != NGX_OK
        || ngx_http_session_page_fold(cf, sscf) != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    return NGX_CONF_OK;
}


/* Servers with the same directory share what was compiled from it. */
static ngx_http_session_page_files_t *
ngx_http_session_page_find(ngx_conf_t *cf, ngx_str_t *dir)
{
    ngx_uint_t                           i;
    ngx_http_session_page_files_t      **known, *files;
    ngx_http_session_page_main_conf_t   *pmcf;

    pmcf = ngx_http_conf_get_module_main_conf(cf,
                                              ngx_http_session_page_module);
    known = pmcf->files.elts;

    for (i = 0; i < pmcf->files.nelts; i++) {
        if (known[i]->dir.len == dir->len
            && ngx_strncmp(known[i]->dir.data, dir->data, dir->len) == 0)
        {
            return known[i];
        }
    }

    files = ngx_pcalloc(cf->pool, sizeof(ngx_http_session_page_files_t));
    if (files == NULL) {
        return NULL;
    }

    files->dir = *dir;

    if (ngx_array_init(&files->files, cf->pool, 16,
                       sizeof(ngx_http_session_page_file_t))
        != NGX_OK)
    {
        return NULL;
    }

    if (dir->len && ngx_http_session_page_check_dir(cf, dir) != NGX_OK) {
        return NULL;
    }

    if (ngx_http_session_page_compile_all(cf, files) != NGX_OK) {
        return NULL;
    }

    known = ngx_array_push(&pmcf->files);
    if (known == NULL) {
        return NULL;
    }

    *known = files;

    return files;
}


/* A directory that is not there would silently mean "all built in". */
static ngx_int_t
ngx_http_session_page_check_dir(ngx_conf_t *cf, ngx_str_t *dir)
{
    ngx_str_t        path;
    ngx_file_info_t  info;

    path.len = dir->len;
    path.data = ngx_pnalloc(cf->temp_pool, dir->len + 1);
    if (path.data == NULL) {
        return NGX_ERROR;
    }

    (void) ngx_cpystrn(path.data, dir->data, dir->len + 1);

    if (ngx_file_info(path.data, &info) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno,
                      "session_templates \"%V\" cannot be used", dir);
        return NGX_ERROR;
    }

    if (!ngx_is_dir(&info)) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "session_templates \"%V\" is not a directory", dir);
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_page_compile_all(ngx_conf_t *cf,
    ngx_http_session_page_files_t *files)
{
    text_op_t                     *ops;
    ngx_uint_t                     i;
    ngx_http_session_page_load_t   load;

    load.cf = cf;
    load.files = files;
    load.failed = 0;

    ops = ngx_palloc(cf->temp_pool,
                     TEXT_TEMPLATE_OPS_MAX * sizeof(text_op_t));
    if (ops == NULL) {
        return NGX_ERROR;
    }

    for (i = 0; i < NGX_HTTP_SESSION_TEMPLATES; i++) {
        if (ngx_http_session_page_compile_one(&load,
                                              &ngx_http_session_templates[i],
                                              ops, &files->templates[i])
            != NGX_OK)
        {
            return NGX_ERROR;
        }
    }

    return ngx_http_session_page_hash(&load);
}


static ngx_int_t
ngx_http_session_page_compile_one(ngx_http_session_page_load_t *load,
    const ngx_http_session_template_t *tpl, text_op_t *ops,
    text_template_t *out)
{
    size_t                 size;
    text_op_t             *copy;
    ngx_uint_t             i;
    text_span_t            file;
    text_template_error_t  error;

    file.data = (const uint8_t *) tpl->file;
    file.len = ngx_strlen(tpl->file);

    if (text_template_compile(file, ngx_http_session_page_load, load,
                              tpl->slots, tpl->n, ops, TEXT_TEMPLATE_OPS_MAX,
                              out, &error)
        != 0)
    {
        if (!load->failed) {
            ngx_http_session_page_complain(load, &error);
        }

        return NGX_ERROR;
    }

    for (i = 0; i < NGX_HTTP_SESSION_TEMPLATE_FIELDS && tpl->fields[i]; i++) {
        if (!ngx_http_session_page_has_field(out, tpl->fields[i])) {
            ngx_log_error(NGX_LOG_EMERG, load->cf->log, 0,
                          "form field name=\"%s\" is missing in %V%s%s",
                          tpl->fields[i], &load->files->dir,
                          load->files->dir.len ? "/" : "", tpl->file);
            return NGX_ERROR;
        }
    }

    size = out->n * sizeof(text_op_t);

    copy = ngx_palloc(load->cf->pool, size);
    if (copy == NULL) {
        return NGX_ERROR;
    }

    ngx_memcpy(copy, out->ops, size);
    out->ops = copy;

    return NGX_OK;
}


static void
ngx_http_session_page_complain(ngx_http_session_page_load_t *load,
    const text_template_error_t *error)
{
    ngx_str_t   file, name;
    ngx_str_t  *dir;

    dir = &load->files->dir;
    file.data = (u_char *) error->file.data;
    file.len = error->file.len;
    name.data = (u_char *) error->name.data;
    name.len = error->name.len;

    if (error->line == 0) {
        ngx_log_error(NGX_LOG_EMERG, load->cf->log, 0,
                      "%s \"%V\" in %V%s%V", error->what, &name, dir,
                      dir->len ? "/" : "", &file);
        return;
    }

    ngx_log_error(NGX_LOG_EMERG, load->cf->log, 0,
                  "%s \"%V\" in %V%s%V:%ui", error->what, &name, dir,
                  dir->len ? "/" : "", &file, (ngx_uint_t) error->line);
}


/*
 * A sign-in form that has all slots but no password field would compile and
 * lock everybody out.
 */
static ngx_uint_t
ngx_http_session_page_has_field(const text_template_t *tpl, const char *name)
{
    size_t      i, len;
    u_char      attribute[64], *end;
    ngx_str_t   text;

    end = ngx_snprintf(attribute, sizeof(attribute) - 1, "name=\"%s\"", name);
    *end = '\0';
    len = end - attribute;

    for (i = 0; i < tpl->n; i++) {
        if (tpl->ops[i].kind != TEXT_OP_LITERAL
            || tpl->ops[i].literal.len < len)
        {
            continue;
        }

        text.data = (u_char *) tpl->ops[i].literal.data;
        text.len = tpl->ops[i].literal.len;

        if (ngx_strnstr(text.data, (char *) attribute, text.len) != NULL) {
            return 1;
        }
    }

    return 0;
}


/*
 * One hash over all assets stands in their URIs, so that they may be cached
 * forever and a new file is fetched at once.
 */
static ngx_int_t
ngx_http_session_page_hash(ngx_http_session_page_load_t *load)
{
    u_char          digest[20];
    ngx_uint_t      i;
    ngx_sha1_t      sha1;
    text_span_t     name, source;
    ngx_str_t      *asset;

    ngx_sha1_init(&sha1);

    for (i = 0; i < NGX_HTTP_SESSION_ASSETS; i++) {
        name.data = ngx_http_session_assets[i].file.data;
        name.len = ngx_http_session_assets[i].file.len;

        if (!ngx_http_session_page_load(load, name, &source)) {
            return NGX_ERROR;
        }

        asset = &load->files->assets[i];
        asset->data = (u_char *) source.data;
        asset->len = source.len;

        ngx_sha1_update(&sha1, &asset->len, sizeof(size_t));
        ngx_sha1_update(&sha1, asset->data, asset->len);
    }

    ngx_sha1_final(digest, &sha1);
    ngx_hex_dump(load->files->hash, digest,
                 NGX_HTTP_SESSION_ASSET_HASH_LEN / 2);

    return NGX_OK;
}


/* For text_template_compile(): a file of the directory, else the built-in. */
static int
ngx_http_session_page_load(void *data, text_span_t name, text_span_t *source)
{
    ngx_http_session_page_load_t  *load = data;

    ngx_str_t                      text;
    ngx_uint_t                     i;
    const session_html_t          *html;
    ngx_http_session_page_file_t  *file;

    file = load->files->files.elts;

    for (i = 0; i < load->files->files.nelts; i++) {
        if (file[i].name.len == name.len
            && ngx_memcmp(file[i].name.data, name.data, name.len) == 0)
        {
            source->data = file[i].data.data;
            source->len = file[i].data.len;
            return 1;
        }
    }

    switch (ngx_http_session_page_read(load, name, &text)) {

    case NGX_OK:
        source->data = text.data;
        source->len = text.len;
        break;

    case NGX_DECLINED:
        for (html = session_html; html->name; html++) {
            if (ngx_strlen(html->name) == name.len
                && ngx_memcmp(html->name, name.data, name.len) == 0)
            {
                break;
            }
        }

        if (html->name == NULL) {
            return 0;
        }

        source->data = html->data;
        source->len = html->size;
        break;

    default: /* NGX_ERROR */
        load->failed = 1;
        return 0;
    }

    file = ngx_array_push(&load->files->files);
    if (file == NULL) {
        load->failed = 1;
        return 0;
    }

    file->name.data = (u_char *) name.data;
    file->name.len = name.len;
    file->data.data = (u_char *) source->data;
    file->data.len = source->len;

    return 1;
}


/* NGX_DECLINED: there is no directory, or no such file in it. */
static ngx_int_t
ngx_http_session_page_read(ngx_http_session_page_load_t *load,
    text_span_t name, ngx_str_t *out)
{
    size_t      i;
    u_char     *path, c;
    ngx_str_t  *dir;

    dir = &load->files->dir;

    if (dir->len == 0 || name.len == 0 || name.data[0] == '.') {
        return NGX_DECLINED;
    }

    for (i = 0; i < name.len; i++) {
        c = name.data[i];

        /* an include is a name, never a way out of the directory */

        if (c == '/' || c <= ' ' || c >= 0x7f) {
            return NGX_DECLINED;
        }
    }

    path = ngx_pnalloc(load->cf->temp_pool, dir->len + 1 + name.len + 1);
    if (path == NULL) {
        return NGX_ERROR;
    }

    i = dir->len;
    ngx_memcpy(path, dir->data, i);
    path[i++] = '/';
    ngx_memcpy(path + i, name.data, name.len);
    path[i + name.len] = '\0';

    return ngx_http_session_page_read_file(load->cf, (char *) path, out);
}


static ngx_int_t
ngx_http_session_page_read_file(ngx_conf_t *cf, const char *path,
    ngx_str_t *out)
{
    ngx_fd_t   fd;
    ngx_int_t  rc;

    /* nonblocking: a fifo put there would stop the master for ever */

    fd = ngx_open_file(path, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                       NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        if (ngx_errno == NGX_ENOENT) {
            return NGX_DECLINED;
        }

        ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno,
                      ngx_open_file_n " template \"%s\" failed", path);
        return NGX_ERROR;
    }

    rc = ngx_http_session_page_read_fd(cf, fd, path, out);

    if (ngx_close_file(fd) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_ALERT, cf->log, ngx_errno,
                      ngx_close_file_n " \"%s\" failed", path);
    }

    return rc;
}


static ngx_int_t
ngx_http_session_page_read_fd(ngx_conf_t *cf, ngx_fd_t fd, const char *path,
    ngx_str_t *out)
{
    size_t           size;
    ssize_t          n;
    ngx_file_info_t  info;

    if (ngx_fd_info(fd, &info) == NGX_FILE_ERROR) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno,
                      ngx_fd_info_n " template \"%s\" failed", path);
        return NGX_ERROR;
    }

    if (!ngx_is_file(&info)) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "template \"%s\" is not a regular file", path);
        return NGX_ERROR;
    }

    if (ngx_file_size(&info) > TEXT_TEMPLATE_SIZE_MAX) {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "template \"%s\" is larger than %d bytes", path,
                      TEXT_TEMPLATE_SIZE_MAX);
        return NGX_ERROR;
    }

    size = (size_t) ngx_file_size(&info);

    out->len = 0;
    out->data = ngx_pnalloc(cf->pool, size + 1);
    if (out->data == NULL) {
        return NGX_ERROR;
    }

    while (out->len < size) {
        n = ngx_read_fd(fd, out->data + out->len, size - out->len);

        if (n == -1) {
            ngx_log_error(NGX_LOG_EMERG, cf->log, ngx_errno,
                          ngx_read_fd_n " template \"%s\" failed", path);
            return NGX_ERROR;
        }

        if (n == 0) {
            break;
        }

        out->len += n;
    }

    return NGX_OK;
}


static ngx_int_t
ngx_http_session_page_asset_uris(ngx_conf_t *cf,
    ngx_http_session_srv_conf_t *sscf)
{
    u_char                         *p;
    ngx_str_t                      *uri, *base;
    ngx_uint_t                      i;
    const ngx_str_t                *file;
    ngx_http_session_page_files_t  *files;

    base = &sscf->uris[NGX_HTTP_SESSION_PAGE_ASSETS];

    if (base->len == 0) {
        return NGX_OK;
    }

    if (base->data[base->len - 1] != '/') {
        ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                      "location \"%V\" with \"session_page assets\" "
                      "must end with a slash", base);
        return NGX_ERROR;
    }

    files = sscf->pages->files;

    for (i = 0; i < NGX_HTTP_SESSION_ASSETS; i++) {
        file = &ngx_http_session_assets[i].file;
        uri = &sscf->pages->uris[i];

        uri->len = base->len + NGX_HTTP_SESSION_ASSET_HASH_LEN + 1 + file->len;

        uri->data = ngx_pnalloc(cf->pool, uri->len);
        if (uri->data == NULL) {
            return NGX_ERROR;
        }

        p = ngx_cpymem(uri->data, base->data, base->len);
        p = ngx_cpymem(p, files->hash, NGX_HTTP_SESSION_ASSET_HASH_LEN);
        *p++ = '/';
        ngx_memcpy(p, file->data, file->len);
    }

    return NGX_OK;
}
