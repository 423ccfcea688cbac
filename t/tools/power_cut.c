/*
 * power_cut: what a machine that loses power leaves of a store.
 *
 *   power_cut load STORE NAME SEED CHANGES
 *       changes of all kinds, under record_disk.c, with notes in its log
 *
 *   power_cut copy STORE TIMES
 *       copies the feed into the events beside it
 *
 *   power_cut replay LOG FOLDER [option...]
 *       For each record of the log: the files as they were if everything that
 *       was written before it had reached the disk, and as they were if
 *       nothing had but what a sync that had ended tells of.  Then as many
 *       cuts as wanted at random places, with any of the writes that no sync
 *       had confirmed, in any order, whole or torn at 4096 or 512 bytes, or
 *       each up to any byte.  Each must open, hold what was answered before
 *       it, and work.  FOLDER is made and removed.
 *
 *   --base DIR        the files before the first record
 *   --now DIR         the files after the last: the log must lead to them
 *   --locks DIR       lock files to leave behind, or parts of them
 *   --store NAME      of the store in the folder (store)
 *   --dump FILE       of a restore in the log
 *   --backup NAME     a backup in the folder: what is in it is looked at
 *   --every N         only each n-th record (1); 0: none
 *   --cuts N          random ones (1000)
 *   --seed N          of them (1)
 *   --from N --to N   only these records, for looking closer
 *
 * Prints how many it has looked at and how many were wrong, and the first of
 * these.
 */

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "power_facts.h"


#define POWER_WHY       1024
#define POWER_SECONDS   60
#define POWER_TOLD      5


typedef struct {
    const char      *base, *now, *locks, *folder;
    power_world_t    world;
    size_t           every, cuts, seed, from, to;

    power_log_t      log;
    power_facts_t   *facts;

    size_t           looked, wrong, most;
} power_replay_t;


static int power_replay(int argc, char **argv);
static void power_options(power_replay_t *replay, int argc, char **argv);
static void power_prefixes(power_replay_t *replay);
static void power_cuts(power_replay_t *replay);
static int power_compare(const void *a, const void *b);
static void power_look_at(power_replay_t *replay, const power_disk_t *disk,
    size_t cut, power_left_t left, uint64_t seed);
static int power_child(power_replay_t *replay, size_t cut, char *why);
static void power_remove(const char *folder);
static int power_remove_one(const char *path, const struct stat *st, int type,
    struct FTW *at);


int
main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "load") == 0) {
        return power_load(argc - 2, argv + 2);
    }

    if (argc >= 2 && strcmp(argv[1], "copy") == 0) {
        return power_copy_feed(argc - 2, argv + 2);
    }

    if (argc >= 4 && strcmp(argv[1], "replay") == 0) {
        return power_replay(argc - 2, argv + 2);
    }

    fprintf(stderr, "power_cut load|copy|replay: see t/tools/power_cut.c\n");

    return 2;
}


static int
power_replay(int argc, char **argv)
{
    size_t           i;
    power_disk_t    *disk;
    power_replay_t   replay;

    power_options(&replay, argc, argv);
    power_log_read(argv[0], &replay.log);

    replay.facts = power_facts_read(&replay.log);
    replay.facts->base = replay.base != NULL;

    if (replay.to > replay.log.n) {
        replay.to = replay.log.n;
    }

    if (replay.now) {
        disk = power_disk_new(replay.base);

        for (i = 0; i < replay.log.n; i++) {
            power_disk_step(disk, &replay.log.entries[i]);
        }

        if (!power_disk_same(disk, replay.now)) {
            printf("the log does not lead to %s\n", replay.now);
            return 1;
        }
    }

    power_prefixes(&replay);
    printf("%zu records, %zu tries, %zu prefixes", replay.log.n,
           replay.facts->n, replay.looked);

    i = replay.looked;
    power_cuts(&replay);
    printf(", %zu cuts, at most %zu open, %zu wrong\n", replay.looked - i,
           replay.most, replay.wrong);

    return replay.wrong != 0;
}


