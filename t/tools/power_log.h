/*
 * power_log.h: what record_disk.c writes down and power_cut.c replays: each
 * call that changes a file below a folder, in order, with the notes of who
 * drives the load between them.
 *
 * A record is this head, the name, the data.  Perl packs one as
 * 'LLQQqqLL' with nothing in between.
 */

#ifndef POWER_LOG_H_INCLUDED
#define POWER_LOG_H_INCLUDED


#include <stdint.h>


#define POWER_MAGIC     0x52574f50U
#define POWER_NAME_MAX  512

typedef enum {
    POWER_NOTE = 1,             /* data: what was tried, what was answered */

    POWER_WRITE,                /* begins: offset, data */
    POWER_WRITTEN,              /* has ended: result */
    POWER_TRUNCATE,             /* begins: offset is the new size */
    POWER_TRUNCATED,

    /* begins; part: the id of the one write that is meant, 0: all */
    POWER_SYNC,
    POWER_SYNCED,               /* has ended: result */

    POWER_CREATE,               /* the name is there now, of this inode */
    POWER_MKDIR,
    POWER_LINK,                 /* a further name */
    POWER_RENAME,               /* data: the name before */
    POWER_UNLINK,
    POWER_UNSEEN                /* something that no replay can know */
} power_type_t;

typedef struct {
    uint32_t  magic;
    uint32_t  type;
    uint64_t  id;               /* of a call; its two records have the same */
    uint64_t  inode;
    int64_t   offset;
    int64_t   result;           /* or part */
    uint32_t  name_len;
    uint32_t  data_len;
} power_record_t;


#endif /* POWER_LOG_H_INCLUDED */
