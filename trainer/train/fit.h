/* fit.h - does what a training allocates fit into the memory that is free?
 *
 * Linux gives out more memory than there is, and kills a process when it uses it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FIT_H
#define MUSTER_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "report/free_memory.h"

/* What a rank will use. */
enum fit_part { FIT_PARAMS, FIT_GRADS, FIT_STATES, FIT_BUFFERS, FIT_ACTIVATIONS, FIT_COPY,
                FIT_PARTS };

struct fit {
    size_t bytes[FIT_PARTS]; /* of the host's memory; FIT_COPY: for --async-checkpoint */
    bool   recomputes;       /* --activation_checkpointing */
    int    on_machine;       /* ranks that share its memory, and use as much */
    int    on_node;          /* ... that share a limit of cgroups */
};

/* Returns -1 with err, which names the parts and what to change, if there is less memory. */
int fit_judge(const struct fit *fit, const struct free_memory *memory, struct error *err);

#endif
