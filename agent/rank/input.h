/* input.h - a rank's standard input, which the launcher sends
 *
 * The agent writes it to a pipe, or to the terminal that the rank believes to have. What the rank
 * has not taken waits here; the launcher limits how much that is (CREDIT in doc/PROTOCOL).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_INPUT_H
#define MUSTER_AGENT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "err.h"

struct input {
    int              fd; /* our end; -1: there is none, or the rank takes no more */
    struct event    *writable;
    struct evbuffer *waiting;
    bool             is_terminal;
    bool             is_ending; /* close it when nothing waits any more */
    bool             is_in_line; /* a terminal: the last line has not ended */
    void (*changed)(void *arg);  /* the rank has taken something, or takes no more */
    void *arg;
};

/* Makes a pipe. Returns the end that the rank reads, or -1 with err. */
int input_open_pipe(struct input *input, struct event_base *base, struct error *err);
/* The rank has a terminal: writes to a copy of fd, the master of it. -1 with err. */
int input_open_terminal(struct input *input, struct event_base *base, int fd, struct error *err);
/* Drops what waits. May be called again. */
void input_close(struct input *input);

/* Gives the rank these bytes, soon; drops them if it takes no more. */
void input_add(struct input *input, const void *bytes, size_t size);
/* After what waits, the rank gets the end of its input. */
void input_end(struct input *input);

/* Returns how many bytes the rank has not taken yet. */
size_t input_waiting(const struct input *input);

#endif
