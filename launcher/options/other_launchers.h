/* other_launchers.h - options of other launchers, and what to write instead
 *
 * For the message about an unknown option only: muster has one name for one thing, but who
 * comes from elsewhere shall not have to look for it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OTHER_LAUNCHERS_H
#define MUSTER_OTHER_LAUNCHERS_H

#include <stddef.h>

/* "torchrun's; write --num_gpus=N" for nproc_per_node or nproc-per-node, without dashes in
 * front; NULL when nobody that we know has such an option. Of one letter: "-x". */
const char *other_launchers_hint(const char *name, size_t length);

#endif
