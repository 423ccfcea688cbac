/*
 * die_at.c: a process that dies, or stops, at a named point of the store's
 * work, for LD_PRELOAD.
 *
 * $DIE_AT names a file of six numbers of 8 bytes, which all processes map.
 * The test writes the point, how often it is to be passed before, and the
 * signal; whoever gets there next takes the order, notes the nanoseconds of
 * the monotonic clock and its pid, and sends itself the signal.
 *
 *   read       1  a reader's get, with its slot in the reader table
 *   begin      2  a write transaction has begun: the write lock is held
 *   put        3  in the middle of a batch
 *   commit     4  before mdb_txn_commit() of a write transaction
 *   page       5  half of some pages is written
 *   sync       6  before fdatasync()
 *   synced     7  after it
 *   meta       8  before the meta page is written
 *   committed  9  after it: the change is there, nobody has been told
 *   told      10  after mdb_txn_commit()
 *   open      11  a flock() of a process that opens the store
 *   walk      12  a step of a cursor
 *   copy      13  half of something is written to a file of sessionctl's
 *   file      14  before fsync() of one
 *   filed     15  after it
 *   link      16  before it gets its name
 *   linked    17  after that
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>


/* of LMDB: MDB_RDONLY; a meta page from its map size to its transaction */
#define DIE_RDONLY    0x20000
#define DIE_META_MAX  512

#define DIE_READ       1
#define DIE_BEGIN      2
#define DIE_PUT        3
#define DIE_COMMIT     4
#define DIE_PAGE       5
#define DIE_SYNC       6
#define DIE_SYNCED     7
#define DIE_META       8
#define DIE_COMMITTED  9
#define DIE_TOLD       10
#define DIE_OPEN       11
#define DIE_WALK       12
#define DIE_COPY       13
#define DIE_FILE       14
#define DIE_FILED      15
#define DIE_LINK       16
#define DIE_LINKED     17

/* a restore has one in each environment */
#define DIE_WRITES     2


typedef struct {
    int64_t  point;             /* 0: none */
    int64_t  left;              /* passes before it */
    int64_t  signal;
    int64_t  pid;               /* who took it */
    int64_t  when;
    int64_t  unused;
} die_order_t;


static die_order_t    *die_order;

/* write transactions of this thread; a reader's are none of them */
static __thread void  *die_txns[DIE_WRITES];


static void die_init(void) __attribute__((constructor));


static void
die_init(void)
{
    int          fd;
    void        *map;
    const char  *name;

    name = getenv("DIE_AT");
    fd = (name != NULL) ? open(name, O_RDWR | O_CLOEXEC) : -1;

    if (fd == -1) {
        return;
    }

    map = mmap(NULL, sizeof(die_order_t), PROT_READ | PROT_WRITE, MAP_SHARED,
               fd, 0);
    close(fd);

    if (map != MAP_FAILED) {
        die_order = map;
    }
}


static void *
die_real(const char *name)
{
    void  *real, *lmdb;

    real = dlsym(RTLD_NEXT, name);

    if (real == NULL) {
        lmdb = dlopen("liblmdb.so.0", RTLD_NOW | RTLD_NOLOAD);
        real = (lmdb != NULL) ? dlsym(lmdb, name) : NULL;
    }

    return real;
}


