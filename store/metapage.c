#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"


/*
 * Where things stand in a meta page of LMDB 0.9 on a 64-bit machine: a page
 * header of 16 bytes (page number, 2 unused, flags), then
 *
 *   magic (4) version (4) address (8) map size (8)
 *   free database:  page size (4) flags (2) depth (2) branch, leaf and
 *                   overflow pages, entries, root (8 each)
 *   main database:  the same, with 4 unused bytes for the page size
 *   last page (8) transaction (8)
 */

#define STORE_META_MAGIC       0xbeefc0deU
#define STORE_META_VERSION     1
#define STORE_META_PAGES       2
#define STORE_META_BYTES       152
#define STORE_META_FIRST_BYTES  24       /* the same in all files */

#define STORE_META_FLAGS_AT    10
#define STORE_META_MAGIC_AT    16
#define STORE_META_VERSION_AT  20
#define STORE_META_MAP_AT      32
#define STORE_META_PAGE_AT     40
#define STORE_META_FREE_AT     80
#define STORE_META_MAIN_AT     128
#define STORE_META_LAST_AT     136
#define STORE_META_TXN_AT      144

#define STORE_PAGE_META        0x08
#define STORE_PAGE_TREE        0x03     /* branch or leaf */
#define STORE_PAGE_NONE        UINT64_MAX
#define STORE_PAGE_SIZE_MIN    512
#define STORE_PAGE_SIZE_MAX    32768

_Static_assert(sizeof(size_t) == 8, "LMDB files of 64-bit machines");


typedef struct {
    uint16_t  flags;
    uint32_t  magic;
    uint32_t  version;
    uint32_t  page_size;
    uint64_t  map_size;
    uint64_t  roots[2];
    uint64_t  last;
    uint64_t  txn;
} store_metapage_t;


static int store_metapage_read(int fd, off_t at, store_metapage_t *meta);
static const char *store_metapage_problem(int fd, const store_metapage_t *meta,
    uint64_t size);


/*
 * LMDB believes the newer of the two meta pages.  The file must reach to its
 * last page: a shorter one would end the process with SIGBUS at the first
 * read beyond.  (store_write_begin() sees to it that a healthy file does.)
 */
int
store_metapage_check(int fd, size_t map_size, const char *path,
    const char *name, char *why)
{
    int               rc, i;
    off_t             at;
    const char       *problem;
    struct stat       st;
    store_metapage_t  meta, newest = { 0 };

    if (fstat(fd, &st) == -1) {
        rc = errno;
        store_why(why, path, "%s: %s", name, store_strerror(rc));
        return rc;
    }

    for (i = 0, at = 0; i < STORE_META_PAGES; i++, at = newest.page_size) {

        rc = store_metapage_read(fd, at, &meta);
        if (rc != STORE_OK) {
            store_why(why, path, "%s is damaged: no meta page %d", name, i);
            return rc;
        }

        if (meta.magic != STORE_META_MAGIC || !(meta.flags & STORE_PAGE_META)) {
            store_why(why, path, "%s is damaged: meta page %d", name, i);
            return STORE_CORRUPT;
        }

        if (meta.version != STORE_META_VERSION) {
            store_why(why, path, "%s was made by another version of LMDB"
                      " (data version %u)", name, meta.version);
            return STORE_VERSION;
        }

        if (meta.page_size < STORE_PAGE_SIZE_MIN
            || meta.page_size > STORE_PAGE_SIZE_MAX
            || (meta.page_size & (meta.page_size - 1)) != 0
            || (i && meta.page_size != newest.page_size))
        {
            store_why(why, path, "%s is damaged: page size %u", name,
                      meta.page_size);
            return STORE_CORRUPT;
        }

        if (i == 0 || meta.txn > newest.txn) {
            newest = meta;
        }
    }

    problem = store_metapage_problem(fd, &newest, (uint64_t) st.st_size);

    if (problem) {
        store_why(why, path, "%s is damaged: %s", name, problem);
        return STORE_CORRUPT;
    }

    if (newest.map_size != map_size) {
        store_why(why, path, "%s was made with a map of %llu bytes, not %llu",
                  name, (unsigned long long) newest.map_size,
                  (unsigned long long) map_size);
        return STORE_VERSION;
    }

    return STORE_OK;
}


