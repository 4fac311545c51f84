/* new_hostfile.h - writes a hostfile for machines that --names has named
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NEW_HOSTFILE_H
#define MUSTER_NEW_HOSTFILE_H

#include <stdio.h>

#include "run/run.h"

#define NEW_HOSTFILE "hostfile" /* in this directory */

/* With --names: writes "te1 addr=172.18.81.129 slots=8" for each node, with one slot per GPU,
 * if every node has answered and the file does not exist. Reports to out. -1 with err if it
 * cannot write the file. */
int new_hostfile_write(const struct run *run, FILE *out, struct error *err);

#endif
