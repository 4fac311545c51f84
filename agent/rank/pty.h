/* pty.h - a terminal for one rank (--pty), as sshd makes one for a login
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PTY_H
#define MUSTER_AGENT_PTY_H

#include "err.h"

/* Makes a terminal of this size. Returns its master, and in *slave what the rank gets as input and
 * output; the caller closes both. -1 with err. */
int pty_open(int rows, int columns, int *slave, struct error *err);

/* The user's terminal has another size now. */
void pty_resize(int master, int rows, int columns);

#endif
