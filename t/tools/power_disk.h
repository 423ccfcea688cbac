/*
 * power_disk.h: what a disk has of the recorded files, and what may be on it
 * besides, because it was written and no sync has confirmed it.
 */

#ifndef POWER_DISK_H_INCLUDED
#define POWER_DISK_H_INCLUDED


#include <limits.h>

#include "power_cut.h"


#define POWER_PAGE      4096
#define POWER_SECTOR    512
#define POWER_PENDING   512
#define POWER_FILES     64


/* A write or a change of size that has begun, and what is known of it. */
typedef struct {
    uint64_t        id;
    int64_t         at;
    const uint8_t  *data;       /* NULL: a size */
    size_t          n;
    size_t          ended;      /* number of the record; 0: it has not */
} power_change_t;

typedef struct {
    uint8_t  **pages;           /* NULL: zeros */
    size_t     room;
    size_t     size;
} power_content_t;

typedef struct {
    uint64_t         inode;
    power_content_t  content;   /* on the disk */
    power_change_t   pending[POWER_PENDING];
    size_t           n;
} power_file_t;

typedef struct {
    char           name[POWER_NAME_MAX];
    char           before[POWER_NAME_MAX];
    power_type_t   type;
    uint64_t       inode;
} power_entry_change_t;

typedef struct {
    char      name[POWER_NAME_MAX];
    uint64_t  inode;            /* 0: a folder */
} power_name_t;

/* A sync that has begun. */
typedef struct {
    uint64_t  id;
    size_t    began;            /* number of its record */
} power_pending_sync_t;

struct power_disk_s {
    power_file_t          *files[POWER_FILES];
    size_t                 files_n;

    power_name_t           names[POWER_FILES];
    size_t                 names_n;
    power_entry_change_t   changes[POWER_FILES];
    size_t                 changes_ended[POWER_FILES];
    size_t                 changes_n;

    power_pending_sync_t   syncs[POWER_FILES];
    size_t                 syncs_n;

    size_t                 at;          /* records so far */
};


/* power_content.c: bytes of a file; pages that were never written are not
 * there */
void power_resize(power_content_t *content, size_t size);
void power_put(power_content_t *content, int64_t at, const uint8_t *data,
    size_t n);
void power_copy(power_content_t *to, const power_content_t *from);
void power_free(power_content_t *content);
void power_save(const power_content_t *content, const char *path);

/* power_disk.c: one change of a folder */
void power_rename(power_name_t *names, size_t *n,
    const power_entry_change_t *change);


#endif /* POWER_DISK_H_INCLUDED */
