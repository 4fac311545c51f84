/* port.h - holds a TCP port until the ranks start
 *
 * MASTER_PORT is chosen before the ranks run. The agent binds it, but never listens on it, so
 * that no other program takes it in between.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PORT_H
#define MUSTER_AGENT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* Between the start of the ranks and rank 0's own bind() the port is free for seconds. To keep
 * other runs of muster on this machine from choosing it then, claim_fd is bound to an abstract
 * Unix socket with the port in its name, as long as the agent lives. */
struct held_port {
    int port;
    int fd;       /* -1: released */
    int claim_fd; /* -1: none */
};

/* Binds port or, unless fixed, another free one; held->port is the result. -1 with err; then
 * holder is like "pid 123 (python3) of ann", or "" if the holder is not visible. */
int port_hold(struct held_port *held, int port, bool fixed, char *holder, size_t holder_size,
              struct error *err);
/* Releases the port: rank 0 may bind it now. */
void port_let_go(struct held_port *held);
void port_forget(struct held_port *held);

/* After the release: true if a process has the port that is neither run nor a descendant of
 * run; holder describes it. A process that only bound the port is not visible, and could be the
 * run's: nobody_binds means that this is impossible. */
bool port_is_taken(int port, pid_t run, bool nobody_binds, char *holder, size_t holder_size);

/* Returns a listening socket for the probe of addresses, on any free port. */
int port_listen(int *port, struct error *err);

#endif
