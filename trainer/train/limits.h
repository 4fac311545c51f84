/* limits.h - what a configuration asks for and this trainer does not do
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LIMITS_H
#define MUSTER_LIMITS_H

#include <stdio.h>

#include "config/ds_config.h"

/* -1 with what a training cannot do without. What changes nothing about the weights, or
 * little, is told to notes, a line each; NULL: to nobody. */
int limits_check(const struct ds_config *config, bool on_gpu, FILE *notes, struct error *err);

#endif
