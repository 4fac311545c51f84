/* other_launchers.h - options of other launchers, and what to write instead
 *
 * Only for the message about an unknown option: muster has one name for each setting, and users
 * of other launchers should not have to search for it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OTHER_LAUNCHERS_H
#define MUSTER_OTHER_LAUNCHERS_H

#include <stddef.h>

/* "torchrun's; write --num_gpus=N" for nproc_per_node or nproc-per-node, without leading
 * dashes; NULL if no launcher that we know has such an option. A single letter means "-x". */
const char *other_launchers_hint(const char *name, size_t length);

#endif
