/* sshd.h - the sshd of a worker Pod, as the container's user
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INIT_SSHD_H
#define MUSTER_INIT_SSHD_H

#include <sys/types.h>

#include "buffer.h"
#include "err.h"
#include "strlist.h"

/* Writes sshd's files into run, which is on tmpfs, and starts sshd. secrets: where the Secret
 * is mounted. Returns the PID, or -1. */
pid_t sshd_start(const char *run, const char *secrets, int port, struct error *err);

/* Adds a SetEnv line to sshd_config, because an SSH session does not inherit the container's
 * environment. left_out gets the names of variables that SetEnv cannot express (newlines). */
void sshd_environment(struct buffer *config, char *const *env, struct strlist *left_out);

#endif
