/* report.h - the result of a run of muster, as the termination message of its container
 *
 * muster keeps the result of each run in its history, with all ranks, however many. The report
 * has only run_id, exit_status, generation, start, end, first_failure and node_failures, as one
 * JSON object that is never truncated.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REPORT_H
#define MUSTER_REPORT_H

#define REPORT_BYTES 4000 /* kubelet takes the last 4096 */

/* Writes the report of the last run that ended after since into the existing file at path. If
 * there is none, or after an error, leaves the file alone; kubelet then takes the log. */
void report_write(const char *path, double since);

/* Returns the current time, in seconds since 1970. */
double report_time(void);

#endif
