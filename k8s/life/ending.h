/* ending.h - what a launcher has left of how its run ended (init/report.h), in words
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENDING_H
#define MUSTER_ENDING_H

/* "rank 1 on te-worker-1: exit status 3", of the message of a container that has ended. "": the run
 * has ended well. NULL: this is no such report. Caller frees. */
char *ending_words(const char *message);

#endif
