/* new_hostfile.h - the hostfile of machines that were given names
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NEW_HOSTFILE_H
#define MUSTER_NEW_HOSTFILE_H

#include <stdio.h>

#include "run/run.h"

#define NEW_HOSTFILE "hostfile" /* in this directory */

/* With --names: "te1 addr=172.18.81.129 slots=8" for each node, with its GPUs as slots, if every
 * node has answered and there is no such file. Says on out what was done. -1 with err if the file
 * cannot be written. */
int new_hostfile_write(const struct run *run, FILE *out, struct error *err);

#endif
