#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "pages.h"
#include "store.h"


#define STORE_RANDOM_BUFFER  4096


/*
 * Lives in pages of its own: what is still unread will be somebody's token.
 * MADV_WIPEONFORK zeroes them in a child, all of this struct, which also
 * covers a child in another PID namespace that happens to get its parent's
 * number, and saves a getpid() per draw.  Kernels before 4.14 lack it; there
 * the pids are compared.
 */
struct store_random_s {
    pid_t     pid;              /* that filled the buffer, 0: nobody */
    unsigned  wiped_on_fork;
    size_t    left;             /* unread bytes, at the end of data */
    uint8_t   data[STORE_RANDOM_BUFFER];
};


static int store_random_fill(store_random_t *rng);


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


int
store_random_create(store_random_t **rng)
{
    int    rc;
    void  *p;

    rc = store_pages_get(&p, sizeof(store_random_t));

    if (rc != STORE_OK) {
        return rc;
    }

    *rng = p;

    return STORE_OK;
}


int
store_random_draw(store_random_t *rng, void *buf, size_t n)
{
    int       rc;
    uint8_t  *p;

    if (n > STORE_RANDOM_BUFFER) {
        return store_random(buf, n);
    }

    if (rng->left < n || (!rng->wiped_on_fork && rng->pid != getpid())) {
        rc = store_random_fill(rng);

        if (rc != STORE_OK) {
            return rc;
        }
    }

    p = rng->data + STORE_RANDOM_BUFFER - rng->left;

    memcpy(buf, p, n);
    store_wipe(p, n);

    rng->left -= n;

    return STORE_OK;
}


/*
 * The advice is given once in each process, as a child begins with nothing but
 * zeroes: it waits for the memory map, which a thread that hashes a password
 * has for itself for milliseconds.
 */
static int
store_random_fill(store_random_t *rng)
{
    int    rc;
    pid_t  pid;

    pid = getpid();
    rng->left = 0;

    if (rng->pid != pid) {
        rng->pid = pid;
        rng->wiped_on_fork = madvise(rng, sizeof(store_random_t),
                                     MADV_WIPEONFORK)
                             == 0;
    }

    rc = store_random(rng->data, STORE_RANDOM_BUFFER);

    if (rc == STORE_OK) {
        rng->left = STORE_RANDOM_BUFFER;
    }

    return rc;
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
