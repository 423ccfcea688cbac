#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "target.h"


static int cli_target_name(cli_target_t *target);
static int cli_target_sync_dir(const char *file);


int
cli_target_open(cli_target_t *target, const char *file)
{
    int          n;
    struct stat  st;

    target->file = file;

    if (lstat(file, &st) == 0) {
        return cli_refuse(STORE_EXISTS, "\"%s\"", file);
    }

    n = snprintf(target->temp, sizeof(target->temp), "%s.%ld.part", file,
                 (long) getpid());

    if (n < 0 || n >= (int) sizeof(target->temp)) {
        return cli_refuse(ENAMETOOLONG, "\"%s\"", file);
    }

    target->fd = open(target->temp,
                      O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC, 0600);

    if (target->fd == -1) {
        return cli_refuse(errno, "\"%s\"", target->temp);
    }

    return CLI_OK;
}


int
cli_target_close(cli_target_t *target, int rc)
{
    int  err;

    err = 0;

    if (rc == CLI_OK && fsync(target->fd) == -1) {
        err = errno;
    }

    if (close(target->fd) == -1 && err == 0) {
        err = errno;
    }

    if (rc == CLI_OK && err == 0) {
        err = cli_target_name(target);
    }

    (void) unlink(target->temp);

    if (err) {
        return cli_refuse(err, "\"%s\"", target->file);
    }

    return rc;
}


/* A link and not a rename: it fails where a file has appeared meanwhile. */
static int
cli_target_name(cli_target_t *target)
{
    if (link(target->temp, target->file) == -1) {
        return errno;
    }

    return cli_target_sync_dir(target->file);
}


static int
cli_target_sync_dir(const char *file)
{
    int          fd, rc;
    char         dir[CLI_TARGET_CHARS];
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

    rc = fsync(fd) == -1 ? errno : 0;

    (void) close(fd);

    return rc;
}
