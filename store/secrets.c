#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base64.h"
#include "hkdf.h"
#include "pages.h"
#include "secrets.h"


static int store_secrets_check(const char *file, const struct stat *st,
    char why[STORE_WHY_CHARS]);
static int store_secrets_fill(int fd, const char *file, store_secrets_t *s,
    char why[STORE_WHY_CHARS]);
static int store_secrets_parse(const char *file, store_secrets_t *s,
    char why[STORE_WHY_CHARS]);
static int store_secrets_line(const char *file, store_secrets_t *s,
    size_t start, size_t len, unsigned number, char why[STORE_WHY_CHARS]);
static int store_secrets_unique(const char *file, const store_secrets_t *s,
    const store_secret_t *secret, char why[STORE_WHY_CHARS]);


int
store_secrets_refuse(int code, char why[STORE_WHY_CHARS], const char *file,
    const char *fmt, ...)
{
    int      n;
    va_list  args;

    n = snprintf(why, STORE_WHY_CHARS, "\"%s\": ", file);

    if (n < 0 || n >= STORE_WHY_CHARS) {
        return code;
    }

    va_start(args, fmt);
    (void) vsnprintf(why + n, (size_t) (STORE_WHY_CHARS - n), fmt, args);
    va_end(args);

    return code;
}


int
store_secrets_absent(int err, const char *file, char why[STORE_WHY_CHARS])
{
    if (err == ENOENT) {
        return store_secrets_refuse(err, why, file, "no such file; run "
                                    "sessionctl key new %s", file);
    }

    return store_secrets_refuse(err, why, file, "cannot be opened: %s",
                                store_strerror(err));
}


int
store_secret_id(const uint8_t *data, size_t n, uint8_t *id)
{
    return store_hkdf(data, n, "id", 2, id, 1);
}


/*
 * Symbolic links are followed, because mounted secrets often are links; it is
 * the open file that has to be safe.  O_NONBLOCK keeps a FIFO from holding the
 * caller up before it is refused.
 */
int
store_secrets_read(const char *file, store_secrets_t **secrets,
    char why[STORE_WHY_CHARS])
{
    int          fd, rc;
    struct stat  st;

    why[0] = '\0';

    fd = open(file, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK);

    if (fd == -1) {
        return store_secrets_absent(errno, file, why);
    }

    rc = store_secrets_load(fd, file, &st, secrets, why);

    (void) close(fd);

    if (rc != STORE_OK) {
        return rc;
    }

    /* only an editor needs the text */
    store_wipe((*secrets)->text, sizeof((*secrets)->text));

    return STORE_OK;
}


int
store_secrets_load(int fd, const char *file, struct stat *st,
    store_secrets_t **secrets, char why[STORE_WHY_CHARS])
{
    int    rc;
    void  *p;

    if (fstat(fd, st) == -1) {
        rc = errno;
        return store_secrets_refuse(rc, why, file, "fstat() failed: %s",
                                    store_strerror(rc));
    }

    rc = store_secrets_check(file, st, why);

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_pages_get(&p, sizeof(store_secrets_t));

    if (rc != STORE_OK) {
        return store_secrets_refuse(rc, why, file, "no memory for secrets: %s",
                                    store_strerror(rc));
    }

    rc = store_secrets_fill(fd, file, p, why);

    if (rc == STORE_OK) {
        rc = store_secrets_parse(file, p, why);
    }

    if (rc != STORE_OK) {
        store_pages_put(p, sizeof(store_secrets_t));
        return rc;
    }

    *secrets = p;

    return STORE_OK;
}


static int
store_secrets_check(const char *file, const struct stat *st,
    char why[STORE_WHY_CHARS])
{
    if (!S_ISREG(st->st_mode)) {
        return store_secrets_refuse(STORE_UNSAFE, why, file,
                                    "not a regular file");
    }

    if (st->st_uid != 0 && st->st_uid != geteuid()) {
        return store_secrets_refuse(STORE_UNSAFE, why, file,
                                    "belongs to user %lu, neither root nor the "
                                    "user who reads it; run chown root %s",
                                    (unsigned long) st->st_uid, file);
    }

    if (st->st_mode & S_IROTH) {
        return store_secrets_refuse(STORE_UNSAFE, why, file, "readable by "
                                    "others; run chmod 0600 %s, and key add, "
                                    "promote and drop if anybody may have "
                                    "read it", file);
    }

    if (st->st_mode & S_IWOTH) {
        return store_secrets_refuse(STORE_UNSAFE, why, file, "writable by "
                                    "others; run chmod 0600 %s", file);
    }

    if (st->st_mode & S_IXOTH) {
        return store_secrets_refuse(STORE_UNSAFE, why, file, "executable by "
                                    "others; run chmod 0600 %s", file);
    }

    if (st->st_mode & S_IWGRP) {
        return store_secrets_refuse(STORE_UNSAFE, why, file, "group may "
                                    "write; run chmod g-w %s", file);
    }

    return STORE_OK;
}


