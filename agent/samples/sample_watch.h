/* sample_watch.h - samples the GPUs and network ports of this node while ranks run
 *
 * A call into a driver may never return: a child takes the samples, every 10 seconds. Where
 * neither a GPU nor an InfiniBand port is there, there is no child. When a generation has not
 * ended well there is one more sample, so that no error is missed that came just before.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SAMPLE_WATCH_H
#define MUSTER_AGENT_SAMPLE_WATCH_H

#include <stdbool.h>

#include <event2/event.h>
#include <jansson.h>

#include "frame.h"
#include "plan/node_plan.h"

/* send: a SAMPLES or EVIDENCE frame for the launcher; owns the body. looked: the last sample was
 * taken, or does not come. */
struct sample_watch_ops {
    void (*send)(enum frame_type type, json_t *body, void *arg);
    void (*looked)(void *arg);
};

struct sample_watch;

/* Begins for the ranks of this plan, which must stay until sample_watch_end(). Returns NULL if
 * there is nothing to sample. */
struct sample_watch *sample_watch_begin(struct event_base *base, const struct node_plan *plan,
                                        const struct sample_watch_ops *ops, void *arg);
/* Takes one more sample. True: there is none to wait for. False: ops->looked is called later. May
 * be called again. NULL is fine. */
bool sample_watch_look_last(struct sample_watch *watch);
/* Ends the child. Not in a callback. NULL is fine. */
void sample_watch_end(struct sample_watch *watch);

#endif
