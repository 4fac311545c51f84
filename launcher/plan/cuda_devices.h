/* cuda_devices.h - CUDA_VISIBLE_DEVICES, as CUDA reads it
 *
 * Numbers, and names that begin with "GPU-" or "MIG-", up to the first word that is neither:
 * "0,-1,1" is GPU 0 alone, "0,1," GPUs 0 and 1, and "" no GPU at all. (CUDA C++ programming guide,
 * environment variables.)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CUDA_DEVICES_H
#define MUSTER_CUDA_DEVICES_H

#include <stdbool.h>

#include "err.h"
#include "strlist.h"

#define VISIBLE_DEVICES "CUDA_VISIBLE_DEVICES"

/* Adds the devices, in that order. gpus: how many the machine has, as far as known; a number
 * beyond them ends the list, too. 0: it is not known. Returns 0; 1 if the list ends before a word
 * other than "-1"; -1 with err if a device is named twice: CUDA then finds none. */
int cuda_devices_read(const char *text, int gpus, struct strlist *devices, struct error *err);

/* Does each machine number these as its own (no names)? */
bool cuda_devices_are_numbers(const struct strlist *devices);

/* Are they the first GPUs of a machine: "0,1,2"? */
bool cuda_devices_are_first(const struct strlist *devices);

/* Returns "CUDA_VISIBLE_DEVICES=2,3"; the caller frees it. */
char *cuda_devices_variable(const struct strlist *devices);

#endif
