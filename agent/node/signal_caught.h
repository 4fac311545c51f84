/* signal_caught.h - send a signal only to those who have asked for it
 *
 * A program that has not set a handler would die of SIGUSR1. /proc/PID/status tells who has. Of a
 * tree of processes only the topmost that catch it get it: a shell that waits for Python does not,
 * Python does, and what Python has forked inherits the handler but is not meant.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SIGNAL_CAUGHT_H
#define MUSTER_AGENT_SIGNAL_CAUGHT_H

#include <stdbool.h>

#include "node/process.h"

/* By the text of /proc/PID/status; false also if that is not such a text. */
bool signal_is_caught(const char *status, int signal);

/* To root or those below it. all: processes_all(). Returns how many have got it. */
int signal_caught(const struct processes *all, pid_t root, int signal);

#endif
