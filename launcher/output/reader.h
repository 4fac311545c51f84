/* reader.h - the end of muster: it waits for the reader of its output, until the user leaves
 *
 * When all nodes are done only the reader is left, and muster waits for it without a limit, as
 * any filter does. From now on signals that end a run concern the reader: on the first, muster
 * reports how much is unread; on the next, it leaves. If the user has already killed the run,
 * muster waits no longer than READER_HURRIED_S for a reader that takes nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_READER_H
#define MUSTER_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/event.h>

#include "output/output.h"

#define READER_HURRIED_S 1.0 /* the run was killed, and the reader takes nothing */
#define READER_LEAVE_S   1.0 /* the user leaves: time for muster's own last lines */

struct reader {
    struct event_base *base;
    struct output     *output;     /* the output that muster waits for now; NULL: none */
    int64_t            since_ns;   /* when the wait began */
    bool               is_begun;   /* signals concern the reader */
    bool               is_told;    /* the user knows how much is unread */
    bool               is_hurried; /* the run was killed */
    bool               has_left;
    int                signals;    /* number of all signals received */
};

/* All nodes are done. signals: how many were received before. */
void reader_begin(struct reader *reader, struct event_base *base, int signals);

/* Handles a signal. */
void reader_interrupted(struct reader *reader);

/* Closes output, and runs the event loop until it is written. Returns false if muster gave up
 * on the reader; output_finish(output, 0) then drops and counts the rest. */
bool reader_await(struct reader *reader, struct output *output);

/* Prints muster's own last words when no other output is open: err and then out, which may be
 * "". *error is 0, or the errno of a failed write to out_fd. Returns false if muster gave up on
 * a reader. */
bool reader_print(struct reader *reader, int out_fd, int err_fd, const char *out,
                  const char *err, int *error);

#endif
