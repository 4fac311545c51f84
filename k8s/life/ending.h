/* ending.h - turns a launcher's report about its run (init/report.h) into words
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ENDING_H
#define MUSTER_ENDING_H

/* Returns "rank 1 on te-worker-1: exit status 3" from the termination message of a container.
 * "": the run has succeeded. NULL: the message is not a report. Caller frees. */
char *ending_words(const char *message);

#endif
