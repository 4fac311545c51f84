/* gpu_counters.h - reads the values of a GPU from its driver
 *
 * Only for a child of the agent: see node/nvml.h.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_COUNTERS_H
#define MUSTER_AGENT_GPU_COUNTERS_H

#include "node/nvml.h"
#include "samples/sample.h"

/* Fills in the GPUs of the node. What the driver or the library does not know is
 * SAMPLE_UNKNOWN. */
void gpu_counters_read(const struct nvml *nvml, struct sample *sample);

#endif
