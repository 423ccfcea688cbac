#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "power_disk.h"


#define POWER_PIECES  8192


typedef struct {
    const power_change_t  *change;
    size_t                 from;
    size_t                 n;
} power_piece_t;


static void power_path(char path[PATH_MAX], const char *folder,
    const char *name);
static void power_leave(power_content_t *content, const power_file_t *file,
    const power_choice_t *choice, uint64_t *state);
static size_t power_tear(const power_file_t *file, power_piece_t *pieces,
    uint64_t *state);
static void power_locks(const power_choice_t *choice, const char *path,
    uint64_t *state);


size_t
power_disk_build(const power_disk_t *disk, const power_choice_t *choice,
    const char *folder)
{
    char             path[PATH_MAX];
    size_t           i, j, names_n, open_changes;
    uint64_t         state;
    power_name_t     names[POWER_FILES];
    power_content_t  content;

    state = choice->seed;
    names_n = disk->names_n;
    memcpy(names, disk->names, names_n * sizeof(power_name_t));

    for (i = 0; i < disk->changes_n; i++) {
        if (choice->left == POWER_ALL
            || (choice->left == POWER_SOME && power_random(&state) % 2))
        {
            power_rename(names, &names_n, &disk->changes[i]);
        }
    }

    open_changes = disk->changes_n;

    /* folders first: one that was named later may be needed sooner */

    for (i = 0; i < names_n; i++) {
        if (names[i].inode == 0) {
            power_path(path, folder, names[i].name);

            if (mkdir(path, 0700) == -1 && errno != ENOENT) {
                power_die(path);
            }
        }
    }

    for (i = 0; i < names_n; i++) {
        for (j = 0; j < disk->files_n; j++) {

            if (names[i].inode == 0
                || disk->files[j]->inode != names[i].inode)
            {
                continue;
            }

            open_changes += disk->files[j]->n;

            power_path(path, folder, names[i].name);
            power_copy(&content, &disk->files[j]->content);
            power_leave(&content, disk->files[j], choice, &state);
            power_save(&content, path);
            power_free(&content);

            power_locks(choice, path, &state);
        }
    }

    return open_changes;
}


static void
power_path(char path[PATH_MAX], const char *folder, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        power_die(name);
    }
}


static void
power_leave(power_content_t *content, const power_file_t *file,
    const power_choice_t *choice, uint64_t *state)
{
    size_t                 i, j, n;
    const power_change_t  *c;
    power_piece_t          swap;
    static power_piece_t   pieces[POWER_PIECES];

    if (choice->left == POWER_NONE) {
        return;
    }

    if (choice->left == POWER_ALL) {

        for (n = 0; n < file->n; n++) {
            pieces[n].change = &file->pending[n];
            pieces[n].from = 0;
            pieces[n].n = file->pending[n].n;
        }

    } else {
        n = power_tear(file, pieces, state);

        for (i = n; i > 1; i--) {
            j = power_random(state) % i;
            swap = pieces[i - 1];
            pieces[i - 1] = pieces[j];
            pieces[j] = swap;
        }
    }

    for (i = 0; i < n; i++) {
        c = pieces[i].change;

        if (c->data) {
            power_put(content, c->at + (int64_t) pieces[i].from,
                      c->data + pieces[i].from, pieces[i].n);

        } else {
            power_resize(content, (size_t) c->at);
        }
    }
}


/* Which parts of what is not synced are there: whole writes, pages, sectors,
 * or of each write as many bytes as came before the power went. */

static size_t
power_tear(const power_file_t *file, power_piece_t *pieces, uint64_t *state)
{
    size_t                 i, from, n, step;
    unsigned               border, chance;
    const power_change_t  *c;

    border = (unsigned) (power_random(state) % 4);
    chance = (unsigned) (power_random(state) % 3);
    chance = chance == 0 ? 10 : chance == 1 ? 50 : 90;

    for (i = 0, n = 0; i < file->n; i++) {
        c = &file->pending[i];

        for (from = 0; from < c->n || (from == 0 && c->data == NULL);
             from += step)
        {
            step = c->data == NULL ? 1 : c->n - from;

            if (border == 1 || border == 2) {
                step = border == 1 ? POWER_PAGE : POWER_SECTOR;
                step -= ((size_t) c->at + from) % step;
                step = step < c->n - from || c->data == NULL ? step
                                                             : c->n - from;
            }

            if (power_random(state) % 100 >= chance) {
                continue;
            }

            if (n == POWER_PIECES) {
                power_die("pieces");
            }

            pieces[n].change = c;
            pieces[n].from = from;
            pieces[n].n = step;

            if (border == 3 && c->data) {
                pieces[n].n = power_random(state) % (step + 1);
            }

            n++;
        }
    }

    return n;
}


/* Lock files: none, an empty one, one as it was, a part of it. */

static void
power_locks(const power_choice_t *choice, const char *path, uint64_t *state)
{
    int          fd;
    char         from[PATH_MAX], to[PATH_MAX + 8];
    size_t       n, kind;
    ssize_t      got;
    static char  bytes[1 << 20];

    n = strlen(path);

    if (choice->locks == NULL || choice->left != POWER_SOME || n < 4
        || strcmp(path + n - 4, ".mdb") != 0)
    {
        return;
    }

    kind = power_random(state) % 4;

    if (kind == 0) {
        return;
    }

    (void) snprintf(from, sizeof(from), "%s%s-lock", choice->locks,
                    strrchr(path, '/'));
    (void) snprintf(to, sizeof(to), "%s-lock", path);

    fd = open(from, O_RDONLY | O_CLOEXEC);
    got = fd == -1 ? 0 : read(fd, bytes, sizeof(bytes));
    (void) close(fd);

    n = got > 0 ? (size_t) got : 0;
    n = kind == 1 ? 0 : kind == 2 ? n : power_random(state) % (n + 1);

    fd = open(to, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);

    if (fd == -1) {
        return;                 /* its folder is not there */
    }

    if (write(fd, bytes, n) != (ssize_t) n) {
        power_die(to);
    }

    (void) close(fd);
}


int
power_disk_same(const power_disk_t *disk, const char *folder)
{
    char             path[PATH_MAX], command[PATH_MAX * 3];
    power_choice_t   all = { POWER_ALL, 0, NULL };

    (void) snprintf(path, sizeof(path), "%s.same", folder);

    if (mkdir(path, 0700) == -1) {
        power_die(path);
    }

    (void) power_disk_build(disk, &all, path);
    (void) snprintf(command, sizeof(command),
                    "diff -r -x '*-lock' '%s' '%s' && rm -r '%s'", folder,
                    path, path);

    return system(command) == 0;
}
