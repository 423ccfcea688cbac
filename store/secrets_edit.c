#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base64.h"
#include "pages.h"
#include "secrets.h"


#define STORE_SECRET_BYTES  32

/* as Linux bounds a path, NUL included */
#define STORE_PATH_CHARS    4096

/* 44 characters of padded base64 and a line feed */
#define STORE_SECRET_LINE   45

static const char  store_secrets_head[] =
    "# Secrets of ngx_session, one a line: the first signs, all verify.\n"
    "# Rotate with sessionctl key add, promote and drop.\n";


/* A keys file that is being changed; text has room for one line more. */
typedef struct {
    int               fd;
    size_t            len;
    char              text[STORE_KEYS_FILE_MAX + STORE_SECRET_LINE + 2];
    const char       *file;
    struct stat       st;
    store_secrets_t  *secrets;
} store_secrets_edit_t;


static int store_secrets_begin(const char *file, store_secrets_edit_t **edit,
    char why[STORE_WHY_CHARS]);
static void store_secrets_end(store_secrets_edit_t *edit);
static int store_secrets_move(store_secrets_edit_t *edit, unsigned i,
    int first);
static int store_secrets_find(const store_secrets_edit_t *edit, uint8_t id,
    unsigned *i, char why[STORE_WHY_CHARS]);
static int store_secret_random(char line[STORE_SECRET_LINE], uint8_t *id);
static int store_secrets_commit(const char *file, const struct stat *st,
    const char *text, size_t len, char why[STORE_WHY_CHARS]);
static int store_secrets_write(int fd, const struct stat *st, const char *text,
    size_t len);
static int store_secrets_sync_dir(const char *file);


int
store_secrets_random_create(const char *file, char why[STORE_WHY_CHARS])
{
    int      rc;
    void    *pages;
    char    *text;
    size_t   len;
    uint8_t  id;

    why[0] = '\0';

    rc = store_pages_get(&pages, sizeof(store_secrets_head)
                                 + STORE_SECRET_LINE);
    if (rc != STORE_OK) {
        return store_secrets_refuse(rc, why, file, "no memory for secrets: %s",
                                    store_strerror(rc));
    }

    text = pages;
    len = sizeof(store_secrets_head) - 1;
    memcpy(text, store_secrets_head, len);

    rc = store_secret_random(text + len, &id);

    if (rc != STORE_OK) {
        (void) store_secrets_refuse(rc, why, file, "no secret was drawn: %s",
                                    store_strerror(rc));
        goto done;
    }

    rc = store_secrets_commit(file, NULL, text, len + STORE_SECRET_LINE, why);

done:

    store_pages_put(pages, sizeof(store_secrets_head) + STORE_SECRET_LINE);

    return rc;
}


/*
 * The new line goes last: it verifies and does not sign before every worker
 * knows it.  An id of one byte collides now and then; then another is drawn.
 */
int
store_secrets_random_add(const char *file, uint8_t *id,
    char why[STORE_WHY_CHARS])
{
    int                    rc;
    unsigned               i;
    store_secrets_edit_t  *edit;

    rc = store_secrets_begin(file, &edit, why);

    if (rc != STORE_OK) {
        return rc;
    }

    if (edit->secrets->count == STORE_SECRETS_MAX) {
        rc = store_secrets_refuse(STORE_LIMIT, why, file, "holds %d secrets "
                                  "already; run sessionctl key drop %s ID",
                                  STORE_SECRETS_MAX, file);
        goto done;
    }

    if (edit->len && edit->text[edit->len - 1] != '\n') {
        edit->text[edit->len++] = '\n';
    }

    do {
        rc = store_secret_random(edit->text + edit->len, id);

        if (rc != STORE_OK) {
            (void) store_secrets_refuse(rc, why, file, "no secret was drawn: "
                                        "%s", store_strerror(rc));
            goto done;
        }

        for (i = 0; i < edit->secrets->count; i++) {
            if (edit->secrets->lines[i].id == *id) {
                break;
            }
        }

    } while (i < edit->secrets->count);

    edit->len += STORE_SECRET_LINE;

    if (edit->len > STORE_KEYS_FILE_MAX) {
        rc = store_secrets_refuse(STORE_LIMIT, why, file, "would be longer "
                                  "than %d bytes; remove comments",
                                  STORE_KEYS_FILE_MAX);
        goto done;
    }

    rc = store_secrets_commit(file, &edit->st, edit->text, edit->len, why);

done:

    store_secrets_end(edit);

    return rc;
}


