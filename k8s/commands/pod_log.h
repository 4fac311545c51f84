/* pod_log.h - the log of a Pod's container, line by line, to standard output
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_POD_LOG_H
#define MUSTER_POD_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/place.h"

struct pod_log;

/* follow: resume it when it breaks off, without a line twice, until pod_log_step() is told that the
 * container has ended. tail: the last lines only; -1: all. */
struct pod_log *pod_log_open(const struct place *place, const char *pod, const char *container,
                             bool follow, int64_t tail);
void            pod_log_close(struct pod_log *log);

/* In each round, before api_wait(). True when all of it was printed, or there is no such log and
 * will be none; pod_log_error() is then why, else NULL. */
bool        pod_log_step(struct pod_log *log, bool has_ended);
const char *pod_log_error(const struct pod_log *log);

/* The parameter sinceTime for a line's stamp, in whole seconds; room for POD_LOG_SINCE. */
#define POD_LOG_SINCE 40
void pod_log_since(const char *stamp, char *since);

#endif
