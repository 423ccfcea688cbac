#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store.h"


/* What the getrandom() below does: as the kernel, in pieces, or not at all. */
static int       random_errno;
static int       random_interrupts;
static size_t    random_piece;
static unsigned  random_calls;

/* The two ways to notice a fork, each without the other. */
static int       same_pid;
static int       no_wipe_on_fork;
static unsigned  advices;


ssize_t
getrandom(void *buf, size_t n, unsigned flags)
{
    random_calls++;

    if (random_interrupts) {
        random_interrupts--;
        errno = EINTR;
        return -1;
    }

    if (random_errno) {
        errno = random_errno;
        return -1;
    }

    if (random_piece && n > random_piece) {
        n = random_piece;
    }

    return syscall(SYS_getrandom, buf, n, flags);
}


pid_t
getpid(void)
{
    return same_pid ? 4711 : (pid_t) syscall(SYS_getpid);
}


int
madvise(void *p, size_t n, int advice)
{
    if (advice == MADV_WIPEONFORK) {
        advices++;
    }

    if (no_wipe_on_fork && advice == MADV_WIPEONFORK) {
        errno = EINVAL;
        return -1;
    }

    return (int) syscall(SYS_madvise, p, n, advice);
}


static int
random_setup(void **state)
{
    (void) state;

    random_errno = 0;
    random_interrupts = 0;
    random_piece = 0;
    random_calls = 0;
    same_pid = 0;
    no_wipe_on_fork = 0;

    return 0;
}


static int
is_zero(const uint8_t *p, size_t n)
{
    while (n--) {
        if (*p++) {
            return 0;
        }
    }

    return 1;
}


static void
test_random_fills_everything_in_pieces(void **state)
{
    uint8_t  buf[1000];

    (void) state;

    memset(buf, 0, sizeof(buf));
    random_piece = 7;
    random_interrupts = 3;

    assert_int_equal(store_random(buf, sizeof(buf)), STORE_OK);
    assert_int_equal(random_calls, 3 + 143);

    /* 32 zero bytes at the end by chance: never */
    assert_false(is_zero(buf + sizeof(buf) - 32, 32));
}


static void
test_random_reports_failure(void **state)
{
    uint8_t          buf[32];
    store_random_t  *rng;

    (void) state;

    random_errno = ENOSYS;

    assert_int_equal(store_random(buf, sizeof(buf)), ENOSYS);

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(store_random_draw(rng, buf, sizeof(buf)), ENOSYS);
    assert_int_equal(store_random_draw(rng, buf, sizeof(buf)), ENOSYS);

    random_errno = 0;

    assert_int_equal(store_random_draw(rng, buf, sizeof(buf)), STORE_OK);
}


static void
draw_buffers(void)
{
    size_t           i;
    uint8_t          a[16], b[16];
    store_random_t  *rng;

    random_calls = 0;
    advices = 0;

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(random_calls, 0);

    assert_int_equal(store_random_draw(rng, a, 16), STORE_OK);

    for (i = 1; i < 4096 / 16; i++) {
        assert_int_equal(store_random_draw(rng, b, 16), STORE_OK);
        assert_memory_not_equal(a, b, 16);
    }

    assert_int_equal(random_calls, 1);

    assert_int_equal(store_random_draw(rng, b, 16), STORE_OK);
    assert_int_equal(random_calls, 2);

    /* it would wait for other threads that map memory */
    assert_int_equal(advices, 1);
}


static void
test_random_draw_buffers(void **state)
{
    (void) state;

    draw_buffers();

    no_wipe_on_fork = 1;
    draw_buffers();
}


static void
test_random_draw_more_than_the_buffer(void **state)
{
    uint8_t          buf[5000];
    store_random_t  *rng;

    (void) state;

    memset(buf, 0, sizeof(buf));

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(store_random_draw(rng, buf, sizeof(buf)), STORE_OK);
    assert_false(is_zero(buf + sizeof(buf) - 32, 32));

    assert_int_equal(store_random_draw(rng, buf, 4096), STORE_OK);
    assert_int_equal(store_random_draw(rng, buf, 0), STORE_OK);
}


