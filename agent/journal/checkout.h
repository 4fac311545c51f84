/* checkout.h - is there anything in a checkout of git that would be lost with it?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_CHECKOUT_H
#define MUSTER_AGENT_CHECKOUT_H

#include <stdbool.h>

#include "err.h"

/* Returns 0: all of it is in its remote, or path is no checkout. -1 with err, which names a file or
 * a commit of others, or why git cannot tell. with_ignored: files that git ignores count, too, but
 * for those that Python makes. */
int checkout_check(const char *path, bool with_ignored, struct error *err);

#endif
