#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "power_cut.h"


uint64_t
power_random(uint64_t *state)
{
    uint64_t  z;

    z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;

    return z ^ (z >> 31);
}


void
power_log_read(const char *file, power_log_t *log)
{
    int             fd;
    size_t          at, size, room;
    uint8_t        *bytes;
    struct stat     st;
    power_entry_t  *e;

    fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd == -1 || fstat(fd, &st) == -1) {
        power_die(file);
    }

    size = (size_t) st.st_size;
    bytes = malloc(size + 1);

    if (bytes == NULL || read(fd, bytes, size) != (ssize_t) size) {
        power_die(file);
    }

    (void) close(fd);

    log->entries = NULL;
    log->n = 0;

    for (at = 0, room = 0; at + sizeof(power_record_t) <= size; log->n++) {

        if (log->n == room) {
            room = room ? room * 2 : 1024;
            log->entries = realloc(log->entries, room * sizeof(*e));

            if (log->entries == NULL) {
                power_die("memory");
            }
        }

        /* records are not aligned: each head gets a copy */

        e = &log->entries[log->n];
        e->head = memcpy(malloc(sizeof(power_record_t)), bytes + at,
                         sizeof(power_record_t));
        e->name = (const char *) bytes + at + sizeof(power_record_t);
        e->data = (const uint8_t *) e->name + e->head->name_len;

        if (e->head->magic != POWER_MAGIC) {
            errno = EINVAL;
            power_die("a record that is none");
        }

        at += sizeof(power_record_t) + e->head->name_len + e->head->data_len;
    }

    if (at != size) {
        errno = EINVAL;
        power_die("the log is cut off");
    }
}


void
power_die(const char *what)
{
    fprintf(stderr, "power_cut: %s: %s\n", what, strerror(errno));
    exit(2);
}
