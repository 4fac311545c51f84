/* limits.h - settings of the configuration that this trainer ignores or limits
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIMITS_H
#define MUSTER_LIMITS_H

#include "config/ds_config.h"

/* Adds a note for each such setting. These settings change the weights little or not at all.
 * recomputes: --activation_checkpointing is given. */
void limits_note(struct ds_config *config, bool on_gpu, bool recomputes);

#endif
