/* limits.h - what a configuration asks for and this trainer does not do
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIMITS_H
#define MUSTER_LIMITS_H

#include "config/ds_config.h"

/* Note each. They change nothing about the weights, or little. */
void limits_note(struct ds_config *config, bool on_gpu);

#endif
