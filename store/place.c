#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"


/* of the names that store_look() looks for; LMDB makes the others */
#define STORE_LOOK_NEEDED  4


static int store_place_mode(const char *path, const struct stat *st,
    char *why);
static int store_place_stat(const store_place_t *place, const char *name,
    int needed, char *why);


int
store_place_open(store_place_t *place, const char *path, char *why)
{
    int          rc;
    struct stat  st;

    rc = store_place_directory(place, path, &st, why);
    if (rc != STORE_OK) {
        return rc;
    }

    if (st.st_uid != geteuid()) {
        store_why(why, place->path, "belongs to uid %u and not to uid %u, who"
                  " opens it", (unsigned) st.st_uid, (unsigned) geteuid());
        rc = STORE_UNSAFE;
        goto failed;
    }

    rc = store_filesystem_check(place->path, place->dir, why);
    if (rc != STORE_OK) {
        goto failed;
    }

    return STORE_OK;

failed:

    store_place_close(place);

    return rc;
}


int
store_place_directory(store_place_t *place, const char *path, struct stat *st,
    char *why)
{
    int  rc;

    place->dir = -1;

    rc = store_place_path(place, path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    place->dir = open(place->path,
                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (place->dir == -1) {

        if (errno == ENOENT) {
            return store_place_missing(place->path, why);
        }

        if (errno == ENOTDIR || errno == ELOOP) {
            store_why(why, place->path, "not a directory");
            return STORE_UNSAFE;
        }

        rc = errno;
        store_why_failed(why, place->path, NULL, rc);
        return rc;
    }

    if (fstat(place->dir, st) == -1) {
        rc = errno;
        store_why(why, place->path, "%s", store_strerror(rc));
        goto failed;
    }

    rc = store_place_mode(place->path, st, why);
    if (rc != STORE_OK) {
        goto failed;
    }

    return STORE_OK;

failed:

    store_place_close(place);

    return rc;
}


void
store_place_close(store_place_t *place)
{
    if (place->dir != -1) {
        (void) close(place->dir);
        place->dir = -1;
    }
}


/* A slash at the end would make lstat() and O_NOFOLLOW follow a link. */
int
store_place_path(store_place_t *place, const char *path, char *why)
{
    size_t  n;

    n = path ? strlen(path) : 0;

    while (n > 1 && path[n - 1] == '/') {
        n--;
    }

    if (n == 0 || n > STORE_PATH_MAX) {
        store_why(why, n ? "" : path, "the path of a store is 1 to %d bytes",
                  STORE_PATH_MAX);
        return STORE_INVALID;
    }

    memcpy(place->path, path, n);
    place->path[n] = '\0';

    return STORE_OK;
}


static int
store_place_mode(const char *path, const struct stat *st, char *why)
{
    if (!S_ISDIR(st->st_mode)) {
        store_why(why, path, "not a directory");
        return STORE_UNSAFE;
    }

    if ((st->st_mode & 07777) != 0700) {
        store_why(why, path, "mode is %04o; run chmod 0700 %s",
                  (unsigned) st->st_mode & 07777, path);
        return STORE_UNSAFE;
    }

    return STORE_OK;
}


/* What LMDB makes itself may be missing: a backup comes without it. */
int
store_place_check(const store_place_t *place, char *why)
{
    int     rc;
    size_t  i;

    static const struct {
        const char  *name;
        int          needed;
    } files[] = {
        { STORE_FILE_OWNER, 1 },
        { STORE_FILE_LOCK, 1 },
        { STORE_FILE_SESSIONS, 1 },
        { STORE_FILE_EVENTS, 1 },
        { STORE_FILE_SESSIONS "-lock", 0 },
        { STORE_FILE_EVENTS "-lock", 0 },
    };

    for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        rc = store_place_stat(place, files[i].name, files[i].needed, why);
        if (rc != STORE_OK) {
            return rc;
        }
    }

    return STORE_OK;
}


static int
store_place_stat(const store_place_t *place, const char *name, int needed,
    char *why)
{
    int          rc;
    struct stat  st;

    if (fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1) {

        if (errno != ENOENT) {
            rc = errno;
            store_why(why, place->path, "%s: %s", name, store_strerror(rc));
            return rc;
        }

        if (!needed) {
            return STORE_OK;
        }

        if (fstatat(place->dir, STORE_FILE_NEWER, &st, AT_SYMLINK_NOFOLLOW)
            == 0)
        {
            store_why(why, place->path, "made by a newer version");
            return STORE_VERSION;
        }

        return store_place_missing(place->path, why);
    }

    if (!S_ISREG(st.st_mode)) {
        store_why(why, place->path, "%s is not a regular file", name);
        return STORE_UNSAFE;
    }

    if ((st.st_mode & 07777) != 0600) {
        store_why(why, place->path, "mode of %s is %04o; run chmod 0600 %s/%s",
                  name, (unsigned) st.st_mode & 07777, place->path, name);
        return STORE_UNSAFE;
    }

    if (st.st_uid != geteuid()) {
        store_why(why, place->path, "%s belongs to uid %u and not to uid %u",
                  name, (unsigned) st.st_uid, (unsigned) geteuid());
        return STORE_UNSAFE;
    }

    return STORE_OK;
}


int
store_place_missing(const char *path, char *why)
{
    store_why(why, path, "store missing: run sessionctl init %s", path);

    return STORE_MISSING;
}


int
store_place_file(const store_place_t *place, const char *name, int flags,
    int *fd, char *why)
{
    int          rc;
    struct stat  st;

    *fd = openat(place->dir, name,
                 O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | flags, 0600);

    if (*fd == -1) {

        if (errno == ENOENT) {
            return store_place_missing(place->path, why);
        }

        rc = errno;
        store_why_failed(why, place->path, name, rc);
        return rc == ELOOP ? STORE_UNSAFE : rc;
    }

    /* a umask takes from the mode that was asked for */
    if ((flags & O_CREAT) && fstat(*fd, &st) == 0 && st.st_size == 0) {
        (void) fchmod(*fd, 0600);
    }

    return STORE_OK;
}


/*
 * lstat() and statfs() only.  The directory is named by its path here and not
 * held open: nginx -t runs as root and must not so much as open what belongs
 * to somebody else.
 */
int
store_look(const char *path, char why[STORE_WHY_CHARS])
{
    int            rc;
    char           name[STORE_PATH_MAX + 32];
    size_t         i;
    struct stat    st, file;
    store_place_t  place;

    static const char *const  names[] = {
        STORE_FILE_OWNER, STORE_FILE_LOCK, STORE_FILE_SESSIONS,
        STORE_FILE_EVENTS, STORE_FILE_SESSIONS "-lock",
        STORE_FILE_EVENTS "-lock"
    };

    rc = store_place_path(&place, path, why);
    if (rc != STORE_OK) {
        return rc;
    }

    if (lstat(place.path, &st) == -1) {

        if (errno == ENOENT || errno == ENOTDIR) {
            return store_place_missing(place.path, why);
        }

        rc = errno;
        store_why(why, place.path, "%s", store_strerror(rc));
        return rc;
    }

    rc = store_place_mode(place.path, &st, why);
    if (rc != STORE_OK) {
        return rc;
    }

    rc = store_filesystem_check(place.path, -1, why);
    if (rc != STORE_OK) {
        return rc;
    }

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void) snprintf(name, sizeof(name), "%s/%s", place.path, names[i]);

        if (lstat(name, &file) == -1) {

            if (errno == ENOENT && i >= STORE_LOOK_NEEDED) {
                continue;
            }

            if (errno == ENOENT) {
                return store_place_missing(place.path, why);
            }

            rc = errno;
            store_why(why, place.path, "%s", store_strerror(rc));
            return rc;
        }

        if (!S_ISREG(file.st_mode) || (file.st_mode & 07777) != 0600
            || file.st_uid != st.st_uid)
        {
            store_why(why, place.path, "%s must be a regular file of mode 0600"
                      " that belongs to the owner of the directory", names[i]);
            return STORE_UNSAFE;
        }
    }

    return STORE_OK;
}


