/* accelerate.h - the configuration file of `accelerate launch`, as options and variables
 *
 * accelerate turns the file into arguments of torchrun and into variables that its library reads
 * in every rank: ACCELERATE_*, FSDP_*, MEGATRON_LM_* and PARALLELISM_CONFIG_*. muster starts the
 * ranks itself, and sets the same variables (src/accelerate/utils/launch.py). What is about the
 * machines becomes options. What cannot be kept is refused by name.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ACCELERATE_H
#define MUSTER_ACCELERATE_H

#include <stddef.h>

#include "err.h"
#include "options/options.h"

/* Reads the file at path. Call it before the settings of the command line are applied, which
 * override it. Sets CUDA_VISIBLE_DEVICES of this process if the file has gpu_ids. -1 with
 * "FILE: KEY: why" or "FILE:LINE: why". */
int accelerate_read(struct options *options, const char *path, struct error *err);

/* The same for the text of a file. */
int accelerate_parse(struct options *options, const char *path, const char *text, size_t size,
                     struct error *err);

#endif