int
store_secrets_promote(const char *file, uint8_t id, char why[STORE_WHY_CHARS])
{
    int                    rc;
    unsigned               i;
    store_secrets_edit_t  *edit;

    rc = store_secrets_begin(file, &edit, why);

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_secrets_find(edit, id, &i, why);

    if (rc != STORE_OK || i == 0) {
        goto done;
    }

    rc = store_secrets_move(edit, i, 1);

    if (rc != STORE_OK) {
        (void) store_secrets_refuse(rc, why, file, "would be longer than %d "
                                    "bytes; remove comments",
                                    STORE_KEYS_FILE_MAX);
        goto done;
    }

    rc = store_secrets_commit(file, &edit->st, edit->text, edit->len, why);

done:

    store_secrets_end(edit);

    return rc;
}


int
store_secrets_drop(const char *file, uint8_t id, char why[STORE_WHY_CHARS])
{
    int                    rc;
    unsigned               i;
    store_secrets_edit_t  *edit;

    rc = store_secrets_begin(file, &edit, why);

    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_secrets_find(edit, id, &i, why);

    if (rc != STORE_OK) {
        goto done;
    }

    if (i == 0) {
        rc = store_secrets_refuse(STORE_INVALID, why, file, "key %02x signs; "
                                  "run sessionctl key promote with another one "
                                  "first", id);
        goto done;
    }

    (void) store_secrets_move(edit, i, 0);

    rc = store_secrets_commit(file, &edit->st, edit->text, edit->len, why);

done:

    store_secrets_end(edit);

    return rc;
}


/*
 * A rename would turn a link into a file and leave the file it named as it
 * was, so links are refused here.  The lock keeps two editors from losing one
 * another's line; whoever waited for it may hold a file that was replaced
 * meanwhile, and is sent away.
 */
static int
store_secrets_begin(const char *file, store_secrets_edit_t **edit,
    char why[STORE_WHY_CHARS])
{
    int                    fd, rc;
    void                  *p;
    struct stat            st;
    store_secrets_edit_t  *e;

    why[0] = '\0';

    fd = open(file, O_RDONLY|O_CLOEXEC|O_NOCTTY|O_NONBLOCK|O_NOFOLLOW);

    if (fd == -1) {
        rc = errno;

        if (rc == ELOOP) {
            return store_secrets_refuse(rc, why, file, "is a symbolic link; "
                                        "name the file it points to");
        }

        return store_secrets_absent(rc, file, why);
    }

    rc = store_pages_get(&p, sizeof(store_secrets_edit_t));

    if (rc != STORE_OK) {
        (void) close(fd);
        return store_secrets_refuse(rc, why, file, "no memory for secrets: %s",
                                    store_strerror(rc));
    }

    e = p;
    e->fd = fd;
    e->file = file;

    if (flock(fd, LOCK_EX|LOCK_NB) == -1) {
        rc = store_secrets_refuse(STORE_BUSY, why, file, "is being changed by "
                                  "another process; try again");
        goto failed;
    }

    rc = store_secrets_load(fd, file, &e->st, &e->secrets, why);

    if (rc != STORE_OK) {
        goto failed;
    }

    if (lstat(file, &st) == -1 || st.st_dev != e->st.st_dev
        || st.st_ino != e->st.st_ino)
    {
        rc = store_secrets_refuse(STORE_BUSY, why, file, "was changed by "
                                  "another process; try again");
        goto failed;
    }

    e->len = e->secrets->len;
    memcpy(e->text, e->secrets->text, e->len);

    *edit = e;

    return STORE_OK;

failed:

    store_secrets_end(e);

    return rc;
}


static void
store_secrets_end(store_secrets_edit_t *edit)
{
    (void) close(edit->fd);
    store_secrets_free(edit->secrets);
    store_pages_put(edit, sizeof(store_secrets_edit_t));
}


static int
store_secrets_find(const store_secrets_edit_t *edit, uint8_t id, unsigned *i,
    char why[STORE_WHY_CHARS])
{
    for (*i = 0; *i < edit->secrets->count; (*i)++) {
        if (edit->secrets->lines[*i].id == id) {
            return STORE_OK;
        }
    }

    return store_secrets_refuse(STORE_NOT_FOUND, why, edit->file, "holds no "
                                "key %02x; run sessionctl key list %s", id,
                                edit->file);
}


/*
 * Cuts line i out of the text and, if first is set, puts it before the first
 * secret.  Comments stay where they are.
 */
