/* spot.h - asks the cloud periodically whether it will take this machine away
 *
 * Asks every 5 s, by the rules of cloud.h. A round takes at most a second; if anything goes
 * wrong in it, its answer is unknown. A machine will leave when two rounds in a row say the
 * same; the second round follows after one second. Then the questions stop. The first rounds
 * also ask for the machine's class, until the cloud answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SPOT_H
#define MUSTER_AGENT_SPOT_H

#include <event2/event.h>

#include "err.h"

struct spot;

/* class: "spot" or "on-demand". Called at most once. */
typedef void spot_class_f(const char *class, void *arg);

/* left_s: until the machine leaves; reason: words, borrowed. Called once. */
typedef void spot_goes_f(double left_s, const char *reason, void *arg);

struct spot_ops {
    spot_goes_f  *goes;
    spot_class_f *class;
};

/* setting: the value of --spot. *spot stays NULL if there is no cloud to ask. -1 with
 * err: the setting is invalid. */
int  spot_begin(struct spot **spot, struct event_base *base, const char *setting,
                const struct spot_ops *ops, void *arg, struct error *err);
void spot_free(struct spot *spot); /* NULL is fine; do not call it in goes */

#endif
