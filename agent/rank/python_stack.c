/* python_stack.c - see python_stack.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "rank/python_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "exit_code.h"
#include "node/signal_caught.h"
#include "rank/ranks.h"
#include "xalloc.h"
#include "xevent.h"

#define LOOK_MS   50
#define QUIET     3 /* looks without a new line, before the threads are looked at */
#define READ_MAX  65536 /* bytes of the file in one look */

struct python_stack {
    struct python_stack_request request;
    pid_t                       pid;
    struct fault_lines          lines;
    struct stream              *stream; /* NULL: the file counts */
    int                         file; /* -1: the stream counts */
    int                         blocking; /* threads that blocked the signal before */
    size_t                      seen;  /* of the text, by the last look */
    int                         quiet; /* looks since it has grown */
    bool                        is_late;
    int64_t                     until_ns;
    struct event               *look;
};

static int  may_send(const struct python_stack_request *request, int *blocking,
                     struct error *err);
static void open_source(struct python_stack *stack);
static void look_cb(evutil_socket_t fd, short what, void *arg);
static void read_file(struct python_stack *stack);
static bool is_complete(struct python_stack *stack);

struct python_stack *python_stack_ask(const struct python_stack_request *request,
                                      struct error *err)
{
    static const struct timeval pause = { .tv_usec = LOOK_MS * 1000 };
    struct python_stack        *stack;
    int                         error, blocking;

    if (may_send(request, &blocking, err) < 0)
        return NULL;
    stack = xcalloc(1, sizeof *stack);
    stack->request = *request;
    stack->pid = request->python->pid;
    stack->blocking = blocking;
    stack->until_ns = clock_now_ns() + (int64_t)(PYTHON_STACK_S * NS_PER_S);
    stack->look = event_new(request->rank->ranks->base, -1, EV_PERSIST, look_cb, stack);
    if (stack->look == NULL)
        xalloc_die();
    open_source(stack);
    error = process_signal(request->python, request->signal);
    if (error != 0) {
        python_stack_free(stack);
        err_set(err, "cannot send %s: %s", signal_name(request->signal).text, strerror(error));
        return NULL;
    }
    xevent_add(stack->look, &pause);
    return stack;
}

/* A signal that every thread blocks would be there after an execve(), for a program that does not
 * catch it. */
static int may_send(const struct python_stack_request *request, int *blocking,
                    struct error *err)
{
    const struct signal_name name = signal_name(request->signal);
    const pid_t              pid = request->python->pid;
    struct signal_threads    threads;

    signal_threads_read(&threads, pid, request->signal);
    *blocking = threads.blocking;
    if (threads.all == 0)
        return err_set(err, "the rank has ended");
    if (!signal_process_catches(pid, request->signal))
        return err_set(err, "the rank does not catch %s: call faulthandler.register(signal.%s)",
                       name.text, name.text);
    if (threads.blocking == threads.all)
        return err_set(err, "the rank blocks %s in all its threads", name.text);
    return 0;
}

/* The file is the rank's: what it has from earlier requests goes. With a terminal, stderr is in
 * the rank's one stream. */
static void open_source(struct python_stack *stack)
{
    struct rank *rank = stack->request.rank;
    struct stat  about;

    stack->file = -1;
    if (stack->request.file != NULL)
        stack->file = open(stack->request.file, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (stack->file >= 0 && fstat(stack->file, &about) == 0 && S_ISREG(about.st_mode) &&
        ftruncate(stack->file, 0) == 0)
        return;
    if (stack->file >= 0)
        close(stack->file);
    stack->file = -1;
    stack->stream = rank->err.waiting != NULL ? &rank->err : &rank->out;
    stack->stream->faults = &stack->lines;
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct python_stack *stack = arg;

    (void)fd, (void)what;
    read_file(stack);
    stack->quiet = stack->lines.text.size == stack->seen ? stack->quiet + 1 : 0;
    stack->seen = stack->lines.text.size;
    stack->is_late = clock_now_ns() >= stack->until_ns;
    if (!stack->is_late && !stack->lines.is_full && !is_complete(stack))
        return;
    event_del(stack->look);
    if (stack->stream != NULL)
        stack->stream->faults = NULL;
    stack->request.known(stack->request.arg);
}

static void read_file(struct python_stack *stack)
{
    char    bytes[READ_MAX];
    ssize_t got = stack->file >= 0 ? read(stack->file, bytes, sizeof bytes) : 0;

    if (got > 0)
        fault_lines_add(&stack->lines, bytes, (size_t)got);
}

/* faulthandler writes in many pieces, and marks no end. But while it writes, its thread blocks the
 * signal. */
static bool is_complete(struct python_stack *stack)
{
    struct signal_threads threads;
    struct process        python;

    if (stack->quiet < QUIET || (stack->stream != NULL && stream_unread(stack->stream) > 0))
        return false;
    if (stack->seen == 0)
        return !process_read(stack->pid, &python);
    signal_threads_read(&threads, stack->pid, stack->request.signal);
    return !threads.is_pending && threads.blocking <= stack->blocking;
}

bool python_stack_write(const struct python_stack *stack, struct evbuffer *out)
{
    const struct buffer     *text = &stack->lines.text;
    const struct signal_name name = signal_name(stack->request.signal);

    if (text->size == 0) {
        evbuffer_add_printf(out, "(no stack of faulthandler within %g s of %s)\n", PYTHON_STACK_S,
                            name.text);
        return false;
    }
    evbuffer_add_printf(out, "faulthandler, by %s, of pid %d:\n", name.text, (int)stack->pid);
    evbuffer_add(out, text->bytes, text->size);
    if (stack->lines.is_full)
        evbuffer_add_printf(out, "(and more)\n");
    else if (stack->is_late)
        evbuffer_add_printf(out, "(not complete within %g s)\n", PYTHON_STACK_S);
    return true;
}

void python_stack_free(struct python_stack *stack)
{
    if (stack == NULL)
        return;
    if (stack->stream != NULL)
        stack->stream->faults = NULL;
    if (stack->file >= 0)
        close(stack->file);
    event_free(stack->look);
    fault_lines_clear(&stack->lines);
    free(stack);
}
