/*
 * place.h: the store's directory and the files in it, looked at and locked
 * without following links.  Knows nothing of LMDB.
 *
 *   open.lock         exclusive flock: one opener at a time
 *   owner             shared flock for as long as a process has the store
 *                     open; says who may, and which files (owner.c)
 *   sessions.v1.mdb   and sessions.v1.mdb-lock, made by LMDB
 *   events.v1.mdb     and events.v1.mdb-lock
 *
 * Lock order: open.lock, owner, LMDB's own.
 *
 * Every function that can fail writes a whole message into why, which has
 * STORE_WHY_CHARS.
 */

#ifndef STORE_PLACE_H_INCLUDED
#define STORE_PLACE_H_INCLUDED


#include <sys/stat.h>

#include "store.h"


#define STORE_FILE_LOCK      "open.lock"
#define STORE_FILE_OWNER     "owner"
#define STORE_FILE_SESSIONS  "sessions.v1.mdb"
#define STORE_FILE_EVENTS    "events.v1.mdb"
#define STORE_FILE_NEWER     "sessions.v2.mdb"

#define STORE_PATH_MAX       3800       /* leaves room for a file name */
#define STORE_OWNER_CHARS    320        /* of the owner file */


typedef struct {
    int   dir;
    char  path[STORE_PATH_MAX + 1];     /* without slashes at its end */
} store_place_t;

/* The owner file, held. */
typedef struct {
    int     fd;                         /* -1: not */
    size_t  n;
    size_t  who;                        /* length of what names no file */
    char    text[STORE_OWNER_CHARS];    /* what stands in it */
} store_owner_t;


/* Sets the path alone. */
int store_place_path(store_place_t *place, const char *path,
    char *why) STORE_CHECK_RESULT;

/* Opens the directory, whoever owns it: real, 0700. */
int store_place_directory(store_place_t *place, const char *path,
    struct stat *st, char *why) STORE_CHECK_RESULT;
/* The same, ours and not on a network file system. */
int store_place_open(store_place_t *place, const char *path,
    char *why) STORE_CHECK_RESULT;
void store_place_close(store_place_t *place);

/* filesystem.c: STORE_UNSAFE for one of a network.  dir may be -1: by path. */
int store_filesystem_check(const char *path, int dir, char *why)
    STORE_CHECK_RESULT;

/* All files: there, regular, 0600, ours. */
int store_place_check(const store_place_t *place, char *why)
    STORE_CHECK_RESULT;

/* Opens one file to read and write; flags may add O_CREAT (0600). */
int store_place_file(const store_place_t *place, const char *name, int flags,
    int *fd, char *why) STORE_CHECK_RESULT;

/* flock() with a deadline.  STORE_BUSY when it passes. */
int store_place_lock(int fd, int operation, int wait_ms) STORE_CHECK_RESULT;

/* Takes open.lock; close *fd to let go. */
int store_place_enter(const store_place_t *place, int flags, int wait_ms,
    int *fd, char *why) STORE_CHECK_RESULT;

/* Takes the owner file for as long as owner->fd is open; open.lock must be
 * held. */
int store_owner_take(const store_place_t *place, int wait_ms,
    store_owner_t *owner, char *why) STORE_CHECK_RESULT;
/* Creates and fills it. */
int store_owner_create(const store_place_t *place, char *why)
    STORE_CHECK_RESULT;
/* The same alone: STORE_BUSY while any other process has the store open. */
int store_owner_claim(const store_place_t *place, store_owner_t *owner,
    char *why) STORE_CHECK_RESULT;
/* Makes what is missing of LMDB's lock files.  Held alone. */
int store_owner_settle(const store_place_t *place, char *why)
    STORE_CHECK_RESULT;
/* 0 when the text has changed, or the files at the path; 1 also where that
 * cannot be told. */
int store_owner_holds(const store_owner_t *owner, const char *path);

/* For good, with no way back. */
int store_privileges_drop(uid_t uid, gid_t gid) STORE_CHECK_RESULT;

/* Says so and returns STORE_MISSING. */
int store_place_missing(const char *path, char *why)
    STORE_CHECK_RESULT;

/* "<path>": <name>: <rc in words>, and which limit is behind it. */
void store_why_failed(char *why, const char *path, const char *name, int rc);

/* "<path>": <what>, cut at the end of the buffer. */
__attribute__((format(printf, 3, 4)))
void store_why(char *why, const char *path,
    const char *format, ...);


#endif /* STORE_PLACE_H_INCLUDED */