void
store_why(char *why, const char *path, const char *format, ...)
{
    int      n;
    va_list  args;

    n = snprintf(why, STORE_WHY_CHARS, "\"%s\": ", path ? path : "");

    if (n < 0 || n >= STORE_WHY_CHARS) {
        return;
    }

    va_start(args, format);
    (void) vsnprintf(why + n, (size_t) (STORE_WHY_CHARS - n), format, args);
    va_end(args);
}


/*
 * Both come from limits that were set for another program: a map takes 64 GiB
 * of addresses, whatever is in it.
 */
void
store_why_failed(char *why, const char *path, const char *name, int rc)
{
    char           hint[160];
    const char    *text;
    struct rlimit  limit;

    hint[0] = '\0';
    text = store_strerror(rc);

    if (rc == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        (void) snprintf(hint, sizeof(hint), "; RLIMIT_NOFILE is %llu: raise it"
                        " with ulimit -n, LimitNOFILE= or"
                        " worker_rlimit_nofile",
                        (unsigned long long) limit.rlim_cur);

    } else if (rc == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0
               && limit.rlim_cur != RLIM_INFINITY)
    {
        (void) snprintf(hint, sizeof(hint), "; RLIMIT_AS is %llu bytes, and a"
                        " store needs 128 GiB of addresses: raise it with"
                        " ulimit -v or LimitAS=",
                        (unsigned long long) limit.rlim_cur);
    }

    store_why(why, path, "%s%s%s%s", name ? name : "", name ? ": " : "",
              text, hint);
}
