/* tokenize.h - muster-train tokenize: text as token shards, for a training
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TOKENIZE_H
#define MUSTER_TOKENIZE_H

/* Returns the exit status: 0, 1 for a failure, 2 if the command line is wrong. */
int tokenize_main(int argc, char **argv);

#endif
