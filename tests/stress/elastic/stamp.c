/* stamp.c - a rank that can prove when it lived; for elastic
 *
 *     stamp DIRECTORY [deaf] [daemon]
 *
 * In DIRECTORY is a file of each rank and generation, mapped, so that its last entry is true
 * however the rank is killed: when it began, when it was last alive, and what it knew. A lock on
 * the file of its generation is held as long as it lives, and whatever it has started; who begins
 * tries the locks of all generations before it. With a file "go" in DIRECTORY it ends well.
 *
 *     deaf    TERM does nothing
 *     daemon  it starts a process that wants to stay
 *
 * SIGUSR1, muster's notice, makes rank 0 write DIRECTORY/save.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STAMP_NS 10000000
#define GO_EVERY 10 /* stamps */

/* elastic reads it with struct.unpack("4q4i"). */
struct stamp {
    int64_t begin_ns, last_ns, end_ns; /* CLOCK_MONOTONIC; end: it ended well */
    int64_t met;                       /* 1 + a generation before, of which something lived */
    int32_t world, node, is_told, unused;
};

static volatile sig_atomic_t is_told;

static void          told_cb(int number);
static void          take_signals(int argc, char **argv);
static struct stamp *map_stamp(int generation, int rank);
static void          lock_generation(int generation, struct stamp *stamp);
static void          start_daemon(void);
static void          save(void);
static int           number(const char *name);
static int64_t       now_ns(void);
static void          fail(const char *what);

int main(int argc, char **argv)
{
    const struct timespec pause = { .tv_nsec = STAMP_NS };
    int                   generation, rank, i, saved = 0;
    struct stamp         *stamp;

    if (argc < 2 || chdir(argv[1]) < 0)
        fail("directory");
    generation = number("MUSTER_GENERATION");
    rank = number("RANK");
    take_signals(argc, argv);
    stamp = map_stamp(generation, rank);
    lock_generation(generation, stamp);
    for (i = 2; i < argc; i++)
        if (strcmp(argv[i], "daemon") == 0)
            start_daemon();
    for (i = 0; i % GO_EVERY != 0 || access("go", F_OK) < 0; i++) {
        stamp->last_ns = now_ns();
        nanosleep(&pause, NULL);
        stamp->is_told = is_told;
        if (is_told && rank == 0 && !saved++)
            save();
    }
    stamp->last_ns = stamp->end_ns = now_ns();
    return 0;
}

static void take_signals(int argc, char **argv)
{
    int i;

    signal(SIGSEGV, SIG_DFL); /* sanitizers would tell of the one that somebody sends */
    signal(SIGABRT, SIG_DFL);
    signal(SIGUSR1, told_cb);
    for (i = 2; i < argc; i++)
        if (strcmp(argv[i], "deaf") == 0)
            signal(SIGTERM, SIG_IGN);
}

static void told_cb(int number)
{
    (void)number;
    is_told = 1;
}

/* No rank is started twice in a generation. */
static struct stamp *map_stamp(int generation, int rank)
{
    char          name[60];
    struct stamp *stamp;
    int           fd;

    snprintf(name, sizeof name, "stamp-%d-%d", generation, rank);
    fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof *stamp) < 0)
        fail(name);
    stamp = mmap(NULL, sizeof *stamp, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stamp == MAP_FAILED)
        fail(name);
    *stamp = (struct stamp){ .last_ns = now_ns(), .world = number("WORLD_SIZE"),
                             .node = number("NODE_RANK") };
    stamp->begin_ns = stamp->last_ns;
    return stamp;
}

/* What it starts has the lock, too: it is of the open file. */
static void lock_generation(int generation, struct stamp *stamp)
{
    char name[60];
    int  old, fd;

    for (old = 0; old <= generation; old++) {
        struct flock lock = { .l_type = old < generation ? F_WRLCK : F_RDLCK };

        snprintf(name, sizeof name, "alive-%d", old);
        fd = open(name, O_RDWR | O_CREAT, 0666);
        if (fd < 0 || fcntl(fd, old < generation ? F_OFD_GETLK : F_OFD_SETLK, &lock) < 0)
            fail(name);
        if (old < generation && lock.l_type != F_UNLCK)
            stamp->met = 1 + old;
        if (old < generation)
            close(fd);
    }
}

/* Under another name: it is no rank. */
static void start_daemon(void)
{
    if (fork() != 0)
        return;
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    execlp("sleep", "sleep", "100000", (char *)NULL);
    _exit(1);
}

static void save(void)
{
    FILE *file = fopen("save.new", "w");

    if (file == NULL || fprintf(file, "step %ld\n", (long)time(NULL)) < 0 || fclose(file) != 0 ||
        rename("save.new", "save") < 0)
        fail("save");
}

static int number(const char *name)
{
    const char *text = getenv(name);

    if (text == NULL)
        fail(name);
    return atoi(text);
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "stamp: %s: %s\n", what, strerror(errno));
    exit(99);
}
