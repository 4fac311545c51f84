/* output_fixture.h - an output into two pipes, for its tests
 *
 * Every wait has LIMIT_MS, and fails the test after that.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OUTPUT_FIXTURE_H
#define MUSTER_OUTPUT_FIXTURE_H

#include "buffer.h"
#include "output/output.h"

#define LIMIT_MS 20000 /* for anything that has to happen */

/* An output into two pipes, and what it told us. */
struct fixture {
    struct event_base     *base;
    struct output_settings settings;
    struct output         *output;
    int                    out, err; /* to read from */
    size_t                 consumed[4];
    int                    failures[2], error[2];
    int                    world[4]; /* by rank */
};

/* Labels: one for each rank, and none. */
extern const char *const hosts[4], *const none[4];

/* *state is a fixture without an output: settings may be changed before start. */
int output_setup(void **state);
int output_teardown(void **state);

/* Four ranks on as many nodes; rank 3 is not shown. */
void start(struct fixture *f, const char *const labels[4]);

void say(struct fixture *f, int rank, enum frame_stream stream, const char *text);

/* Read what comes next, with a deadline, behind what was read before. */
void read_more(int fd, struct buffer *seen);

/* Read size bytes at least; the caller frees. */
char *read_bytes(int fd, size_t size);
void expect_read(int fd, const char *text);
void expect_nothing_more(int fd);

/* Run the event loop until node has had that much credit back, or until something can be read. */
void await_consumed(struct fixture *f, size_t node, size_t bytes);
void await_readable(struct fixture *f, int fd);

#endif
