/* follow.c - see follow.h
 *
 * It polls the files ten times per second, since on a network home no event reports a change.
 * At most FOLLOW_AHEAD bytes are in memory; the rest stays in the files until the reader has
 * taken them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "history/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "history/run_dir.h"
#include "log.h"
#include "output/output.h"
#include "xalloc.h"
#include "xevent.h"

#define TURN_S       0.1
#define PIECE        (64 * 1024)
#define FOLLOW_AHEAD (4 * PIECE)
#define FINISH_S     30.0 /* time for a reader to take the last lines */
#define HURRIED_S    0.2
#define SIGNALS      2

struct follow {
    const struct follow_terms *terms;
    struct event_base         *base;
    struct output             *output;
    int                        fd[2];      /* [is_stderr] */
    char                       last[2];    /* last byte shown */
    size_t                     unwritten;  /* bytes read and still in memory */
    bool                       is_waiting; /* waits for room in memory */
    struct event              *turn, *started, *signals[SIGNALS];
    enum follow_end            end;
};

static void end_lines(struct follow *follow);
static void open_all(struct follow *follow);
static void consumed_cb(size_t node, size_t bytes, void *arg);
static void failed_cb(bool is_stderr, int error, void *arg);
static int  open_file(const struct follow_terms *terms, const char *name);
static void seek_lines(int fd, int lines);
static void turn_cb(evutil_socket_t fd, short what, void *arg);
static void signal_cb(evutil_socket_t number, short what, void *arg);
static void started_cb(evutil_socket_t fd, short what, void *arg);
static void take_turn(struct follow *follow);
static bool read_file(struct follow *follow, bool is_stderr);
static void show(struct follow *follow, bool is_stderr, const char *bytes, size_t size);
static void finish(struct follow *follow, enum follow_end end);
static void close_all(struct follow *follow);

enum follow_end follow_run(const struct follow_terms *terms)
{
    struct follow follow = { .terms = terms };

    signal(SIGPIPE, SIG_IGN);
    open_all(&follow);
    turn_cb(-1, 0, &follow);
    event_base_dispatch(follow.base);
    if (follow.end != FOLLOW_OVER)
        end_lines(&follow);
    if (output_finish(follow.output, follow.end == FOLLOW_INTERRUPTED ? HURRIED_S : FINISH_S) > 0 &&
        follow.end != FOLLOW_INTERRUPTED)
        follow.end = FOLLOW_UNREAD;
    close_all(&follow);
    return follow.end;
}

/* Ends incomplete lines, since we stop in the middle of the output, and our own messages may
 * follow. */
static void end_lines(struct follow *follow)
{
    int i;

    for (i = 0; i < 2; i++)
        if (follow->last[i] != '\0' && follow->last[i] != '\n')
            show(follow, i, "\n", 1);
}

static void open_all(struct follow *follow)
{
    static const struct output_ops ops = { .consumed = consumed_cb, .failed = failed_cb };
    static const int               watched[SIGNALS] = { SIGINT, SIGTERM };
    sigset_t                       held;
    struct output_settings         settings = {
        .out_fd = follow->terms->out_fd,
        .err_fd = STDERR_FILENO,
        .filter_out = isatty(follow->terms->out_fd),
        .filter_err = isatty(STDERR_FILENO),
    };
    int i;

    follow->base = event_base_new();
    if (follow->base == NULL)
        xalloc_die();
    follow->fd[0] = open_file(follow->terms, "stdout");
    follow->fd[1] = open_file(follow->terms, "stderr");
    follow->output = output_new(follow->base, &settings, &ops, follow);
    output_add_rank(follow->output, 0, 0, "", "", true, NULL);
    follow->turn = evtimer_new(follow->base, turn_cb, follow);
    sigemptyset(&held);
    for (i = 0; i < SIGNALS; i++) {
        follow->signals[i] = evsignal_new(follow->base, watched[i], signal_cb, follow);
        xevent_add(follow->signals[i], NULL);
        sigaddset(&held, watched[i]);
    }
    sigprocmask(SIG_UNBLOCK, &held, NULL); /* signals may be pending */
    if (follow->terms->started_fd < 0)
        return;
    follow->started =
        event_new(follow->base, follow->terms->started_fd, EV_READ, started_cb, follow);
    xevent_add(follow->started, NULL);
}

