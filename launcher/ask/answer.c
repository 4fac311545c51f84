/* answer.c - see answer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "ask/answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "fd.h"
#include "sanitize.h"
#include "xalloc.h"

#define READ_MAX   (64 * 1024)
#define WORDS_MAX  400 /* bytes of its stderr in a message */
#define NO_PIDFD_S 0.02 /* between looks at a program without pidfd_open(), Linux < 5.3 */

/* They would kill muster and leave the program, which is not in the terminal's process group. */
static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

enum { OUT, ERRORS, GONE, SIGNALS, FDS };

struct asked {
    const char   *name;
    pid_t         pid;
    struct pollfd fd[FDS];
    struct buffer text[2]; /* of OUT and ERRORS */
    size_t        max;
    sigset_t      mask; /* before we blocked the fatal signals */
    int           signal; /* the one that came; 0: none */
};

static int  prepare(struct asked *asked, int ends[2], struct error *err);
static int  start(struct asked *asked, const char *const argv[], const int ends[2]);
static int  follow(struct asked *asked, int limit_s, struct error *err);
static bool has_ended(const struct asked *asked);
static bool has_read(struct asked *asked, int which);
static int  end(const struct asked *asked);
static int  refuse(const struct asked *asked, int status, struct error *err);
static int  watch_signals(struct asked *asked);
static void finish(struct asked *asked);

int answer_ask(const char *const argv[], int limit_s, size_t max, char **text, size_t *size,
               struct error *err)
{
    struct asked asked = { .name = argv[0], .max = max };
    int          ends[2] = { -1, -1 }, error, rc, status = ANSWER_NONE;

    *text = NULL;
    if (prepare(&asked, ends, err) == 0) {
        error = start(&asked, argv, ends);
        if (error == 0) {
            rc = follow(&asked, limit_s, err);
            status = end(&asked);
            status = rc < 0 ? ANSWER_NONE : refuse(&asked, status, err);
        } else {
            err_set(err, "cannot run %s: %s", argv[0], strerror(error));
            status = ANSWER_CANNOT_RUN;
        }
    }
    if (status == 0) {
        *size = asked.text[OUT].size;
        buffer_add(&asked.text[OUT], "", 1);
        *text = asked.text[OUT].bytes;
        asked.text[OUT] = (struct buffer){ 0 };
    }
    finish(&asked);
    return status;
}

/* ends: the program's ends of the pipes; start() closes them. */
static int prepare(struct asked *asked, int ends[2], struct error *err)
{
    int i, pair[2];

    for (i = 0; i < FDS; i++)
        asked->fd[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    asked->fd[SIGNALS].fd = watch_signals(asked);
    for (i = OUT; i <= ERRORS; i++) {
        if (pipe2(pair, O_CLOEXEC) < 0) {
            err_set(err, "%s: %s", asked->name, strerror(errno));
            if (i == ERRORS)
                close(ends[OUT]);
            return -1;
        }
        asked->fd[i].fd = pair[0];
        ends[i] = pair[1];
        fd_set_nonblock(pair[0]);
    }
    return 0;
}

/* Returns 0 or an errno. */
static int start(struct asked *asked, const char *const argv[], const int ends[2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t          attr;
    int                        error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[OUT], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[ERRORS], STDERR_FILENO);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &asked->mask);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    error = posix_spawnp(&asked->pid, argv[0], &actions, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[OUT]);
    close(ends[ERRORS]);
    if (error == 0)
        asked->fd[GONE].fd = (int)syscall(SYS_pidfd_open, asked->pid, 0);
    return error;
}

/* Reads until the program has ended; what it has started may keep its output open. */
static int follow(struct asked *asked, int limit_s, struct error *err)
{
    const double            until = clock_now_s() + limit_s;
    struct signalfd_siginfo info;
    double                  left;
    bool                    was_ended;

    do {
        was_ended = has_ended(asked);
        left = was_ended ? 0 : until - clock_now_s();
        if (!was_ended && left <= 0)
            return err_set(err, "%s gave no answer within %d s", asked->name, limit_s);
        if (asked->fd[GONE].fd < 0 && left > NO_PIDFD_S)
            left = NO_PIDFD_S;
        if (poll(asked->fd, FDS, (int)(left * 1000)) < 0 && errno != EINTR)
            return err_set(err, "%s: %s", asked->name, strerror(errno));
        if (read(asked->fd[SIGNALS].fd, &info, sizeof info) == sizeof info) {
            asked->signal = (int)info.ssi_signo;
            return err_set(err, "%s: interrupted", asked->name);
        }
        while (has_read(asked, OUT))
            if (asked->text[OUT].size > asked->max)
                return err_set(err, "%s prints more than %zu bytes", asked->name, asked->max);
        has_read(asked, ERRORS);
    } while (!was_ended);
    return 0;
}

static bool has_ended(const struct asked *asked)
{
    siginfo_t info = { .si_pid = 0 };

    return waitid(P_PID, (id_t)asked->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == asked->pid;
}

/* Is there more to read? Of its complaints only the end is of interest. */
static bool has_read(struct asked *asked, int which)
{
    struct buffer *text = &asked->text[which];
    struct pollfd *fd = &asked->fd[which];
    ssize_t        n;

    if (fd->fd < 0)
        return false;
    n = read(fd->fd, buffer_reserve(text, READ_MAX), READ_MAX);
    if (n > 0)
        text->size += (size_t)n;
    if (which == ERRORS && text->size > READ_MAX) {
        memmove(text->bytes, text->bytes + text->size - READ_MAX, READ_MAX);
        text->size = READ_MAX;
    }
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return n > 0;
    close(fd->fd);
    fd->fd = -1;
    return false;
}

/* Kills what is left of the process group, and returns the program's exit status. */
static int end(const struct asked *asked)
{
    int status = 0;

    kill(-asked->pid, SIGKILL);
    if (waitpid(asked->pid, &status, 0) != asked->pid)
        return ANSWER_NONE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int refuse(const struct asked *asked, int status, struct error *err)
{
    char words[WORDS_MAX];

    if (status == 0)
        return 0;
    sanitize_tail(asked->text[ERRORS].bytes, asked->text[ERRORS].size, words, sizeof words);
    if (words[0] != '\0')
        err_set(err, "%s failed: %s", asked->name, words);
    else
        err_set(err, "%s ended with status %d", asked->name, status);
    return status;
}

/* Blocks those signals that would kill us; a blocked signal is seen even if it is ignored. */
static int watch_signals(struct asked *asked)
{
    struct sigaction now;
    sigset_t         set;
    size_t           i;

    sigemptyset(&set);
    for (i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, fatal[i]);
    sigprocmask(SIG_BLOCK, &set, &asked->mask);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The signal that came does now what it would have done before. */
static void finish(struct asked *asked)
{
    int i;

    for (i = 0; i < FDS; i++)
        if (asked->fd[i].fd >= 0)
            close(asked->fd[i].fd);
    buffer_clear(&asked->text[OUT]);
    buffer_clear(&asked->text[ERRORS]);
    if (asked->signal > 0)
        raise(asked->signal);
    sigprocmask(SIG_SETMASK, &asked->mask, NULL);
}
