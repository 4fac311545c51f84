/* writer.c - see writer.h
 *
 * The lock guards the queue and everything that both threads use. The writer's thread holds it
 * to take a batch and to release it, never while it formats or writes. A signal interrupts its
 * write() and poll(), so that muster can give up on a reader that never reads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "thread.h"
#include "xalloc.h"

#define BATCH_BYTES  ((size_t)64 * 1024) /* taken from the queue at a time */
#define RUN_JOIN_MAX ((size_t)16 * 1024) /* lines join a run up to this size */
#define INTERRUPT_S  0.01
#define WRITE_MAX    ((size_t)64 * 1024) /* per write: a slow reader must not look stalled */

/* Waiting lines of one source, or its text without a line end. */
struct run {
    struct run     *next;
    struct source  *source;
    struct buffer   bytes;
    size_t          charge;
    struct timespec when;
    bool            is_unfinished;
};

struct writer {
    int                      fd[2];
    const struct writer_ops *ops;
    void                    *arg;
    pthread_t                thread;

    pthread_mutex_t lock;
    pthread_cond_t  work;     /* wakes the thread */
    pthread_cond_t  over;     /* wakes writer_finish() */
    struct run     *head, *last;
    size_t          waiting;
    struct buffer   own;
    size_t          own_left_out; /* lines */
    char           *progress;     /* NULL: no change */
    bool            is_idle, is_ending;
    bool            is_closed; /* from now on all bytes are dropped */
    bool            is_over;

    /* Only the thread uses these, until it is joined. */
    struct display  display;
    struct run     *batch;     /* taken from the queue, all for one descriptor */
    struct run     *unformed;  /* runs of batch that are not completely in out yet */
    struct buffer   own_batch;
    char           *progress_batch;
    struct buffer   out;
    size_t          out_done;  /* bytes of out that are written */
    bool            out_is_stderr, out_is_own;
    bool            has_written[2], has_failed[2];
    uint64_t        lost;
    atomic_bool     is_given_up; /* of the reader: bytes that it has not taken are dropped */
    atomic_llong    moved_ns;  /* time of the last write, or when the thread began to wait */
    bool            is_joined;
};

static struct run     *open_run(const struct writer *writer, const struct source *source,
                                size_t more);
static void            drop(struct writer *writer, const struct source *source,
                            size_t size, size_t charge);
static void            queue_run(struct writer *writer, struct source *source,
                                 struct buffer *bytes, size_t charge, bool is_unfinished);
static void            wake(struct writer *writer);
static void           *write_all(void *arg);
static bool            has_work(const struct writer *writer);
static void            heed_interruption(void);
static void            interrupted(int number);
static void            end_writing(struct writer *writer);
static void            take_batch(struct writer *writer);
static void            take_own(struct writer *writer);
static void            write_batch(struct writer *writer);
static void            flush_full(struct buffer *out, void *arg);
static void            flush(struct writer *writer);
static ssize_t         write_some(int fd, const char *bytes, size_t size);
static void            check_close(struct writer *writer, bool is_stderr);
static struct timespec monotonic_in(double seconds);
static void            give_up(struct writer *writer);
static uint64_t        bytes_of(const struct run *run);
static void            release_batch(struct writer *writer);
static void            free_runs(struct run *run, const struct writer *writer,
                                 size_t *waiting);

struct writer *writer_new(const int fd[2], bool is_terminal, const struct writer_ops *ops,
                          void *arg)
{
    struct writer     *writer = xcalloc(1, sizeof *writer);
    pthread_condattr_t monotonic;

    memcpy(writer->fd, fd, sizeof writer->fd);
    writer->ops = ops;
    writer->arg = arg;
    display_init(&writer->display, is_terminal);
    writer->display.full = flush_full;
    writer->display.arg = writer;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->work, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&writer->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    writer->moved_ns = clock_now_ns();
    if (thread_start(&writer->thread, write_all, writer) != 0)
        xalloc_die();
    return writer;
}

/* --- the event loop's side ------------------------------------------------- */

void writer_add(struct writer *writer, struct source *source, struct buffer *run,
                size_t charge)
{
    struct run *open;

    pthread_mutex_lock(&writer->lock);
    open = writer->is_closed ? NULL : open_run(writer, source, run->size);
    if (writer->is_closed) {
        drop(writer, source, run->size, charge);
    } else if (open != NULL) {
        buffer_add(&open->bytes, run->bytes, run->size);
        open->charge += charge;
        writer->waiting += run->size;
    } else {
        queue_run(writer, source, run, charge, false);
    }
    wake(writer);
    pthread_mutex_unlock(&writer->lock);
    buffer_clear(run);
}

