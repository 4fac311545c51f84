/* merge.h - muster-train merge: a model and its adapter as one model
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MERGE_H
#define MUSTER_MERGE_H

/* Returns the exit status: 0, 1 for a failure, 2 if the command line is wrong. */
int merge_main(int argc, char **argv);

#endif
