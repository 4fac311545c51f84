/* command.c - see command.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "task/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "exit_code.h"
#include "fd.h"
#include "strlist.h"
#include "xalloc.h"

#define PLACES   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LOOK_MS  5    /* between two checks whether it has exited, once its pipes are closed */
#define STUCK_MS 1000 /* limit for KILL */
#define PART     4096
#define TURN     (64u << 10) /* bytes to read from a pipe at a time: all that a pipe holds */

enum { IN, OUT, ERR, WHY, PIPES };

/* Our ends; -1: closed. WHY carries errno if exec fails. */
struct command {
    pid_t         pid;
    int           fd[PIPES];
    int           out_fd; /* stdout, belongs to the caller; -1: into text */
    const char   *input;
    struct buffer text[PIPES];
    bool          is_cut;
};

static void add_last_lines(struct buffer *words, const struct command_result *result, int lines);
static bool start(struct command *command, const char *const *argv);
static void become(const char *const *argv, int theirs[PIPES], pid_t parent)
    __attribute__((noreturn));
static bool wait_until(struct command *command, int64_t late_ns, int *status);
static void exchange(struct command *command, int ms);
static void put(struct command *command);
static void get(struct command *command, int which);
static void drop(int *fd);

bool command_run(const char *const *argv, const char *input, double timeout_s,
                 struct command_result *result)
{
    return command_run_to(-1, argv, input, timeout_s, result);
}

bool command_run_to(int out_fd, const char *const *argv, const char *input, double timeout_s,
                    struct command_result *result)
{
    struct command command = { .fd = { -1, -1, -1, -1 }, .out_fd = out_fd, .input = input };
    int            status = 0, which, error = 0;

    *result = (struct command_result){ .status = -1 };
    if (!start(&command, argv)) {
        result->error = errno;
    } else if (!wait_until(&command, clock_now_ns() + (int64_t)(timeout_s * NS_PER_S), &status)) {
        result->timed_out = true;
        kill(-command.pid, SIGKILL);
        if (wait_until(&command, clock_now_ns() + STUCK_MS * (NS_PER_S / 1000), &status))
            result->signal = SIGKILL;
    } else {
        exchange(&command, 0);
        if (command.text[WHY].size == sizeof error)
            memcpy(&error, command.text[WHY].bytes, sizeof error);
        result->error = error;
        result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        result->status = WIFEXITED(status) && error == 0 ? WEXITSTATUS(status) : -1;
    }
    for (which = 0; which < PIPES; which++) {
        drop(&command.fd[which]);
        buffer_add(&command.text[which], "", 1);
    }
    result->out = command.text[OUT].bytes;
    result->out_size = command.text[OUT].size - 1;
    result->err = command.text[ERR].bytes;
    result->err_size = command.text[ERR].size - 1;
    result->is_cut = command.is_cut;
    buffer_clear(&command.text[IN]);
    buffer_clear(&command.text[WHY]);
    return result->status == 0;
}

void command_clear(struct command_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct command_result){ .status = -1 };
}

void command_why(const struct command_result *result, double timeout_s, char *text, size_t size)
{
    command_why_lines(result, timeout_s, 1, text, size);
}

void command_why_lines(const struct command_result *result, double timeout_s, int lines,
                       char *text, size_t size)
{
    struct buffer words = { 0 };

    if (result->error != 0)
        snprintf(text, size, "%s", strerror(result->error));
    else if (result->timed_out)
        snprintf(text, size, "not finished after %g s", timeout_s);
    else if (result->signal != 0)
        snprintf(text, size, "killed by %s", signal_name(result->signal).text);
    else
        snprintf(text, size, "exit status %d", result->status);
    add_last_lines(&words, result, lines);
    if (words.size > 1 && (lines > 1 || result->status >= 0))
        snprintf(text + strlen(text), size - strlen(text), ": %s", words.bytes);
    buffer_clear(&words);
}

/* The last lines of its stderr, with a final NUL. */
static void add_last_lines(struct buffer *words, const struct command_result *result, int lines)
{
    const char *last = result->err + result->err_size, *end;

    while (last > result->err && (last[-1] == '\n' || last[-1] == ' '))
        last--;
    for (end = last; last > result->err; last--)
        if (last[-1] == '\n' && --lines == 0)
            break;
    for (; last < end; last++)
        if (*last == '\n')
            buffer_add_text(words, " | ");
        else
            buffer_add(words, last, 1);
    buffer_add(words, "", 1);
}

