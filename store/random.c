#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "pages.h"
#include "store.h"


#define STORE_RANDOM_BUFFER  4096


/* Lives in pages of its own: what is still unread will be somebody's token. */
struct store_random_s {
    pid_t    pid;               /* that filled the buffer, 0: nobody */
    size_t   left;              /* unread bytes, at the end of data */
    uint8_t  data[STORE_RANDOM_BUFFER];
};


int
store_random(void *buf, size_t n)
{
    uint8_t  *p;
    ssize_t   rc;

    p = buf;

    while (n) {
        rc = getrandom(p, n, 0);

        if (rc < 0) {
            if (errno == EINTR) {
                continue;
            }

            return errno;
        }

        if (rc == 0) {
            return EIO;
        }

        p += rc;
        n -= (size_t) rc;
    }

    return STORE_OK;
}


/*
 * MADV_WIPEONFORK zeroes the buffer in a child, pid included, which also
 * covers a child in another PID namespace that happens to get its parent's
 * number.  Kernels without it have the comparison of pids alone.
 */
int
store_random_create(store_random_t **rng)
{
    int    rc;
    void  *p;

    rc = store_pages_get(&p, sizeof(store_random_t));

    if (rc != STORE_OK) {
        return rc;
    }

    (void) madvise(p, sizeof(store_random_t), MADV_WIPEONFORK);

    *rng = p;

    return STORE_OK;
}


int
store_random_draw(store_random_t *rng, void *buf, size_t n)
{
    int       rc;
    pid_t     pid;
    uint8_t  *p;

    if (n > STORE_RANDOM_BUFFER) {
        return store_random(buf, n);
    }

    pid = getpid();

    if (rng->pid != pid || rng->left < n) {
        rng->left = 0;

        rc = store_random(rng->data, STORE_RANDOM_BUFFER);

        if (rc != STORE_OK) {
            return rc;
        }

        rng->pid = pid;
        rng->left = STORE_RANDOM_BUFFER;
    }

    p = rng->data + STORE_RANDOM_BUFFER - rng->left;

    memcpy(buf, p, n);
    store_wipe(p, n);

    rng->left -= n;

    return STORE_OK;
}


void
store_wipe(void *buf, size_t n)
{
    explicit_bzero(buf, n);
}


int
store_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
