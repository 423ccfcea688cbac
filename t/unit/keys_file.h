/*
 * keys_file.h: a temporary folder with a keys file for the unit tests, and
 * secrets that are the same in every run.  Include cmocka.h and its headers
 * first.
 */

#ifndef KEYS_FILE_H_INCLUDED
#define KEYS_FILE_H_INCLUDED


#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store.h"


/* 32 bytes 0x00.., 0x20.., 0x40.. */
#define SECRET_A  "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
#define SECRET_B  "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
#define SECRET_C  "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8="


static char  folder[64];
static char  keys[96];


static void
keys_write(const char *text, size_t n, mode_t mode)
{
    int  fd;

    (void) unlink(keys);

    fd = open(keys, O_WRONLY|O_CREAT|O_EXCL, 0600);
    assert_true(fd != -1);
    assert_int_equal(write(fd, text, n), n);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}


static inline void
keys_text(const char *text)
{
    keys_write(text, strlen(text), 0600);
}


/* The file as it is now, NUL-terminated. */
static inline void
keys_slurp(char *text, size_t size)
{
    FILE    *f;
    size_t   n;

    f = fopen(keys, "r");
    assert_non_null(f);
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}


static int
folder_setup(void **state)
{
    (void) state;

    strcpy(folder, "/tmp/ngx_session.XXXXXX");

    if (mkdtemp(folder) == NULL) {
        return -1;
    }

    snprintf(keys, sizeof(keys), "%s/session.keys", folder);

    return 0;
}


static int
folder_teardown(void **state)
{
    (void) state;
    (void) unlink(keys);

    /* fails, and so shows, when a temporary file was left behind */
    return rmdir(folder);
}


#endif /* KEYS_FILE_H_INCLUDED */
