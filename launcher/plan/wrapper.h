/* wrapper.h - is the program of a run another launcher?
 *
 * torchrun, accelerate and others start one process per GPU. If muster starts them once per slot,
 * as it starts a script, there are too many processes, which fail minutes later in ways that do
 * not name the cause.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_WRAPPER_H
#define MUSTER_WRAPPER_H

#include <stdbool.h>

#include "options/options.h"

struct wrapper {
    char *words;     /* "torchrun", or "run.sh (torchrun)"; NULL: it is none, as far as is known */
    bool  is_of_node; /* it is meant to be started once on each node; false: once for all */
    bool  is_server; /* it starts no ranks, but takes all GPUs of its node */
};

/* Looks at the command line, and if it starts a shell script, at the text of that. cwd: directory
 * of relative paths; NULL: unknown. */
struct wrapper wrapper_find(const struct options *options, const char *cwd);
void           wrapper_clear(struct wrapper *wrapper);

#endif