static void consumed_cb(size_t node, size_t bytes, void *arg)
{
    struct follow *follow = arg;

    (void)node;
    follow->unwritten -= bytes;
    if (follow->is_waiting && follow->unwritten < FOLLOW_AHEAD / 2)
        take_turn(follow);
}

static void failed_cb(bool is_stderr, int error, void *arg)
{
    struct follow *follow = arg;

    if (follow->end == FOLLOW_INTERRUPTED)
        return;
    log_error("%s: %s", is_stderr ? "stderr" : "stdout", output_error_words(error));
    finish(follow, FOLLOW_UNREAD);
}

static int open_file(const struct follow_terms *terms, const char *name)
{
    int fd = openat(terms->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd >= 0 && terms->tail >= 0)
        seek_lines(fd, terms->tail);
    return fd;
}

/* Seeks to the beginning of the last lines. An incomplete last line counts. */
static void seek_lines(int fd, int lines)
{
    char  piece[PIECE];
    off_t end = lseek(fd, 0, SEEK_END), at = end, i;

    while (at > 0 && lines > 0) {
        off_t size = at < PIECE ? at : PIECE;

        at -= size;
        if (pread(fd, piece, (size_t)size, at) != size)
            break;
        for (i = size; i > 0; i--) {
            if (piece[i - 1] == '\n' && at + i < end && --lines == 0) {
                lseek(fd, at + i, SEEK_SET);
                return;
            }
        }
    }
    if (lines > 0)
        lseek(fd, 0, SEEK_SET);
}

static void turn_cb(evutil_socket_t fd, short what, void *arg)
{
    struct follow *follow = arg;
    struct timeval next = clock_interval(TURN_S);

    (void)fd, (void)what;
    take_turn(follow);
    xevent_add(follow->turn, &next);
}

static void signal_cb(evutil_socket_t number, short what, void *arg)
{
    struct follow *follow = arg;

    (void)what;
    if (follow->terms->launcher > 0)
        kill(follow->terms->launcher, (int)number);
    else
        finish(follow, FOLLOW_INTERRUPTED);
}

/* Without a byte, the launcher has exited; take_turn() sees this by its lock. */
static void started_cb(evutil_socket_t fd, short what, void *arg)
{
    struct follow *follow = arg;
    char           word;

    (void)what;
    if (read(fd, &word, 1) != 1)
        return;
    take_turn(follow);
    finish(follow, FOLLOW_STARTED);
}

/* Checks the lock before it reads: what the launcher wrote before it released the lock is then
 * in the files. */
static void take_turn(struct follow *follow)
{
    bool is_over = run_dir_launcher(follow->terms->dir_fd) == 0;
    bool is_all = read_file(follow, true);

    is_all = read_file(follow, false) && is_all;
    follow->is_waiting = !is_all;
    if (is_over && is_all && follow->unwritten == 0)
        finish(follow, FOLLOW_OVER);
}

/* True: it has read the whole file, as it is now. */
static bool read_file(struct follow *follow, bool is_stderr)
{
    char    piece[PIECE];
    ssize_t n = 0;

    while (follow->unwritten < FOLLOW_AHEAD) {
        n = read(follow->fd[is_stderr], piece, sizeof piece);
        if (n <= 0)
            return true;
        show(follow, is_stderr, piece, (size_t)n);
    }
    return false;
}

static void show(struct follow *follow, bool is_stderr, const char *bytes, size_t size)
{
    follow->unwritten += size;
    follow->last[is_stderr] = bytes[size - 1];
    output_bytes(follow->output, 0, is_stderr ? STREAM_STDERR : STREAM_STDOUT, bytes, size);
}

static void finish(struct follow *follow, enum follow_end end)
{
    follow->end = end;
    event_base_loopbreak(follow->base);
}

static void close_all(struct follow *follow)
{
    int i;

    output_free(follow->output);
    event_free(follow->turn);
    if (follow->started != NULL)
        event_free(follow->started);
    for (i = 0; i < SIGNALS; i++)
        event_free(follow->signals[i]);
    event_base_free(follow->base);
    for (i = 0; i < 2; i++)
        if (follow->fd[i] >= 0)
            close(follow->fd[i]);
}