static bool start(struct command *command, const char *const *argv)
{
    int   theirs[PIPES] = { -1, -1, -1, -1 }, pair[2], which, error;
    pid_t self = getpid();
    bool  is_open = true;

    for (which = 0; which < PIPES && is_open; which++) {
        if (which == IN && command->input == NULL) {
            theirs[IN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
            continue;
        }
        if (which == OUT && command->out_fd >= 0) {
            theirs[OUT] = fcntl(command->out_fd, F_DUPFD_CLOEXEC, 0);
            continue;
        }
        is_open = pipe2(pair, O_CLOEXEC) == 0;
        if (!is_open)
            break;
        theirs[which] = pair[which == IN ? 0 : 1];
        command->fd[which] = pair[which == IN ? 1 : 0];
        fd_set_nonblock(command->fd[which]);
    }
    command->pid = is_open ? fork() : -1;
    error = errno;
    if (command->pid == 0)
        become(argv, theirs, self);
    if (command->pid > 0)
        setpgid(command->pid, command->pid); /* also here: we may kill it before it does this */
    for (which = 0; which < PIPES; which++)
        drop(&theirs[which]);
    errno = error;
    return command->pid > 0;
}

/* Executes the program. It dies with us, unless it changes its user. */
static void become(const char *const *argv, int theirs[PIPES], pid_t parent)
{
    struct strlist env = { 0 };
    const char    *places = getenv("PATH");
    sigset_t       none;
    int            i, error;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (i = 0; environ[i] != NULL; i++)
        strlist_add(&env, environ[i]);
    env_set(&env, "LC_ALL", "C");
    env_setf(&env, "PATH", "%s%s" PLACES, places != NULL ? places : "", places != NULL ? ":" : "");
    setenv("PATH", env_get(&env, "PATH"), 1); /* execvpe() searches it */
    for (i = IN; i <= ERR; i++)
        dup2(theirs[i], i);
    execvpe(argv[0], (char *const *)(uintptr_t)argv, env.item);
    error = errno;
    fd_write_all(theirs[WHY], &error, sizeof error);
    _exit(127);
}

/* True if it exits before late_ns. A daemon that it leaves may keep its pipes open. */
static bool wait_until(struct command *command, int64_t late_ns, int *status)
{
    int64_t left_ms;

    while (waitpid(command->pid, status, WNOHANG) == 0) {
        left_ms = (late_ns - clock_now_ns() + NS_PER_S / 1000 - 1) / (NS_PER_S / 1000);
        if (left_ms <= 0)
            return false;
        exchange(command, left_ms < 100 ? (int)left_ms : 100);
    }
    return true;
}

static void exchange(struct command *command, int ms)
{
    struct pollfd wait[PIPES];
    bool          is_open = command->fd[OUT] >= 0 || command->fd[ERR] >= 0;
    int           which;

    for (which = 0; which < PIPES; which++)
        wait[which] =
            (struct pollfd){ .fd = command->fd[which], .events = which == IN ? POLLOUT : POLLIN };
    if (poll(wait, PIPES, is_open || ms < LOOK_MS ? ms : LOOK_MS) <= 0)
        return;
    if (wait[IN].revents != 0)
        put(command);
    for (which = OUT; which < PIPES; which++)
        if (wait[which].revents != 0)
            get(command, which);
}

static void put(struct command *command)
{
    ssize_t wrote = write(command->fd[IN], command->input, strlen(command->input));

    if (wrote > 0)
        command->input += wrote;
    if ((wrote < 0 && errno != EAGAIN && errno != EINTR) || *command->input == '\0')
        drop(&command->fd[IN]);
}

/* Reads what is available: a program that writes faster than we read must
 * not delay its deadline. */
static void get(struct command *command, int which)
{
    struct buffer *text = &command->text[which];
    char           part[PART];
    size_t         taken;
    ssize_t        got = 1;

    for (taken = 0; taken < TURN; taken += (size_t)got) {
        size_t room = COMMAND_OUTPUT_MAX - text->size;

        got = read(command->fd[which], part, sizeof part);
        if (got <= 0)
            break;
        command->is_cut |= (size_t)got > room;
        buffer_add(text, part, (size_t)got < room ? (size_t)got : room);
    }
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        drop(&command->fd[which]);
}

static void drop(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}
