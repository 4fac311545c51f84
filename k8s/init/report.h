/* report.h - how a run of muster ended, in what Kubernetes keeps of a container
 *
 * muster keeps the result of each run in its history, for each rank of any number. Of it this has
 * run_id, exit_status, generation, start, end, first_failure and node_failures, as one JSON object
 * that is never cut.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#define REPORT_BYTES 4000 /* kubelet takes the last 4096 */

/* Of the last run that has ended since then, into the file at that path, which has to be there. If
 * there was none, or anything is wrong, the file is left alone: kubelet takes the log instead. */
void report_write(const char *path, double since);

/* Now, as these times are counted. */
double report_time(void);

#endif
