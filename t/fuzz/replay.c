/*
 * replay.c: runs a driver over files, and over the files of folders, without
 * libFuzzer.  Each input is copied to a heap block of exactly its size.
 */

#include <dirent.h>
#include <errno.h>
#include <signal.h>

#include "fuzz.h"


#define REPLAY_SIZE_MAX  (16 << 20)


const char *__asan_default_options(void);

#pragma weak LLVMFuzzerInitialize


/* for the signal handler, which has no other way to know */
static char  replay_path[4096];


const char *
__asan_default_options(void)
{
    return "abort_on_error=1:detect_leaks=1";
}


static void
replay_aborted(int signo)
{
    fprintf(stderr, "input: %s\n", replay_path);
    (void) signal(signo, SIG_DFL);
    (void) raise(signo);
}


static int
replay_file(FILE *fp, const char *path, unsigned *n)
{
    long      size;
    uint8_t  *data;

    if (fseek(fp, 0, SEEK_END) != 0 || (size = ftell(fp)) < 0
        || size > REPLAY_SIZE_MAX || fseek(fp, 0, SEEK_SET) != 0)
    {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }

    data = fuzz_buffer((size_t) size);

    if (fread(data, 1, (size_t) size, fp) != (size_t) size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        free(data);
        return 1;
    }

    snprintf(replay_path, sizeof(replay_path), "%s", path);
    (void) LLVMFuzzerTestOneInput(data, (size_t) size);
    (*n)++;
    free(data);

    return 0;
}


static int
replay(const char *path, unsigned *n)
{
    int             failed;
    DIR            *dir;
    char            name[4096];
    FILE           *fp;
    struct dirent  *entry;

    dir = opendir(path);

    if (dir == NULL) {
        fp = fopen(path, "rb");

        if (fp == NULL) {
            fprintf(stderr, "%s: %s\n", path, strerror(errno));
            return 1;
        }

        failed = replay_file(fp, path, n);
        fclose(fp);

        return failed;
    }

    failed = 0;

    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
            failed |= replay(name, n);
        }
    }

    closedir(dir);

    return failed;
}


int
main(int argc, char **argv)
{
    int          i, failed;
    unsigned     n;
    const char  *name;

    (void) signal(SIGABRT, replay_aborted);

    if (LLVMFuzzerInitialize) {
        (void) LLVMFuzzerInitialize(&argc, &argv);
    }

    name = strrchr(argv[0], '/');
    name = name == NULL ? argv[0] : name + 1;
    failed = 0;
    n = 0;

    for (i = 1; i < argc; i++) {
        failed |= replay(argv[i], &n);
    }

    if (n == 0) {
        fprintf(stderr, "%s: no input\n", name);
        return 1;
    }

    printf("%s: %u inputs\n", name, n);

    return failed;
}
