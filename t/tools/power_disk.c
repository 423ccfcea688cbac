#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "power_disk.h"


static void power_base(power_disk_t *disk, const char *base,
    const char *below);
static power_file_t *power_file(power_disk_t *disk, uint64_t inode);
static void power_sync(power_disk_t *disk, const power_entry_t *entry);
static void power_sync_file(power_file_t *file, size_t began, uint64_t part);
static size_t power_sync_write(power_file_t *file, const power_change_t *c,
    int64_t from, int64_t to, power_change_t open[2]);
static void power_sync_folder(power_disk_t *disk, const char *folder,
    size_t began);


power_disk_t *
power_disk_new(const char *base)
{
    power_disk_t  *disk;

    disk = calloc(1, sizeof(power_disk_t));

    if (disk == NULL) {
        power_die("memory");
    }

    if (base) {
        power_base(disk, base, "");
    }

    return disk;
}


/* What was there before the first record, by its inodes at that time, which
 * are told by the log's first record of the name. */

static void
power_base(power_disk_t *disk, const char *base, const char *below)
{
    int             fd;
    DIR            *dir;
    char            path[PATH_MAX], name[POWER_NAME_MAX];
    size_t          at;
    uint8_t         page[POWER_PAGE], zeros[POWER_PAGE] = { 0 };
    ssize_t         n;
    struct stat     st;
    power_file_t   *file;
    struct dirent  *entry;

    (void) snprintf(path, sizeof(path), "%s/%s", base, below);
    dir = opendir(path);

    if (dir == NULL) {
        power_die(path);
    }

    while ((entry = readdir(dir)) != NULL) {

        if (entry->d_name[0] == '.' || strstr(entry->d_name, "-lock")) {
            continue;
        }

        if (snprintf(name, sizeof(name), "%s%s%s", below, *below ? "/" : "",
                     entry->d_name) >= (int) sizeof(name)
            || snprintf(path, sizeof(path), "%s/%s", base, name)
               >= (int) sizeof(path)
            || lstat(path, &st) == -1)
        {
            power_die(entry->d_name);
        }

        strcpy(disk->names[disk->names_n].name, name);

        if (S_ISDIR(st.st_mode)) {
            disk->names_n++;
            power_base(disk, base, name);
            continue;
        }

        /* until the log says which: a number that no file has */

        file = power_file(disk, UINT64_MAX - disk->names_n);
        disk->names[disk->names_n++].inode = file->inode;

        fd = open(path, O_RDONLY | O_CLOEXEC);

        power_resize(&file->content, (size_t) st.st_size);

        for (at = 0; (n = read(fd, page, sizeof(page))) > 0; at += (size_t) n)
        {
            if (memcmp(page, zeros, (size_t) n) != 0) {
                power_put(&file->content, (int64_t) at, page, (size_t) n);
            }
        }

        (void) close(fd);
    }

    (void) closedir(dir);
}


static power_file_t *
power_file(power_disk_t *disk, uint64_t inode)
{
    size_t         i;
    power_file_t  *file;

    for (i = 0; i < disk->files_n; i++) {
        if (disk->files[i]->inode == inode) {
            return disk->files[i];
        }
    }

    file = calloc(1, sizeof(power_file_t));

    if (file == NULL || disk->files_n == POWER_FILES) {
        power_die("files");
    }

    file->inode = inode;
    disk->files[disk->files_n++] = file;

    return file;
}


/* The file of a record; one that was there before gets its number now. */

static power_file_t *
power_entry_file(power_disk_t *disk, const power_entry_t *entry)
{
    size_t  i, j;

    for (i = 0; i < disk->names_n; i++) {

        if (disk->names[i].inode < UINT64_MAX - POWER_FILES
            || strlen(disk->names[i].name) != entry->head->name_len
            || memcmp(disk->names[i].name, entry->name, entry->head->name_len)
               != 0)
        {
            continue;
        }

        for (j = 0; j < disk->files_n; j++) {
            if (disk->files[j]->inode == disk->names[i].inode) {
                disk->files[j]->inode = entry->head->inode;
            }
        }

        disk->names[i].inode = entry->head->inode;
    }

    return power_file(disk, entry->head->inode);
}


static void
power_change(power_disk_t *disk, const power_entry_t *entry)
{
    power_file_t    *file;
    power_change_t  *change;

    file = power_entry_file(disk, entry);

    if (file->n == POWER_PENDING) {
        power_die("too many changes without a sync");
    }

    change = &file->pending[file->n++];
    change->id = entry->head->id;
    change->at = entry->head->offset;
    change->data = entry->head->type == POWER_WRITE ? entry->data : NULL;
    change->n = entry->head->data_len;
    change->ended = 0;
}


/* What a call that failed has written nobody knows: it stays one that may be
 * there or not. */

static void
power_changed(power_disk_t *disk, const power_entry_t *entry)
{
    size_t         i;
    power_file_t  *file;

    file = power_entry_file(disk, entry);

    for (i = 0; i < file->n; i++) {
        if (file->pending[i].id == entry->head->id) {
            file->pending[i].ended = disk->at;
        }
    }
}


static void
power_named(power_disk_t *disk, const power_entry_t *entry)
{
    power_file_t          *file;
    power_entry_change_t  *change;

    if (disk->changes_n == POWER_FILES) {
        power_die("too many names without a sync");
    }

    disk->changes_ended[disk->changes_n] = disk->at;
    change = &disk->changes[disk->changes_n++];
    memset(change, 0, sizeof(*change));
    memcpy(change->name, entry->name, entry->head->name_len);
    memcpy(change->before, entry->data, entry->head->data_len);
    change->type = entry->head->type;
    change->inode = entry->head->inode;

    if (change->type == POWER_CREATE) {

        /* numbers are used again */

        file = power_file(disk, change->inode);
        power_free(&file->content);
        file->n = 0;
    }
}


