/*
 * secrets.h: the keys file in memory, for secrets.c that reads it,
 * secrets_edit.c that changes it and keyring.c that derives from it.
 */

#ifndef STORE_SECRETS_H_INCLUDED
#define STORE_SECRETS_H_INCLUDED


#include <sys/stat.h>

#include "store.h"


typedef struct {
    uint8_t   id;
    size_t    len;
    size_t    start;            /* of its line in the text */
    size_t    end;              /* behind the line feed, if there is one */
    unsigned  number;           /* of the line, from 1 */
    uint8_t   data[STORE_SECRET_MAX];
} store_secret_t;

/* Allocated with store_pages_get(). */
struct store_secrets_s {
    unsigned        count;
    size_t          len;
    store_secret_t  lines[STORE_SECRETS_MAX];
    char            text[STORE_KEYS_FILE_MAX + 1];
};


/* The open file, checked: regular, ours or root's, closed to others.  Keeps
 * the text.  st tells owner and mode. */
int store_secrets_load(int fd, const char *file, struct stat *st,
    store_secrets_t **secrets, char why[STORE_WHY_CHARS]) STORE_CHECK_RESULT;

/* Key id of a secret. */
int store_secret_id(const uint8_t *data, size_t n, uint8_t *id)
    STORE_CHECK_RESULT;

/* Writes `"FILE": ` and the formatted text into why and returns code. */
int store_secrets_refuse(int code, char why[STORE_WHY_CHARS],
    const char *file, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for an open() that failed with err. */
int store_secrets_absent(int err, const char *file,
    char why[STORE_WHY_CHARS]);


#endif /* STORE_SECRETS_H_INCLUDED */
