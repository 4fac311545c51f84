/* reader.h - the end of muster: it waits for whoever reads its output, until the user leaves
 *
 * When every node is over only the reader is left, and muster waits for it without a limit, as
 * any filter does. From there on signals that end a run mean the reader: the first one says what
 * is unread, the next one leaves. A user who has killed the run before waits no longer than
 * READER_HURRIED_S for a reader that takes nothing.
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
#define READER_LEAVE_S   1.0 /* the user leaves: for what muster itself has to say */

struct reader {
    struct event_base *base;
    struct output     *output;     /* NULL: none is awaited now */
    int64_t            since_ns;   /* when that began */
    bool               is_begun;   /* signals mean the reader */
    bool               is_told;    /* the user knows what is unread */
    bool               is_hurried; /* the run was killed */
    bool               has_left;
    int                signals;    /* all that have come */
};

/* Every node is over. signals: how many have come before. */
void reader_begin(struct reader *reader, struct event_base *base, int signals);

/* A signal has come. */
void reader_interrupted(struct reader *reader);

/* Close output, and run the event loop until it is written. False: it was given up, and
 * output_finish(output, 0) drops and counts the rest. */
bool reader_await(struct reader *reader, struct output *output);

/* What muster itself says at the end, once no other output is open: err and then out, which may
 * be "". *error is 0, or the errno of what could not be written to out_fd. False: a reader was
 * given up. */
bool reader_print(struct reader *reader, int out_fd, int err_fd, const char *out,
                  const char *err, int *error);

#endif