static int
die_takes(int point)
{
    int64_t  wanted;

    wanted = point;

    if (die_order == NULL
        || __atomic_load_n(&die_order->point, __ATOMIC_ACQUIRE) != wanted
        || __atomic_fetch_sub(&die_order->left, 1, __ATOMIC_ACQ_REL) > 0)
    {
        return 0;
    }

    return __atomic_compare_exchange_n(&die_order->point, &wanted, 0, 0,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}


static void
die_now(void)
{
    struct timespec  now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    die_order->when = (int64_t) now.tv_sec * 1000000000 + now.tv_nsec;
    __atomic_store_n(&die_order->pid, (int64_t) getpid(), __ATOMIC_RELEASE);
    kill(getpid(), (int) die_order->signal);
}


static void
die_at(int point)
{
    if (die_takes(point)) {
        die_now();
    }
}


/* The place of a write transaction, or of none. */
static void **
die_txn(const void *txn)
{
    int  i;

    for (i = 0; i < DIE_WRITES; i++) {
        if (die_txns[i] == txn) {
            return &die_txns[i];
        }
    }

    return NULL;
}


int
mdb_txn_begin(void *env, void *parent, unsigned flags, void **txn)
{
    int      rc;
    int    (*real)(void *, void *, unsigned, void **);
    void   **place;

    *(void **) &real = die_real("mdb_txn_begin");
    rc = real(env, parent, flags, txn);

    if (rc == 0 && !(flags & DIE_RDONLY)) {
        place = die_txn(NULL);

        if (place != NULL) {
            *place = *txn;
        }

        die_at(DIE_BEGIN);
    }

    return rc;
}


int
mdb_get(void *txn, unsigned dbi, void *key, void *data)
{
    int  (*real)(void *, unsigned, void *, void *);

    *(void **) &real = die_real("mdb_get");

    if (die_txn(txn) == NULL) {
        die_at(DIE_READ);
    }

    return real(txn, dbi, key, data);
}


int
mdb_put(void *txn, unsigned dbi, void *key, void *data, unsigned flags)
{
    int  (*real)(void *, unsigned, void *, void *, unsigned);

    *(void **) &real = die_real("mdb_put");
    die_at(DIE_PUT);

    return real(txn, dbi, key, data, flags);
}


int
mdb_cursor_get(void *cursor, void *key, void *data, int op)
{
    int  (*real)(void *, void *, void *, int);

    *(void **) &real = die_real("mdb_cursor_get");
    die_at(DIE_WALK);

    return real(cursor, key, data, op);
}


int
mdb_txn_commit(void *txn)
{
    int      rc;
    int    (*real)(void *);
    void   **place;

    *(void **) &real = die_real("mdb_txn_commit");
    place = die_txn(txn);

    if (place != NULL) {
        die_at(DIE_COMMIT);
        *place = NULL;
    }

    rc = real(txn);

    if (place != NULL) {
        die_at(DIE_TOLD);
    }

    return rc;
}


void
mdb_txn_abort(void *txn)
{
    void  (*real)(void *);
    void   **place;

    *(void **) &real = die_real("mdb_txn_abort");
    place = die_txn(txn);

    if (place != NULL) {
        *place = NULL;
    }

    real(txn);
}


ssize_t
pwrite(int fd, const void *data, size_t n, off_t at)
{
    ssize_t    rc;
    ssize_t  (*real)(int, const void *, size_t, off_t);

    *(void **) &real = die_real("pwrite");

    if (n >= DIE_META_MAX) {

        if (die_takes(DIE_PAGE)) {
            rc = real(fd, data, n / 2, at);
            die_now();

            /* it was only stopped */
            if (rc == -1) {
                return rc;
            }
        }

        return real(fd, data, n, at);
    }

    die_at(DIE_META);
    rc = real(fd, data, n, at);
    die_at(DIE_COMMITTED);

    return rc;
}


ssize_t
writev(int fd, const struct iovec *parts, int n)
{
    ssize_t    rc;
    off_t      at;
    ssize_t  (*real)(int, const struct iovec *, int);

    *(void **) &real = die_real("writev");

    if (n > 1 && (at = lseek(fd, 0, SEEK_CUR)) != -1 && die_takes(DIE_PAGE)) {
        rc = real(fd, parts, n / 2);
        die_now();

        if (rc == -1 || lseek(fd, at, SEEK_SET) == -1) {
            return -1;
        }
    }

    return real(fd, parts, n);
}


/* LMDB's copy of itself; streams of libc do not come here. */
ssize_t
write(int fd, const void *data, size_t n)
{
    ssize_t    rc;
    ssize_t  (*real)(int, const void *, size_t);

    *(void **) &real = die_real("write");

    if (n >= DIE_META_MAX && die_takes(DIE_COPY)) {
        rc = real(fd, data, n / 2);
        die_now();

        return rc;
    }

    return real(fd, data, n);
}


int
fsync(int fd)
{
    int    rc;
    int  (*real)(int);

    *(void **) &real = die_real("fsync");

    die_at(DIE_FILE);
    rc = real(fd);
    die_at(DIE_FILED);

    return rc;
}


int
link(const char *from, const char *to)
{
    int    rc;
    int  (*real)(const char *, const char *);

    *(void **) &real = die_real("link");

    die_at(DIE_LINK);
    rc = real(from, to);
    die_at(DIE_LINKED);

    return rc;
}


int
fdatasync(int fd)
{
    int    rc;
    int  (*real)(int);

    *(void **) &real = die_real("fdatasync");

    die_at(DIE_SYNC);
    rc = real(fd);
    die_at(DIE_SYNCED);

    return rc;
}


int
flock(int fd, int operation)
{
    int  (*real)(int, int);

    *(void **) &real = die_real("flock");
    die_at(DIE_OPEN);

    return real(fd, operation);
}
