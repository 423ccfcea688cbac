/*
 * power_cut.h: what the parts of power_cut share.  Functions that can fail
 * end the program with a message: it is a tool of tests.
 */

#ifndef POWER_CUT_H_INCLUDED
#define POWER_CUT_H_INCLUDED


#include <stddef.h>
#include <stdint.h>

#include "power_log.h"
#include "store.h"


typedef struct {
    const power_record_t  *head;
    const char            *name;        /* not terminated */
    const uint8_t         *data;
} power_entry_t;

typedef struct {
    power_entry_t  *entries;
    size_t          n;
} power_log_t;

typedef struct power_disk_s  power_disk_t;
typedef struct power_facts_s  power_facts_t;


/* What of the writes that no sync has confirmed is on the disk. */
typedef enum {
    POWER_NONE = 0,
    POWER_ALL,
    POWER_SOME                  /* any, in any order, torn */
} power_left_t;

typedef struct {
    power_left_t  left;
    uint64_t      seed;         /* of POWER_SOME */
    const char   *locks;        /* folder with lock files to leave behind */
} power_choice_t;


/* power_log.c */

void power_log_read(const char *file, power_log_t *log);
uint64_t power_random(uint64_t *state);
/* Says what failed, with errno, and ends. */
void power_die(const char *what) __attribute__((noreturn));


/* power_disk.c, power_image.c: the files as a disk has them */

power_disk_t *power_disk_new(const char *base);
/* One more record; what is said to be synced from now on is on the disk. */
void power_disk_step(power_disk_t *disk, const power_entry_t *entry);
/* Builds the files in a folder that is empty.  Returns the number of writes
 * and names that are not synced. */
size_t power_disk_build(const power_disk_t *disk, const power_choice_t *choice,
    const char *folder);
/* After the last record: 1 if the files are those of the folder. */
int power_disk_same(const power_disk_t *disk, const char *folder);


/* power_facts.c, power_hold.c: what was tried, what was answered, and what
 * must hold */

typedef struct {
    const char  *store;         /* in the folder */
    const char  *dump;          /* of a restore under way, or NULL */
    const char  *backup;        /* a file in the folder, or NULL */
} power_world_t;

power_facts_t *power_facts_read(const power_log_t *log);
/* 1 if the cut in front of this record left what it must in the folder; why,
 * if it did not.  Opens the store, so once in a process. */
int power_hold(const power_facts_t *facts, size_t cut,
    const power_world_t *world, const char *folder, char *why, size_t room);


/* power_load.c: changes of all kinds, with notes in the log */

int power_load(int argc, char **argv);
int power_copy_feed(int argc, char **argv);


#endif /* POWER_CUT_H_INCLUDED */
