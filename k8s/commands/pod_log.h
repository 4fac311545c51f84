/* pod_log.h - prints the log of a Pod's container to standard output, line by line
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POD_LOG_H
#define MUSTER_POD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/place.h"

struct pod_log;

/* follow: resume the log when its stream breaks off, without repeating lines, until the caller
 * of pod_log_step() says that the container has ended. tail: only the last lines; -1: all. */
struct pod_log *pod_log_open(const struct place *place, const char *pod, const char *container,
                             bool follow, int64_t tail);
void            pod_log_close(struct pod_log *log);

/* Call it in each round, before api_wait(). True when the whole log was printed, or when there
 * is no log and will be none; pod_log_error() then says why, and is NULL otherwise. */
bool        pod_log_step(struct pod_log *log, bool has_ended);
const char *pod_log_error(const struct pod_log *log);

/* Makes the parameter sinceTime from a line's stamp, in whole seconds. since has
 * POD_LOG_SINCE bytes. */
#define POD_LOG_SINCE 40
void pod_log_since(const char *stamp, char *since);

#endif
