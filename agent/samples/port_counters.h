/* port_counters.h - reads the counters of network ports and processors from the kernel's files
 *
 * The kernel asks the adapter, which takes long if the adapter has failed: only a child of the
 * agent reads them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PORT_COUNTERS_H
#define MUSTER_AGENT_PORT_COUNTERS_H

#include "samples/sample.h"

/* Is there any InfiniBand or RoCE adapter below that root? Does not block. */
bool port_counters_exist(const char *root);

/* Fills in all ports below root (""), and how often processors were too hot. */
void port_counters_read(const char *root, struct sample *sample);

/* Returns the number at the beginning of such a file, such as "4: ACTIVE" or "400 Gb/sec (4X
 * NDR)"; SAMPLE_UNKNOWN: it has none. */
int64_t port_counters_number(const char *text);

#endif
