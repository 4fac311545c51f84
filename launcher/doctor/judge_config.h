/* judge_config.h - does ds_config.json fit this number of ranks?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_JUDGE_CONFIG_H
#define MUSTER_JUDGE_CONFIG_H

#include "doctor/findings.h"

/* Findings are about node 0, where rank 0 would fail first. */
void judge_config(const char *path, int world, struct findings *findings);

#endif
