/* reader.c - see reader.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "output/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "xalloc.h"
#include "xevent.h"

#define TICK_S     0.2
#define TELL_S     1.0 /* muster then tells a user who has stopped the run what it waits for */
#define LEAVE_LAST 3   /* after this many signals muster no longer waits */

static bool   has_been_enough(const struct reader *reader, bool is_last);
static void   tick_cb(evutil_socket_t fd, short what, void *arg);
static void   tell(struct reader *reader);
static double waited_s(const struct reader *reader);
static void   none_consumed(size_t node, size_t bytes, void *arg);
static void   print_failed(bool is_stderr, int error, void *arg);

void reader_begin(struct reader *reader, struct event_base *base, int signals)
{
    *reader = (struct reader){
        .base = base,
        .is_begun = true,
        .signals = signals,
        .is_hurried = signals >= LEAVE_LAST - 1,
        .has_left = signals >= LEAVE_LAST,
    };
}

void reader_interrupted(struct reader *reader)
{
    reader->signals++;
    if (reader->is_told || reader->signals >= LEAVE_LAST)
        reader->has_left = true;
    else if (reader->output != NULL)
        tell(reader);
}

bool reader_await(struct reader *reader, struct output *output)
{
    const struct timeval tick = clock_interval(TICK_S);
    bool                 is_last = reader->has_left; /* the user has left already */
    struct event        *timer;

    output_close(output);
    if (output_is_written(output))
        return true;
    reader->output = output;
    reader->since_ns = clock_now_ns();
    timer = event_new(reader->base, -1, EV_PERSIST, tick_cb, reader);
    if (timer == NULL)
        xalloc_die();
    xevent_add(timer, &tick);
    while (!output_is_written(output) && !has_been_enough(reader, is_last))
        event_base_loop(reader->base, EVLOOP_ONCE);
    event_free(timer);
    reader->output = NULL;
    return output_is_written(output);
}

static bool has_been_enough(const struct reader *reader, bool is_last)
{
    if (is_last)
        return waited_s(reader) >= READER_LEAVE_S;
    return reader->has_left ||
           (reader->is_hurried && output_stuck_s(reader->output) >= READER_HURRIED_S);
}

/* The timer also makes the loop return. */
static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
    struct reader *reader = arg;

    (void)fd, (void)what;
    if (reader->signals > 0 && !reader->is_told && !reader->is_hurried &&
        waited_s(reader) >= TELL_S)
        tell(reader);
}

static void tell(struct reader *reader)
{
    reader->is_told = true;
    log_error("the nodes are done, but the reader has not read %" PRIu64 " bytes of output "
              "(repeat to drop them and exit)",
              output_unread(reader->output));
}

static double waited_s(const struct reader *reader)
{
    return (double)(clock_now_ns() - reader->since_ns) / NS_PER_S;
}

bool reader_print(struct reader *reader, int out_fd, int err_fd, const char *out,
                  const char *err, int *error)
{
    static const struct output_ops ops = { .consumed = none_consumed, .failed = print_failed };
    const struct output_settings   settings = { .out_fd = out_fd,
                                                .err_fd = err_fd,
                                                .filter_out = isatty(out_fd),
                                                .filter_err = isatty(err_fd) };
    int            errors[2] = { 0 };
    struct output *output;
    bool           is_written;

    *error = 0;
    if (out[0] == '\0' && err[0] == '\0')
        return true;
    output = output_new(reader->base, &settings, &ops, errors);
    output_add_rank(output, 0, 0, "", "", true, NULL);
    output_bytes(output, 0, STREAM_STDERR, err, strlen(err));
    output_bytes(output, 0, STREAM_STDOUT, out, strlen(out));
    is_written = reader_await(reader, output);
    output_finish(output, 0);
    output_free(output);
    *error = errors[false];
    return is_written;
}

static void none_consumed(size_t node, size_t bytes, void *arg)
{
    (void)node, (void)bytes, (void)arg;
}

static void print_failed(bool is_stderr, int error, void *arg)
{
    ((int *)arg)[is_stderr] = error;
}