static int
store_secrets_fill(int fd, const char *file, store_secrets_t *s,
    char why[STORE_WHY_CHARS])
{
    int      err;
    ssize_t  n;

    /* one byte more than allowed shows that the file is too long */

    while (s->len < sizeof(s->text)) {
        n = read(fd, s->text + s->len, sizeof(s->text) - s->len);

        if (n == 0) {
            return STORE_OK;
        }

        if (n == -1) {
            err = errno;

            if (err == EINTR) {
                continue;
            }

            return store_secrets_refuse(err, why, file, "read() failed: %s",
                                        store_strerror(err));
        }

        s->len += (size_t) n;
    }

    return store_secrets_refuse(STORE_LIMIT, why, file, "longer than %d "
                                "bytes, so it is no keys file",
                                STORE_KEYS_FILE_MAX);
}


static int
store_secrets_parse(const char *file, store_secrets_t *s,
    char why[STORE_WHY_CHARS])
{
    int          rc;
    size_t       start, end;
    unsigned     number;
    const char  *lf;

    number = 0;

    for (start = 0; start < s->len; start = end) {
        lf = memchr(s->text + start, '\n', s->len - start);
        end = lf ? (size_t) (lf - s->text) + 1 : s->len;
        number++;

        rc = store_secrets_line(file, s, start, end - start - (lf ? 1 : 0),
                                number, why);
        if (rc != STORE_OK) {
            return rc;
        }

        if (s->count && s->lines[s->count - 1].number == number) {
            s->lines[s->count - 1].end = end;
        }
    }

    if (s->count == 0) {
        return store_secrets_refuse(STORE_MALFORMED, why, file, "holds no "
                                    "secret; remove it and run sessionctl key "
                                    "new %s", file);
    }

    return STORE_OK;
}


/*
 * One line: nothing, a comment, or padded base64 of 32 to 128 bytes.  No
 * message shows what the line holds.
 */
static int
store_secrets_line(const char *file, store_secrets_t *s, size_t start,
    size_t len, unsigned number, char why[STORE_WHY_CHARS])
{
    int              rc;
    size_t           pad, n;
    const char      *p;
    store_secret_t  *secret;

    p = s->text + start;

    if (len && p[len - 1] == '\r') {
        return store_secrets_refuse(STORE_MALFORMED, why, file, "line %u ends "
                                    "in CR LF; run sed -i 's/\\r$//' %s",
                                    number, file);
    }

    if (len == 0 || *p == '#') {
        return STORE_OK;
    }

    if (s->count == STORE_SECRETS_MAX) {
        return store_secrets_refuse(STORE_LIMIT, why, file, "line %u: more "
                                    "than %d secrets; remove old ones with "
                                    "sessionctl key drop or by hand", number,
                                    STORE_SECRETS_MAX);
    }

    for (pad = 0; pad < 2 && pad < len && p[len - pad - 1] == '='; pad++) {
        /* void */
    }

    n = (len - pad) * 6 / 8;
    secret = &s->lines[s->count];

    if (len % 4 || n > STORE_SECRET_MAX
        || store_base64_decode(p, len - pad, secret->data, n) != STORE_OK)
    {
        return store_secrets_refuse(STORE_MALFORMED, why, file, "line %u is "
                                    "not the base64 of at most %d bytes; "
                                    "remove it and run sessionctl key add %s",
                                    number, STORE_SECRET_MAX, file);
    }

    if (n < STORE_SECRET_MIN) {
        return store_secrets_refuse(STORE_MALFORMED, why, file, "line %u has "
                                    "%lu bytes, a secret needs %d; remove it "
                                    "and run sessionctl key add %s", number,
                                    (unsigned long) n, STORE_SECRET_MIN, file);
    }

    secret->len = n;
    secret->start = start;
    secret->number = number;

    rc = store_secret_id(secret->data, n, &secret->id);

    if (rc != STORE_OK) {
        return store_secrets_refuse(rc, why, file, "HKDF-SHA-256 failed: %s",
                                    store_strerror(rc));
    }

    rc = store_secrets_unique(file, s, secret, why);

    if (rc == STORE_OK) {
        s->count++;
    }

    return rc;
}


/* A token names its secret by one byte, so two lines may not share it. */
static int
store_secrets_unique(const char *file, const store_secrets_t *s,
    const store_secret_t *secret, char why[STORE_WHY_CHARS])
{
    unsigned               i;
    const store_secret_t  *other;

    for (i = 0; i < s->count; i++) {
        other = &s->lines[i];

        if (other->id != secret->id) {
            continue;
        }

        if (other->len == secret->len
            && store_equal(other->data, secret->data, secret->len))
        {
            return store_secrets_refuse(STORE_MALFORMED, why, file, "line %u "
                                        "repeats line %u; remove it",
                                        secret->number, other->number);
        }

        return store_secrets_refuse(STORE_MALFORMED, why, file, "line %u has "
                                    "the key id %02x of line %u; remove it and "
                                    "run sessionctl key add %s",
                                    secret->number, secret->id, other->number,
                                    file);
    }

    return STORE_OK;
}


void
store_secrets_free(store_secrets_t *secrets)
{
    store_pages_put(secrets, sizeof(store_secrets_t));
}


unsigned
store_secrets_count(const store_secrets_t *secrets)
{
    return secrets->count;
}


uint8_t
store_secrets_id(const store_secrets_t *secrets, unsigned i)
{
    return secrets->lines[i].id;
}