static void
power_options(power_replay_t *replay, int argc, char **argv)
{
    int     i;
    size_t  j, *number;

    const struct {
        const char   *name;
        const char  **text;
        size_t       *number;
    } options[] = {
        { "--base", &replay->base, NULL },
        { "--now", &replay->now, NULL },
        { "--locks", &replay->locks, NULL },
        { "--store", &replay->world.store, NULL },
        { "--dump", &replay->world.dump, NULL },
        { "--backup", &replay->world.backup, NULL },
        { "--every", NULL, &replay->every },
        { "--cuts", NULL, &replay->cuts },
        { "--seed", NULL, &replay->seed },
        { "--from", NULL, &replay->from },
        { "--to", NULL, &replay->to },
    };

    memset(replay, 0, sizeof(*replay));
    replay->folder = argv[1];
    replay->world.store = "store";
    replay->every = 1;
    replay->cuts = 1000;
    replay->seed = 1;
    replay->to = SIZE_MAX;

    for (i = 2; i + 1 < argc; i += 2) {
        for (j = 0; j < sizeof(options) / sizeof(options[0]); j++) {

            if (strcmp(argv[i], options[j].name) != 0) {
                continue;
            }

            number = options[j].number;

            if (number) {
                *number = strtoull(argv[i + 1], NULL, 10);

            } else {
                *options[j].text = argv[i + 1];
            }

            break;
        }

        if (j == sizeof(options) / sizeof(options[0])) {
            errno = EINVAL;
            power_die(argv[i]);
        }
    }
}


static void
power_prefixes(power_replay_t *replay)
{
    size_t         cut;
    power_disk_t  *disk;

    disk = power_disk_new(replay->base);

    for (cut = 0; cut <= replay->to; cut++) {

        if (replay->every && cut >= replay->from
            && (cut % replay->every == 0 || cut == replay->to))
        {
            power_look_at(replay, disk, cut, POWER_NONE, 0);
            power_look_at(replay, disk, cut, POWER_ALL, 0);
        }

        if (cut < replay->to) {
            power_disk_step(disk, &replay->log.entries[cut]);
        }
    }
}


/* Places are drawn first and visited in order, so that the log is walked
 * once. */

static void
power_cuts(power_replay_t *replay)
{
    size_t         i, cut, *places;
    uint64_t       state;
    power_disk_t  *disk;

    places = calloc(replay->cuts + 1, sizeof(size_t));
    state = replay->seed;

    if (places == NULL) {
        power_die("memory");
    }

    for (i = 0; i < replay->cuts; i++) {
        places[i] = replay->from + power_random(&state)
                                   % (replay->to - replay->from + 1);
    }

    qsort(places, replay->cuts, sizeof(size_t), power_compare);

    disk = power_disk_new(replay->base);

    for (i = 0, cut = 0; i < replay->cuts; i++) {

        while (cut < places[i]) {
            power_disk_step(disk, &replay->log.entries[cut++]);
        }

        power_look_at(replay, disk, cut, POWER_SOME, power_random(&state));
    }

    free(places);
}


static int
power_compare(const void *a, const void *b)
{
    const size_t  *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}


static void
power_look_at(power_replay_t *replay, const power_disk_t *disk, size_t cut,
    power_left_t left, uint64_t seed)
{
    char            why[POWER_WHY];
    size_t          n;
    power_choice_t  choice;

    static const char *const  lefts[] = { "none", "all", "some" };

    choice.left = left;
    choice.seed = seed;
    choice.locks = replay->locks;

    if (mkdir(replay->folder, 0700) == -1) {
        power_die(replay->folder);
    }

    n = power_disk_build(disk, &choice, replay->folder);
    replay->most = n > replay->most ? n : replay->most;
    replay->looked++;

    if (!power_child(replay, cut, why) && replay->wrong++ < POWER_TOLD) {
        printf("cut at record %zu, %s of %zu open writes are there (%llu): "
               "%s\n", cut, lefts[left], n, (unsigned long long) seed, why);
    }

    power_remove(replay->folder);
}


/* A store is opened once in a process. */

static int
power_child(power_replay_t *replay, size_t cut, char *why)
{
    int      status, pipes[2];
    pid_t    pid;
    ssize_t  n;

    (void) fflush(stdout);

    if (pipe(pipes) == -1 || (pid = fork()) == -1) {
        power_die("fork");
    }

    if (pid == 0) {
        (void) alarm(POWER_SECONDS);
        why[0] = '\0';

        status = power_hold(replay->facts, cut, &replay->world,
                            replay->folder, why, POWER_WHY);

        if (!status && write(pipes[1], why, strlen(why)) == -1) {
            _exit(2);
        }

        _exit(!status);
    }

    (void) close(pipes[1]);
    n = read(pipes[0], why, POWER_WHY - 1);
    why[n > 0 ? n : 0] = '\0';
    (void) close(pipes[0]);

    if (waitpid(pid, &status, 0) == -1) {
        power_die("wait");
    }

    if (WIFSIGNALED(status)) {
        (void) snprintf(why, POWER_WHY, "signal %d", WTERMSIG(status));
    }

    return status == 0;
}


static void
power_remove(const char *folder)
{
    if (nftw(folder, power_remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        power_die(folder);
    }
}


static int
power_remove_one(const char *path, const struct stat *st, int type,
    struct FTW *at)
{
    (void) st;
    (void) type;
    (void) at;

    return remove(path);
}
