/* keys.c: a keys file is taken exactly when OpenSSL's base64 would have written
 * each of its secrets, and then as what OpenSSL reads. */

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "fuzz.h"
#include "secrets.h"


typedef struct {
    size_t   n;
    size_t   len[STORE_SECRETS_MAX];
    uint8_t  ids[STORE_SECRETS_MAX];
    uint8_t  data[STORE_SECRETS_MAX][STORE_SECRET_MAX];
} expected_t;

/* The keys file: no system call is needed to read it. */
#define KEYS_FD  1000

static const uint8_t  *keys;
static size_t          left;


int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __real_read(int fd, void *data, size_t n);
ssize_t __wrap_read(int fd, void *data, size_t n);
int __wrap_store_pages_get(void **pages, size_t n);
void __wrap_store_pages_put(void *pages, size_t n);


/* One line that is neither empty nor a comment: 0 if it may not be there. */
static int
expect_line(const uint8_t *line, size_t len, expected_t *e)
{
    int      n;
    size_t   i;
    uint8_t  bytes[STORE_SECRET_MAX + 4], text[STORE_SECRET_MAX * 2];

    if (e->n == STORE_SECRETS_MAX || len % 4 || len > 172) {
        return 0;
    }

    n = EVP_DecodeBlock(bytes, line, (int) len);

    if (n == -1) {
        return 0;
    }

    n -= (line[len - 1] == '=') + (line[len - 2] == '=');

    if (n < STORE_SECRET_MIN || n > STORE_SECRET_MAX
        || EVP_EncodeBlock(text, bytes, n) != (int) len
        || memcmp(text, line, len) != 0)
    {
        return 0;
    }

    e->len[e->n] = (size_t) n;
    memcpy(e->data[e->n], bytes, (size_t) n);
    fuzz_check(store_secret_id(bytes, (size_t) n, &e->ids[e->n]) == STORE_OK);

    for (i = 0; i < e->n; i++) {
        if (e->ids[i] == e->ids[e->n]) {
            return 0;
        }
    }

    e->n++;

    return 1;
}


static int
expect(const uint8_t *data, size_t size, expected_t *e)
{
    size_t         len;
    const uint8_t  *p, *end, *lf;

    e->n = 0;
    end = data + size;

    for (p = data; p < end; p += len + 1) {
        lf = memchr(p, '\n', (size_t) (end - p));
        len = (size_t) ((lf ? lf : end) - p);

        if (len == 0 || (*p == '#' && p[len - 1] != '\r')) {
            continue;
        }

        if (!expect_line(p, len, e)) {
            return 0;
        }
    }

    return e->n != 0 && size <= STORE_KEYS_FILE_MAX;
}


int
__wrap_fstat(int fd, struct stat *st)
{
    if (fd != KEYS_FD) {
        return __real_fstat(fd, st);
    }

    memset(st, 0, sizeof(struct stat));
    st->st_mode = S_IFREG | 0600;

    return 0;
}


ssize_t
__wrap_read(int fd, void *data, size_t n)
{
    if (fd != KEYS_FD) {
        return __real_read(fd, data, n);
    }

    n = n < left ? n : left;
    memcpy(data, keys, n);
    keys += n;
    left -= n;

    return (ssize_t) n;
}


/* On the heap, where ASan sees the end of it. */
int
__wrap_store_pages_get(void **pages, size_t n)
{
    *pages = calloc(1, n);
    fuzz_check(*pages != NULL);

    return STORE_OK;
}


void
__wrap_store_pages_put(void *pages, size_t n)
{
    (void) n;

    free(pages);
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int               rc;
    char              why[STORE_WHY_CHARS];
    size_t            i;
    expected_t        e;
    struct stat       st;
    store_secrets_t  *secrets;

    keys = data;
    left = size;
    why[0] = '\0';
    rc = store_secrets_load(KEYS_FD, "keys", &st, &secrets, why);

    fuzz_check((rc == STORE_OK) == expect(data, size, &e));

    if (rc != STORE_OK) {
        fuzz_check(why[0] != '\0');
        return 0;
    }

    fuzz_check(secrets->count == e.n);

    for (i = 0; i < e.n; i++) {
        fuzz_check(secrets->lines[i].id == e.ids[i]);
        fuzz_check(secrets->lines[i].len == e.len[i]);
        fuzz_check(memcmp(secrets->lines[i].data, e.data[i], e.len[i]) == 0);
    }

    store_secrets_free(secrets);

    return 0;
}
