/* python_stack.h - asks a rank's Python for the stacks of its threads, by a signal
 *
 * The user has said that the script has called faulthandler.register() for this signal. A process
 * that does not catch it gets none, since it would end by it. faulthandler writes to stderr, which
 * goes on to the user as well, or to a file that the agent has named to the rank.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PYTHON_STACK_H
#define MUSTER_AGENT_PYTHON_STACK_H

#include <stdbool.h>

#include <event2/buffer.h>

#include "err.h"
#include "node/process.h"
#include "rank/rank.h"

#define PYTHON_STACK_S 3.0 /* for the answer; what has come by then counts */

struct python_stack_request {
    struct rank          *rank;
    const struct process *python; /* the rank, or a process below it */
    const char           *file;   /* counts instead of stderr if it exists */
    int                   signal;
    /* The answer is complete, or no more comes. Called once, from the event loop. */
    void (*known)(void *arg);
    void *arg;
};

struct python_stack;

/* Sends the signal. NULL with err: it was not sent. */
struct python_stack *python_stack_ask(const struct python_stack_request *request,
                                      struct error *err);
/* Appends what is known to out, as whole lines for users. False: there is no stack. */
bool python_stack_write(const struct python_stack *stack, struct evbuffer *out);
/* Call it before ranks_clear(). NULL is fine. */
void python_stack_free(struct python_stack *stack);

#endif
