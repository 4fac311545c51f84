/* spawn.c - see spawn.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"
#include "node/own_limits.h"
#include "xalloc.h"

/* The OOM score of ranks: the kernel kills them before the agent. */
#define OOM_SCORE_OF_RANKS 500

/* The memfd holds this header, then path, cwd, arguments and environment, each ended
 * by NUL, then the CPU mask. */
struct header {
    uint32_t has_cwd, arguments, variables, cpus_size;
    uint64_t strings_size;
};

/* The memfd as the child reads it: pointers into the mapping. */
struct unpacked {
    char       *path, *cwd;
    char      **argv, **env;
    const void *cpus;
    size_t      cpus_size;
};

static int  lead_group(int in);
static int  unpack(int fd, struct unpacked *spec);
static int  take_descriptors(const int fds[SPAWN_FDS]);
static int  move_up(int fd);
static void reset_signals(void);
static void raise_oom_score(void);
static int  wait_at_gate(const struct spawn_guard *guard);

int spawn_pack(const struct spawn *spawn, struct error *err)
{
    struct strlist all = { 0 };
    struct header  header = { .has_cwd = spawn->cwd != NULL,
                              .arguments = (uint32_t)spawn->argv->count,
                              .variables = (uint32_t)spawn->env->count,
                              .cpus_size = spawn->cpus != NULL ? (uint32_t)spawn->cpus_size : 0 };
    size_t         size;
    char          *bytes;
    int            error = 0, fd = memfd_create("muster-spawn", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return err_set(err, "memfd_create: %s", strerror(errno));
    strlist_add(&all, spawn->path);
    strlist_add(&all, spawn->cwd != NULL ? spawn->cwd : "");
    strlist_append(&all, spawn->argv);
    strlist_append(&all, spawn->env);
    bytes = strlist_pack(&all, &size);
    header.strings_size = size;
    if (fd_write_all(fd, &header, sizeof header) < sizeof header ||
        fd_write_all(fd, bytes, size) < size ||
        fd_write_all(fd, spawn->cpus, header.cpus_size) < header.cpus_size ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0) {
        error = errno;
        err_set(err, "cannot pass %zu bytes of arguments to the guard: %s", size,
                strerror(error));
        close(fd);
        fd = -1;
    }
    free(bytes);
    strlist_clear(&all);
    errno = error;
    return fd;
}

struct spawn_failure spawn_exec(const int fds[SPAWN_FDS], const struct spawn_guard *guard)
{
    struct unpacked      spec;
    struct spawn_failure failure = { SPAWN_JOIN, 0 };

    if (lead_group(fds[SPAWN_FD_STDIN]) < 0)
        goto failed;
    if (!guard->cgroup->takes_forks && !cgroup_enter(guard->cgroup))
        goto failed;
    failure.step = SPAWN_PREPARE;
    raise_oom_score();
    if (unpack(fds[SPAWN_FD_SPEC], &spec) < 0 || take_descriptors(fds) < 0)
        goto failed;
    failure.step = SPAWN_CHDIR;
    if (spec.cwd != NULL && chdir(spec.cwd) < 0)
        goto failed;
    failure.step = SPAWN_BIND;
    if (spec.cpus_size > 0 && sched_setaffinity(0, spec.cpus_size, spec.cpus) < 0)
        goto failed;
    /* This late, so that nothing resets it. The parent may have died before. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard->pid)
        _exit(1);
    reset_signals();
    own_limits_undo();
    if (guard->gate_fd >= 0) {
        failure.step = SPAWN_PREPARE;
        if (wait_at_gate(guard) < 0)
            goto failed;
        go_env_lay(guard->go_env, spec.env);
    }
    failure.step = SPAWN_EXEC;
    execve(spec.path, spec.argv, spec.env);
failed:
    failure.error = errno;
    return failure;
}

int spawn_explain(const struct spawn_failure *failure, const char *path, const char *cwd,
                  struct error *err)
{
    const char *why = strerror(failure->error);

    switch ((enum spawn_step)failure->step) {
    case SPAWN_FORK:
        err_set(err, "cannot fork a process for %s: %s", path, why);
        return 126;
    case SPAWN_JOIN:
        err_set(err, "cannot put %s into the run's control group: %s", path, why);
        return 126;
    case SPAWN_CHDIR:
        err_set(err, "cannot enter the working directory %s: %s", cwd, why);
        return 126;
    case SPAWN_BIND:
        err_set(err, "cannot bind %s to its cores: %s", path, why);
        return 126;
    case SPAWN_EXEC:
        if (failure->error == ENOENT && access(path, F_OK) == 0)
            err_set(err,
                    "cannot execute %s: the interpreter or loader that it names does not exist",
                    path);
        else if (failure->error == ENOEXEC)
            err_set(err, "cannot execute %s: %s (no #! line, or built for another machine)",
                    path, why);
        else if (failure->error == E2BIG)
            err_set(err,
                    "cannot execute %s: %s (the kernel allows 128 KiB minus one byte per "
                    "argument, and a quarter of `ulimit -s` for all)",
                    path, why);
        else
            err_set(err, "cannot execute %s: %s", path, why);
        return failure->error == ENOENT ? 127 : 126;
    default:
        err_set(err, "cannot start %s: %s", path, why);
        return 126;
    }
}

/* A process with a terminal leads a session there, so that Ctrl-C and job control work. */
static int lead_group(int in)
{
    if (!isatty(in))
        return setpgid(0, 0);
    return setsid() < 0 ? -1 : ioctl(in, TIOCSCTTY, 0);
}

static int unpack(int fd, struct unpacked *spec)
{
    const struct header *header;
    struct stat          about;
    char                *at;
    uint32_t             i;

    if (fstat(fd, &about) < 0)
        return -1;
    at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    header = (const struct header *)(const void *)at;
    spec->cpus = at + sizeof *header + header->strings_size;
    spec->cpus_size = header->cpus_size;
    spec->argv = xcalloc(header->arguments + 1, sizeof *spec->argv);
    spec->env = xcalloc(header->variables + GO_ENV_VARIABLES + 1, sizeof *spec->env);
    spec->path = at + sizeof *header;
    at = strchr(spec->path, '\0') + 1;
    spec->cwd = header->has_cwd ? at : NULL;
    at = strchr(at, '\0') + 1;
    for (i = 0; i < header->arguments; i++, at = strchr(at, '\0') + 1)
        spec->argv[i] = at;
    for (i = 0; i < header->variables; i++, at = strchr(at, '\0') + 1)
        spec->env[i] = at;
    return 0;
}

/* Connects input and output, and PMI to SPAWN_PMI_FD. The originals are close-on-exec. One of
 * them may have a number that is needed here, so they are moved away first. */
static int take_descriptors(const int fds[SPAWN_FDS])
{
    int in = move_up(fds[SPAWN_FD_STDIN]);
    int out = move_up(fds[SPAWN_FD_STDOUT]), err = move_up(fds[SPAWN_FD_STDERR]);

    if (in < 0 || out < 0 || err < 0)
        return -1;
    if (fds[SPAWN_FD_PMI] >= 0) {
        int pmi = move_up(fds[SPAWN_FD_PMI]);

        if (pmi < 0 || dup2(pmi, SPAWN_PMI_FD) < 0)
            return -1;
    }
    return dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ? -1 : 0;
}

static int move_up(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_PMI_FD + 1);
}

/* Uses the system call: glibc reserves two signals for itself, and the program that started us
 * may have ignored those too. An all-zero action is SIG_DFL. */
static void reset_signals(void)
{
    static const unsigned long default_action[8];
    sigset_t                   none;
    int                        signal_number;

    for (signal_number = 1; signal_number < NSIG; signal_number++)
        syscall(SYS_rt_sigaction, signal_number, default_action, NULL, NSIG / 8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_oom_score(void)
{
    char text[16];

    fd_read_file("/proc/self/oom_score_adj", text, sizeof text);
    if (strtol(text, NULL, 10) >= OOM_SCORE_OF_RANKS)
        return;
    snprintf(text, sizeof text, "%d", OOM_SCORE_OF_RANKS);
    fd_write_file("/proc/self/oom_score_adj", text);
}

/* All ranks of a node continue at once. -1: the guard cannot learn that this rank waits at the
 * gate, so the gate would never open. */
static int wait_at_gate(const struct spawn_guard *guard)
{
    static const struct spawn_failure stands = { SPAWN_OK, 0 };
    char                              byte;

    if (fd_write_all(guard->word_fd, &stands, sizeof stands) < sizeof stands)
        return -1;
    while (read(guard->gate_fd, &byte, 1) < 0 && errno == EINTR)
        ;
    return 0;
}