/* Returns the last run of source if more lines may join it, or NULL. */
static struct run *open_run(const struct writer *writer, const struct source *source,
                            size_t more)
{
    struct run *run = source->open;
    bool        is_crowded = writer->waiting > WRITER_STRICT_MAX;

    if (run == NULL || run->bytes.size + more > RUN_JOIN_MAX)
        return NULL;
    if (!is_crowded && (run != writer->last || source->is_timed))
        return NULL;
    return run;
}

static void drop(struct writer *writer, const struct source *source, size_t size,
                 size_t charge)
{
    writer->lost += size;
    if (charge > 0)
        writer->ops->done(source->node, charge, writer->arg);
}

bool writer_unfinished(struct writer *writer, struct source *source, const char *text,
                       size_t size)
{
    struct buffer copy = { 0 };
    bool          is_busy;

    pthread_mutex_lock(&writer->lock);
    is_busy = writer->head != NULL;
    if (!is_busy && writer->display.is_terminal && !writer->is_closed) {
        buffer_add(&copy, text, size);
        queue_run(writer, source, &copy, 0, true);
        wake(writer);
    }
    pthread_mutex_unlock(&writer->lock);
    return !is_busy;
}

static void queue_run(struct writer *writer, struct source *source, struct buffer *bytes,
                      size_t charge, bool is_unfinished)
{
    struct run *run = xcalloc(1, sizeof *run);

    run->source = source;
    run->bytes = *bytes;
    run->charge = charge;
    run->is_unfinished = is_unfinished;
    if (source->is_timed)
        clock_gettime(CLOCK_REALTIME, &run->when);
    *bytes = (struct buffer){ 0 };
    if (writer->last != NULL)
        writer->last->next = run;
    else
        writer->head = run;
    writer->last = run;
    writer->waiting += sizeof *run + run->bytes.size;
    source->open = is_unfinished ? NULL : run;
}

void writer_own(struct writer *writer, const char *lines, size_t size)
{
    pthread_mutex_lock(&writer->lock);
    if (writer->own_left_out > 0 || writer->own.size + size > WRITER_OWN_MAX)
        writer->own_left_out++;
    else
        buffer_add(&writer->own, lines, size);
    wake(writer);
    pthread_mutex_unlock(&writer->lock);
}

void writer_progress(struct writer *writer, const char *text)
{
    pthread_mutex_lock(&writer->lock);
    free(writer->progress);
    writer->progress = xstrdup(text);
    wake(writer);
    pthread_mutex_unlock(&writer->lock);
}

size_t writer_waiting(struct writer *writer)
{
    size_t waiting;

    pthread_mutex_lock(&writer->lock);
    waiting = writer->waiting;
    pthread_mutex_unlock(&writer->lock);
    return waiting;
}

/* The thread owns its batch, but does not change its bytes. */
uint64_t writer_unread(struct writer *writer)
{
    uint64_t unread;

    pthread_mutex_lock(&writer->lock);
    unread = bytes_of(writer->batch) + bytes_of(writer->head);
    pthread_mutex_unlock(&writer->lock);
    return unread;
}

double writer_stuck_s(struct writer *writer)
{
    bool is_busy;

    pthread_mutex_lock(&writer->lock);
    is_busy = writer->waiting + writer->own.size + writer->own_batch.size > 0;
    pthread_mutex_unlock(&writer->lock);
    if (!is_busy)
        return 0;
    return (double)(clock_now_ns() - writer->moved_ns) / NS_PER_S;
}

static void wake(struct writer *writer)
{
    if (!writer->is_idle)
        return;
    writer->moved_ns = clock_now_ns();
    pthread_cond_signal(&writer->work);
}

/* --- the thread ------------------------------------------------------------ */

static void *write_all(void *arg)
{
    struct writer *writer = arg;

    heed_interruption();
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        while (!has_work(writer) && !writer->is_ending) {
            writer->is_idle = true;
            pthread_cond_wait(&writer->work, &writer->lock);
        }
        writer->is_idle = false;
        if (!has_work(writer))
            break;
        take_batch(writer);
        pthread_mutex_unlock(&writer->lock);
        write_batch(writer);
        pthread_mutex_lock(&writer->lock);
        release_batch(writer);
    }
    writer->is_closed = true;
    pthread_mutex_unlock(&writer->lock);
    end_writing(writer);
    return NULL;
}