int
store_metapage_unused(int fd)
{
    int       i;
    size_t    j, n;
    ssize_t   got;
    uint8_t   first[STORE_META_FIRST_BYTES], buf[STORE_META_BYTES];
    uint16_t  flags;
    uint32_t  magic, version;

    flags = STORE_PAGE_META;
    magic = STORE_META_MAGIC;
    version = STORE_META_VERSION;

    memset(first, 0, sizeof(first));
    memcpy(first + STORE_META_FLAGS_AT, &flags, sizeof(flags));
    memcpy(first + STORE_META_MAGIC_AT, &magic, sizeof(magic));
    memcpy(first + STORE_META_VERSION_AT, &version, sizeof(version));

    for (i = 0; i < STORE_META_PAGES; i++) {
        first[0] = (uint8_t) i;
        memset(buf, 0, sizeof(buf));

        got = pread(fd, buf, sizeof(buf), i * sysconf(_SC_PAGESIZE));

        if (got == -1) {
            return 0;
        }

        n = sizeof(first);

        for (j = 0; j < sizeof(buf); j++) {

            if (buf[j] == 0) {
                continue;
            }

            if ((j < n && buf[j] != first[j]) || j >= STORE_META_TXN_AT) {
                return 0;
            }
        }
    }

    return 1;
}


static int
store_metapage_read(int fd, off_t at, store_metapage_t *meta)
{
    ssize_t  n;
    uint8_t  buf[STORE_META_BYTES];

    n = pread(fd, buf, sizeof(buf), at);

    if (n == -1) {
        return errno;
    }

    if ((size_t) n != sizeof(buf)) {
        return STORE_CORRUPT;
    }

    memcpy(&meta->flags, buf + STORE_META_FLAGS_AT, 2);
    memcpy(&meta->magic, buf + STORE_META_MAGIC_AT, 4);
    memcpy(&meta->version, buf + STORE_META_VERSION_AT, 4);
    memcpy(&meta->page_size, buf + STORE_META_PAGE_AT, 4);
    memcpy(&meta->map_size, buf + STORE_META_MAP_AT, 8);
    memcpy(&meta->roots[0], buf + STORE_META_FREE_AT, 8);
    memcpy(&meta->roots[1], buf + STORE_META_MAIN_AT, 8);
    memcpy(&meta->last, buf + STORE_META_LAST_AT, 8);
    memcpy(&meta->txn, buf + STORE_META_TXN_AT, 8);

    return STORE_OK;
}


static const char *
store_metapage_problem(int fd, const store_metapage_t *meta, uint64_t size)
{
    int       i;
    uint8_t   head[16];
    uint16_t  flags;
    uint64_t  number;

    if (meta->last < STORE_META_PAGES - 1
        || meta->last >= meta->map_size / meta->page_size)
    {
        return "last page beyond the map";
    }

    if (size < (meta->last + 1) * meta->page_size) {
        return "the file is truncated";
    }

    for (i = 0; i < 2; i++) {

        if (meta->roots[i] == STORE_PAGE_NONE) {
            continue;
        }

        if (meta->roots[i] < STORE_META_PAGES || meta->roots[i] > meta->last) {
            return "a root page beyond the file";
        }

        if (pread(fd, head, sizeof(head),
                  (off_t) (meta->roots[i] * meta->page_size))
            != sizeof(head))
        {
            return "a root page cannot be read";
        }

        memcpy(&number, head, 8);
        memcpy(&flags, head + STORE_META_FLAGS_AT, 2);

        if (number != meta->roots[i] || !(flags & STORE_PAGE_TREE)) {
            return "a root page is not one";
        }
    }

    return NULL;
}