/* Nothing that was handed out can be found in the pages of the buffer. */
static void
test_random_draw_wipes(void **state)
{
    size_t           i;
    uint8_t          drawn[24];
    store_random_t  *rng;

    (void) state;

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(store_random_draw(rng, drawn, sizeof(drawn)), STORE_OK);

    for (i = 0; i + 8 <= 4096; i++) {
        assert_memory_not_equal((uint8_t *) rng + i, drawn, 8);
    }
}


/* Parent, child and grandchild draw from what was one buffer each time. */
static void
differs_after_fork(void)
{
    int              fds[2], status;
    pid_t            pid;
    uint8_t          drawn[3][32];
    store_random_t  *rng;

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(store_random_draw(rng, drawn[0], 1), STORE_OK);
    assert_int_equal(pipe(fds), 0);

    pid = fork();
    assert_true(pid != -1);

    if (pid == 0) {
        status = store_random_draw(rng, drawn[1], 1) != STORE_OK;
        pid = fork();

        status |= pid == -1
                  || store_random_draw(rng, drawn[1], 32) != STORE_OK
                  || write(fds[1], drawn[1], 32) != 32;

        if (pid != 0) {
            status |= wait(&fds[0]) != pid || fds[0] != 0;
        }

        _exit(status);
    }

    assert_int_equal(store_random_draw(rng, drawn[0], 32), STORE_OK);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(fds[0], drawn[1], 32), 32);
    assert_int_equal(read(fds[0], drawn[2], 32), 32);

    assert_memory_not_equal(drawn[0], drawn[1], 32);
    assert_memory_not_equal(drawn[0], drawn[2], 32);
    assert_memory_not_equal(drawn[1], drawn[2], 32);

    close(fds[0]);
    close(fds[1]);
}


static void
test_random_draw_differs_after_fork(void **state)
{
    (void) state;

    differs_after_fork();

    same_pid = 1;
    differs_after_fork();

    same_pid = 0;
    no_wipe_on_fork = 1;
    differs_after_fork();
}


/* A refill that failed leaves a buffer of which nobody knows what it holds. */
static void
test_random_draw_after_a_failed_refill(void **state)
{
    uint8_t          buf[4096];
    store_random_t  *rng;

    (void) state;

    assert_int_equal(store_random_create(&rng), STORE_OK);
    assert_int_equal(store_random_draw(rng, buf, 4090), STORE_OK);

    random_errno = EIO;

    assert_int_equal(store_random_draw(rng, buf, 32), EIO);
    assert_int_equal(store_random_draw(rng, buf, 2), EIO);
}


static void
test_equal_and_wipe(void **state)
{
    size_t   i;
    uint8_t  a[32], b[32];

    (void) state;

    memset(a, 0x5a, sizeof(a));
    memcpy(b, a, sizeof(b));

    assert_int_equal(store_equal(a, b, sizeof(a)), 1);
    assert_int_equal(store_equal(a, b, 0), 1);

    for (i = 0; i < sizeof(b) * 8; i++) {
        b[i / 8] ^= (uint8_t) (1 << i % 8);
        assert_int_equal(store_equal(a, b, sizeof(a)), 0);
        b[i / 8] ^= (uint8_t) (1 << i % 8);
    }

    store_wipe(a, sizeof(a) - 1);
    assert_true(is_zero(a, sizeof(a) - 1));
    assert_int_equal(a[sizeof(a) - 1], 0x5a);
}


int
main(void)
{
    const struct CMUnitTest  tests[] = {
        cmocka_unit_test_setup(test_random_fills_everything_in_pieces,
                               random_setup),
        cmocka_unit_test_setup(test_random_reports_failure, random_setup),
        cmocka_unit_test_setup(test_random_draw_buffers, random_setup),
        cmocka_unit_test_setup(test_random_draw_more_than_the_buffer,
                               random_setup),
        cmocka_unit_test_setup(test_random_draw_wipes, random_setup),
        cmocka_unit_test_setup(test_random_draw_differs_after_fork,
                               random_setup),
        cmocka_unit_test_setup(test_random_draw_after_a_failed_refill,
                               random_setup),
        cmocka_unit_test(test_equal_and_wipe)
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
