/* port.h - holding a TCP port until the ranks start
 *
 * MASTER_PORT is chosen before the ranks run. Bound here meanwhile, and never
 * listened on, it cannot be taken by somebody else in between.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_PORT_H
#define MUSTER_AGENT_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"

/* Between the ranks' start and rank 0's own bind it is free for seconds. At least another
 * run of muster on this machine does not choose it then: claim_fd is bound to an abstract
 * Unix socket with the port in its name, as long as the agent lives. */
struct held_port {
    int port;
    int fd;       /* -1: let go of */
    int claim_fd; /* -1: none */
};

/* Bind port, or, unless fixed, another one that is free; held->port tells which. -1 with
 * err, and in holder "pid 123 (python3) of ann", or "" when that cannot be seen. */
int port_hold(struct held_port *held, int port, bool fixed, char *holder, size_t holder_size,
              struct error *err);
/* Now rank 0 may bind it. */
void port_let_go(struct held_port *held);
void port_forget(struct held_port *held);

/* Let go of, it may have been taken before the run could: true when somebody has it who
 * is neither run nor descends from it; holder says who. Whoever has only bound it shows
 * nowhere, and could be the run's: nobody_binds says that this cannot be. */
bool port_is_taken(int port, pid_t run, bool nobody_binds, char *holder, size_t holder_size);

/* A listening socket for the probe of addresses, on any free port. */
int port_listen(int *port, struct error *err);

#endif
