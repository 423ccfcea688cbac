/*
 * fake_fs.c: every file system is of the type that $FAKE_FS says, in hex, for
 * LD_PRELOAD.
 */

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/vfs.h>


static unsigned long  fake_type;


static void fake_init(void) __attribute__((constructor));


/* nginx clears the environment of its workers. */

static void
fake_init(void)
{
    const char  *type;

    type = getenv("FAKE_FS");

    if (type != NULL) {
        fake_type = strtoul(type, NULL, 16);
    }
}


static int
fake(int rc, struct statfs *fs)
{
    if (rc == 0 && fake_type != 0) {

        /* sign-extended, as where the kernel's type is an int */

        fs->f_type = (int) fake_type;
    }

    return rc;
}


int
statfs(const char *path, struct statfs *fs)
{
    int  (*real)(const char *, struct statfs *);

    *(void **) &real = dlsym(RTLD_NEXT, "statfs");

    return fake(real(path, fs), fs);
}


int
fstatfs(int fd, struct statfs *fs)
{
    int  (*real)(int, struct statfs *);

    *(void **) &real = dlsym(RTLD_NEXT, "fstatfs");

    return fake(real(fd, fs), fs);
}
