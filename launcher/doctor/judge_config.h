/* judge_config.h - does the ds_config.json fit this number of ranks?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JUDGE_CONFIG_H
#define MUSTER_JUDGE_CONFIG_H

#include "doctor/findings.h"

/* What is found is said of node 0, where rank 0 would end first. */
void judge_config(const char *path, int world, struct findings *findings);

#endif
