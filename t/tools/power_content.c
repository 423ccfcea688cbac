#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "power_disk.h"


void
power_resize(power_content_t *content, size_t size)
{
    size_t  need, i;

    need = (size + POWER_PAGE - 1) / POWER_PAGE;

    if (need > content->room) {
        content->pages = realloc(content->pages, need * sizeof(uint8_t *));

        if (content->pages == NULL) {
            power_die("memory");
        }

        memset(content->pages + content->room, 0,
               (need - content->room) * sizeof(uint8_t *));
        content->room = need;
    }

    for (i = need; i < content->room; i++) {
        free(content->pages[i]);
        content->pages[i] = NULL;
    }

    if (size % POWER_PAGE && content->pages[need - 1]) {
        memset(content->pages[need - 1] + size % POWER_PAGE, 0,
               POWER_PAGE - size % POWER_PAGE);
    }

    content->size = size;
}


void
power_put(power_content_t *content, int64_t at, const uint8_t *data, size_t n)
{
    size_t    page, in, len, to;

    to = (size_t) at;

    if (to + n > content->size) {
        power_resize(content, to + n);
    }

    while (n) {
        page = to / POWER_PAGE;
        in = to % POWER_PAGE;
        len = POWER_PAGE - in < n ? POWER_PAGE - in : n;

        if (content->pages[page] == NULL) {
            content->pages[page] = calloc(1, POWER_PAGE);

            if (content->pages[page] == NULL) {
                power_die("memory");
            }
        }

        memcpy(content->pages[page] + in, data, len);
        data += len;
        to += len;
        n -= len;
    }
}


void
power_copy(power_content_t *to, const power_content_t *from)
{
    size_t  i;

    memset(to, 0, sizeof(*to));
    power_resize(to, from->size);

    for (i = 0; i < from->room; i++) {
        if (from->pages[i]) {
            power_put(to, (int64_t) (i * POWER_PAGE), from->pages[i],
                      from->size - i * POWER_PAGE < POWER_PAGE
                      ? from->size - i * POWER_PAGE : POWER_PAGE);
        }
    }
}


void
power_free(power_content_t *content)
{
    size_t  i;

    for (i = 0; i < content->room; i++) {
        free(content->pages[i]);
    }

    free(content->pages);
    memset(content, 0, sizeof(*content));
}


void
power_save(const power_content_t *content, const char *path)
{
    int     fd;
    size_t  i, len;

    fd = open(path, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);

    if (fd == -1) {

        if (errno == ENOENT) {
            return;             /* its folder is not there */
        }

        power_die(path);
    }

    if (ftruncate(fd, (off_t) content->size) == -1) {
        power_die(path);
    }

    for (i = 0; i < content->room; i++) {

        if (content->pages[i] == NULL) {
            continue;
        }

        len = content->size - i * POWER_PAGE;
        len = len < POWER_PAGE ? len : POWER_PAGE;

        if (pwrite(fd, content->pages[i], len, (off_t) (i * POWER_PAGE))
            != (ssize_t) len)
        {
            power_die(path);
        }
    }

    (void) close(fd);
}
