/* sample_changes.h - what has broken between two samples of a node
 *
 * A pure function. Its kinds, severities and actions are those of the kernel's messages
 * (evidence/evidence.h): the launcher treats both alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SAMPLE_CHANGES_H
#define MUSTER_AGENT_SAMPLE_CHANGES_H

#include "evidence/evidence.h"
#include "samples/sample.h"

/* Errors between two samples that make a network link suspicious: some always come. */
#define SAMPLE_PORT_ERRORS 100
/* The same for what a PCIe link sends again, which the link corrects. */
#define SAMPLE_REPEATS 10

/* text: the values before and now, for people. */
typedef void sample_changes_add(const struct evidence *evidence, const char *text, void *arg);

/* Calls add for each change for the worse. first: the first sample of this generation; before, now:
 * the last two. wanted: the GPUs that ranks use, by number. */
void sample_changes(const struct sample *first, const struct sample *before,
                    const struct sample *now, const bool *wanted, sample_changes_add *add,
                    void *arg);

#endif