static int
store_secrets_move(store_secrets_edit_t *edit, unsigned i, int first)
{
    char                  *p;
    size_t                 n, at;
    const char            *from;
    const store_secret_t  *line;

    line = &edit->secrets->lines[i];
    from = edit->secrets->text;
    n = line->end - line->start;

    p = edit->text;
    at = first ? edit->secrets->lines[0].start : line->start;

    memcpy(p, from, at);
    p += at;

    if (first) {
        memcpy(p, from + line->start, n);
        p += n;

        /* the last line of the file may lack its line feed */

        if (p[-1] != '\n') {
            *p++ = '\n';
        }
    }

    memcpy(p, from + at, line->start - at);
    p += line->start - at;

    memcpy(p, from + line->end, edit->secrets->len - line->end);
    p += edit->secrets->len - line->end;

    edit->len = (size_t) (p - edit->text);

    return edit->len > STORE_KEYS_FILE_MAX ? STORE_LIMIT : STORE_OK;
}


static int
store_secret_random(char line[STORE_SECRET_LINE], uint8_t *id)
{
    int      rc;
    size_t   n;
    uint8_t  secret[STORE_SECRET_BYTES];

    rc = store_random(secret, sizeof(secret));

    if (rc == STORE_OK) {
        rc = store_secret_id(secret, sizeof(secret), id);
    }

    if (rc == STORE_OK) {
        n = store_base64_encode(secret, sizeof(secret), line);
        line[n] = '=';
        line[n + 1] = '\n';
    }

    store_wipe(secret, sizeof(secret));

    return rc;
}


/*
 * The text goes to a new file beside, which is synced and takes the place of
 * the old one in one step.  Without an old one (st is NULL) the step is a
 * link(), which fails where a file or a link stands already.
 */
static int
store_secrets_commit(const char *file, const struct stat *st,
    const char *text, size_t len, char why[STORE_WHY_CHARS])
{
    int   fd, rc;
    char  temp[STORE_PATH_CHARS];

    if (snprintf(temp, sizeof(temp), "%s.XXXXXX", file) >= (int) sizeof(temp)) {
        return store_secrets_refuse(ENAMETOOLONG, why, file, "%s",
                                    store_strerror(ENAMETOOLONG));
    }

    fd = mkostemp(temp, O_CLOEXEC);

    if (fd == -1) {
        rc = errno;
        return store_secrets_refuse(rc, why, file, "no file could be made "
                                    "beside it: %s", store_strerror(rc));
    }

    rc = store_secrets_write(fd, st, text, len);

    if (close(fd) == -1 && rc == STORE_OK) {
        rc = errno;
    }

    if (rc == STORE_OK && st == NULL && link(temp, file) == -1) {
        rc = errno;
    }

    if (rc == STORE_OK && st != NULL && rename(temp, file) == -1) {
        rc = errno;
    }

    if (rc != STORE_OK || st == NULL) {
        (void) unlink(temp);
    }

    if (rc == STORE_OK) {
        rc = store_secrets_sync_dir(file);
    }

    if (rc == EEXIST) {
        return store_secrets_refuse(STORE_EXISTS, why, file, "exists already "
                                    "and is left as it is; sessionctl key add "
                                    "makes a further secret");
    }

    if (rc != STORE_OK) {
        return store_secrets_refuse(rc, why, file, "could not be written: %s",
                                    store_strerror(rc));
    }

    return STORE_OK;
}


static int
store_secrets_write(int fd, const struct stat *st, const char *text,
    size_t len)
{
    ssize_t  n;

    /* chown clears bits that chmod sets, so it comes first */

    if (st != NULL && (fchown(fd, st->st_uid, st->st_gid) == -1
                       || fchmod(fd, st->st_mode & 07777) == -1))
    {
        return errno;
    }

    while (len) {
        n = write(fd, text, len);

        if (n == -1) {
            if (errno == EINTR) {
                continue;
            }

            return errno;
        }

        text += n;
        len -= (size_t) n;
    }

    return fsync(fd) == -1 ? errno : STORE_OK;
}


static int
store_secrets_sync_dir(const char *file)
{
    int          fd, rc;
    char         dir[STORE_PATH_CHARS];
    size_t       n;
    const char  *slash;

    slash = strrchr(file, '/');
    n = slash ? (size_t) (slash - file) + 1 : 0;

    memcpy(dir, file, n);
    memcpy(dir + n, ".", 2);

    fd = open(dir, O_RDONLY|O_CLOEXEC|O_DIRECTORY);

    if (fd == -1) {
        return errno;
    }

    rc = fsync(fd) == -1 ? errno : STORE_OK;

    (void) close(fd);

    return rc;
}
