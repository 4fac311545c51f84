/* spot.h - asks the cloud again and again whether it takes this machine away
 *
 * Every 5 s, by the rules of cloud.h; a round takes a second at most, and whatever goes wrong in it
 * means that nothing is known. A machine goes when two rounds in a row say the same; the second
 * follows after a second. Then nobody asks any more. What kind of machine this is, is asked in the
 * first rounds, until the cloud says it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SPOT_H
#define MUSTER_AGENT_SPOT_H

#include <event2/event.h>

#include "err.h"

struct spot;

/* class: "spot" or "on-demand". Called once at most. */
typedef void spot_class_f(const char *class, void *arg);

/* left_s: until the machine goes; reason: words, borrowed. Called once. */
typedef void spot_goes_f(double left_s, const char *reason, void *arg);

struct spot_ops {
    spot_goes_f  *goes;
    spot_class_f *class;
};

/* setting: that of --spot. *spot stays NULL if there is nobody to ask. -1 with err: it is not such
 * a setting. */
int  spot_begin(struct spot **spot, struct event_base *base, const char *setting,
                const struct spot_ops *ops, void *arg, struct error *err);
void spot_free(struct spot *spot); /* NULL is fine; not in goes */

#endif