void
power_disk_step(power_disk_t *disk, const power_entry_t *entry)
{
    disk->at++;

    switch (entry->head->type) {

    case POWER_WRITE:
    case POWER_TRUNCATE:
        power_change(disk, entry);
        break;

    case POWER_WRITTEN:
    case POWER_TRUNCATED:
        power_changed(disk, entry);
        break;

    case POWER_SYNC:

        if (disk->syncs_n == POWER_FILES) {
            power_die("too many syncs at once");
        }

        disk->syncs[disk->syncs_n].id = entry->head->id;
        disk->syncs[disk->syncs_n++].began = disk->at;
        break;

    case POWER_SYNCED:
        power_sync(disk, entry);
        break;

    case POWER_CREATE:
    case POWER_MKDIR:
    case POWER_LINK:
    case POWER_RENAME:
    case POWER_UNLINK:
        power_named(disk, entry);
        break;

    case POWER_UNSEEN:
        errno = EINVAL;
        power_die("a file is written through a map");
        break;
    }
}


static void
power_sync(power_disk_t *disk, const power_entry_t *entry)
{
    char           folder[POWER_NAME_MAX];
    size_t         i, began;
    power_file_t  *file;

    for (i = 0; i < disk->syncs_n; i++) {
        if (disk->syncs[i].id == entry->head->id) {
            break;
        }
    }

    if (i == disk->syncs_n) {
        errno = EINVAL;
        power_die("a sync that has not begun");
    }

    began = disk->syncs[i].began;
    disk->syncs[i] = disk->syncs[--disk->syncs_n];

    if (entry->head->result != 0) {
        return;
    }

    for (i = 0; i < disk->files_n; i++) {
        file = disk->files[i];

        if (file->inode == entry->head->inode) {
            power_sync_file(file, began, (uint64_t) entry->head->offset);
            return;
        }
    }

    memcpy(folder, entry->name, entry->head->name_len);
    folder[entry->head->name_len] = '\0';
    power_sync_folder(disk, folder, began);
}


/* A sync of a part syncs the size as well, as O_DSYNC does. */

static void
power_sync_file(power_file_t *file, size_t began, uint64_t part)
{
    size_t           i, kept;
    int64_t          from, to;
    power_change_t  *c, open[POWER_PENDING];

    from = 0;
    to = INT64_MAX;

    for (i = 0; part && i < file->n; i++) {
        c = &file->pending[i];

        if (c->id == part) {
            from = c->at / POWER_PAGE * POWER_PAGE;
            to = (c->at + (int64_t) c->n + POWER_PAGE - 1) / POWER_PAGE
                 * POWER_PAGE;
        }
    }

    for (i = 0, kept = 0; i < file->n; i++) {
        c = &file->pending[i];

        if (kept + 2 > POWER_PENDING) {
            power_die("too many changes without a sync");
        }

        if (c->ended == 0 || c->ended > began) {
            open[kept++] = *c;

        } else if (c->data) {
            kept += power_sync_write(file, c, from, to, &open[kept]);

        } else {
            power_resize(&file->content, (size_t) c->at);
        }
    }

    memcpy(file->pending, open, kept * sizeof(power_change_t));
    file->n = kept;
}


/* What of a write lies in the pages that are synced; the rest, in front of
 * them and behind, stays open. */

static size_t
power_sync_write(power_file_t *file, const power_change_t *c, int64_t from,
    int64_t to, power_change_t open[2])
{
    size_t   n;
    int64_t  end;

    n = 0;
    end = c->at + (int64_t) c->n;

    if (c->at < from) {
        open[n] = *c;
        open[n++].n = (size_t) ((end < from ? end : from) - c->at);
    }

    if (end > to) {
        open[n] = *c;
        open[n].at = c->at > to ? c->at : to;
        open[n].data = c->data + (open[n].at - c->at);
        open[n].n = (size_t) (end - open[n].at);
        n++;
    }

    from = c->at > from ? c->at : from;
    to = end < to ? end : to;

    if (from < to) {
        power_put(&file->content, from, c->data + (from - c->at),
                  (size_t) (to - from));
    }

    return n;
}


static int
power_is_in(const char *name, const char *folder)
{
    size_t       n;
    const char  *slash;

    slash = strrchr(name, '/');
    n = slash ? (size_t) (slash - name) : 0;

    return strlen(folder) == n && memcmp(name, folder, n) == 0;
}


static void
power_sync_folder(power_disk_t *disk, const char *folder, size_t began)
{
    size_t  i, kept;

    for (i = 0, kept = 0; i < disk->changes_n; i++) {

        if (disk->changes_ended[i] > began
            || !power_is_in(disk->changes[i].name, folder))
        {
            disk->changes_ended[kept] = disk->changes_ended[i];
            disk->changes[kept++] = disk->changes[i];

        } else {
            power_rename(disk->names, &disk->names_n, &disk->changes[i]);
        }
    }

    disk->changes_n = kept;
}


/* One change of a folder. */

void
power_rename(power_name_t *names, size_t *n,
    const power_entry_change_t *change)
{
    size_t  i, kept;

    for (i = 0, kept = 0; i < *n; i++) {
        if (strcmp(names[i].name, change->name) != 0
            && (change->type != POWER_RENAME
                || strcmp(names[i].name, change->before) != 0))
        {
            names[kept++] = names[i];
        }
    }

    *n = kept;

    if (change->type != POWER_UNLINK) {

        if (*n == POWER_FILES) {
            power_die("names");
        }

        strcpy(names[*n].name, change->name);
        names[(*n)++].inode = change->inode;
    }
}
