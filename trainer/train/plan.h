/* plan.h - what a training will do, for the user to read before the first step
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLAN_H
#define MUSTER_PLAN_H

#include <stdio.h>

#include "train/setup.h"

/* Prints the shape of the training, where its parameters and samples come from, how it learns,
 * also by defaults, and the memory that it takes. */
void plan_print(const struct train *train, FILE *out);

#endif
