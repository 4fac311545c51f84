/* sshd.h - the sshd of a worker Pod, as the container's user
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_SSHD_H
#define MUSTER_INIT_SSHD_H

#include <sys/types.h>

#include "buffer.h"
#include "err.h"
#include "strlist.h"

/* Write its files into run, which is on tmpfs, and start it. secrets: where the Secret is mounted.
 * The PID, or -1. */
pid_t sshd_start(const char *run, const char *secrets, int port, struct error *err);

/* The line SetEnv for sshd_config: an SSH session has not the environment of the container.
 * Names of variables that cannot be in it (a newline) go to left_out. */
void sshd_environment(struct buffer *config, char *const *env, struct strlist *left_out);

#endif