/* give_up() sends SIGRTMIN to this thread to interrupt its write(). */
static void heed_interruption(void)
{
    const struct sigaction action = { .sa_handler = interrupted }; /* without SA_RESTART */
    sigset_t               ours;

    sigaction(SIGRTMIN, &action, NULL);
    sigemptyset(&ours);
    sigaddset(&ours, SIGRTMIN);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

static void interrupted(int number)
{
    (void)number;
}

static void end_writing(struct writer *writer)
{
    writer->out_is_own = true;
    display_end(&writer->display, &writer->out);
    flush(writer);
    if (!atomic_load(&writer->is_given_up)) {
        check_close(writer, false);
        check_close(writer, true);
    }
    pthread_mutex_lock(&writer->lock);
    writer->is_over = true;
    pthread_cond_signal(&writer->over);
    pthread_mutex_unlock(&writer->lock);
    if (writer->ops->over != NULL && !atomic_load(&writer->is_given_up))
        writer->ops->over(writer->arg);
}

static bool has_work(const struct writer *writer)
{
    return writer->head != NULL || writer->own.size > 0 || writer->progress != NULL;
}

static void take_batch(struct writer *writer)
{
    struct run **end = &writer->batch;
    size_t       size = 0;

    take_own(writer);
    writer->progress_batch = writer->progress;
    writer->progress = NULL;
    while (writer->head != NULL && size < BATCH_BYTES &&
           (writer->batch == NULL ||
            writer->head->source->is_stderr == writer->batch->source->is_stderr)) {
        struct run *run = writer->head;

        writer->head = run->next;
        run->next = NULL;
        if (run->source->open == run)
            run->source->open = NULL;
        size += run->bytes.size;
        *end = run;
        end = &run->next;
    }
    if (writer->head == NULL)
        writer->last = NULL;
}

static void take_own(struct writer *writer)
{
    char note[80];

    writer->own_batch = writer->own;
    writer->own = (struct buffer){ 0 };
    if (writer->own_left_out == 0)
        return;
    snprintf(note, sizeof note, "muster: %zu messages were left out here\n",
             writer->own_left_out);
    buffer_add_text(&writer->own_batch, note);
    writer->own_left_out = 0;
}

static void write_batch(struct writer *writer)
{
    struct display *display = &writer->display;
    struct winsize  window;

    if (display->is_terminal && ioctl(writer->fd[0], TIOCGWINSZ, &window) == 0)
        display->columns = window.ws_col > 0 ? window.ws_col : DISPLAY_COLUMNS;
    writer->unformed = writer->batch;
    writer->out_is_stderr = writer->out_is_own = true;
    if (writer->own_batch.size > 0)
        display_own(display, writer->own_batch.bytes, writer->own_batch.size, &writer->out);
    if (writer->progress_batch != NULL)
        display_progress(display, writer->progress_batch, &writer->out);
    flush(writer);
    writer->out_is_own = false;
    if (writer->batch != NULL)
        writer->out_is_stderr = writer->batch->source->is_stderr;
    for (; writer->unformed != NULL; writer->unformed = writer->unformed->next) {
        const struct run *run = writer->unformed;

        if (run->is_unfinished)
            display_unfinished(display, run->source, &run->when, run->bytes.bytes,
                               run->bytes.size, &writer->out);
        else
            display_run(display, run->source, &run->when, run->bytes.bytes, run->bytes.size,
                        &writer->out);
    }
    flush(writer);
}

static void flush_full(struct buffer *out, void *arg)
{
    (void)out;
    flush(arg);
}

/* A failure counts only for bytes of ranks, not for muster's own lines. */
static void flush(struct writer *writer)
{
    bool     is_stderr = writer->out_is_stderr, is_own = writer->out_is_own;
    size_t   size = writer->out.size;
    uint64_t lost;

    while (writer->out_done < size && !writer->has_failed[is_stderr]) {
        ssize_t n = write_some(writer->fd[is_stderr], writer->out.bytes + writer->out_done,
                               size - writer->out_done);

        if (n >= 0) {
            writer->out_done += (size_t)n;
            writer->moved_ns = clock_now_ns();
            writer->has_written[is_stderr] |= !is_own;
        } else if (errno == EINTR && !atomic_load(&writer->is_given_up)) {
            continue;
        } else if (is_own) {
            break;
        } else {
            writer->has_failed[is_stderr] = true;
            writer->ops->failed(is_stderr, errno == EINTR ? ETIMEDOUT : errno, writer->arg);
        }
    }
    lost = display_emptied(&writer->display, &writer->out, writer->out_done);
    writer->lost += is_own ? 0 : lost;
    writer->out_done = 0;
}

/* Writes once, or waits for room. After a signal, write() returns what it has written so
 * far. */
static ssize_t write_some(int fd, const char *bytes, size_t size)
{
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    ssize_t       n = write(fd, bytes, size < WRITE_MAX ? size : WRITE_MAX);

    if (n < 0 && errno == EAGAIN) {
        poll(&room, 1, -1); /* the user's descriptor is non-blocking */
        errno = EINTR;
    }
    return n;
}

/* Some file servers report a full disk only when the file is closed. It is enough to close a
 * copy. */
static void check_close(struct writer *writer, bool is_stderr)
{
    int copy = fcntl(writer->fd[is_stderr], F_DUPFD_CLOEXEC, 0);

    if (copy < 0 || close(copy) == 0 || errno == EINTR || writer->has_failed[is_stderr] ||
        !writer->has_written[is_stderr])
        return;
    writer->has_failed[is_stderr] = true;
    writer->ops->failed(is_stderr, errno, writer->arg);
}

/* --- the end --------------------------------------------------------------- */

void writer_close(struct writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->is_ending = true;
    pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
}

bool writer_is_over(struct writer *writer)
{
    bool is_over;

    pthread_mutex_lock(&writer->lock);
    is_over = writer->is_over;
    pthread_mutex_unlock(&writer->lock);
    return is_over || writer->is_joined;
}

uint64_t writer_finish(struct writer *writer, double patience_s)
{
    struct timespec until;
    long long       moved_ns;
    int             rc = 0;

    if (writer->is_joined)
        return writer->lost;
    writer_close(writer);
    pthread_mutex_lock(&writer->lock);
    do {
        moved_ns = writer->moved_ns;
        until = monotonic_in(patience_s);
        while (!writer->is_over && rc == 0)
            rc = pthread_cond_timedwait(&writer->over, &writer->lock, &until);
        rc = 0;
    } while (!writer->is_over && writer->moved_ns != moved_ns);
    if (!writer->is_over)
        give_up(writer);
    pthread_mutex_unlock(&writer->lock);
    pthread_join(writer->thread, NULL);
    writer->is_joined = writer->is_closed = true;
    return writer->lost;
}

/* The thread drops and counts what waits when its write returns. A signal that arrives before
 * the write begins is lost, so it is sent repeatedly. */
static void give_up(struct writer *writer)
{
    struct timespec until;

    atomic_store(&writer->is_given_up, true);
    while (!writer->is_over) {
        pthread_kill(writer->thread, SIGRTMIN);
        until = monotonic_in(INTERRUPT_S);
        pthread_cond_timedwait(&writer->over, &writer->lock, &until);
    }
}

static struct timespec monotonic_in(double seconds)
{
    int64_t at_ns = clock_now_ns() + (int64_t)(seconds * 1e9);

    return (struct timespec){ .tv_sec = at_ns / NS_PER_S, .tv_nsec = at_ns % NS_PER_S };
}

static uint64_t bytes_of(const struct run *run)
{
    uint64_t bytes = 0;

    for (; run != NULL; run = run->next)
        bytes += run->is_unfinished ? 0 : run->bytes.size;
    return bytes;
}

static void release_batch(struct writer *writer)
{
    free_runs(writer->batch, writer, &writer->waiting);
    writer->batch = NULL;
    buffer_clear(&writer->own_batch);
    free(writer->progress_batch);
    writer->progress_batch = NULL;
}

static void free_runs(struct run *run, const struct writer *writer, size_t *waiting)
{
    struct run *next;

    for (; run != NULL; run = next) {
        next = run->next;
        *waiting -= sizeof *run + run->bytes.size;
        if (run->charge > 0)
            writer->ops->done(run->source->node, run->charge, writer->arg);
        buffer_clear(&run->bytes);
        free(run);
    }
}

void writer_free(struct writer *writer)
{
    if (writer == NULL)
        return;
    writer_finish(writer, 0);
    buffer_clear(&writer->own);
    buffer_clear(&writer->out);
    display_clear(&writer->display);
    free(writer->progress);
    pthread_cond_destroy(&writer->over);
    pthread_cond_destroy(&writer->work);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}
