/* ras_port.h - the address on which NCCL's RAS answers on this node, one for each run
 *
 * NCCL's own choice is localhost:28028 for every job: of two jobs on a machine either may answer.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RAS_PORT_H
#define MUSTER_AGENT_RAS_PORT_H

/* Binds a free port of 127.0.0.1 and never listens on it. Processes of our own user that set
 * SO_REUSEPORT, as NCCL does, may bind and listen there as well, others may not, and the kernel
 * gives it to no other program. Returns the descriptor, which keeps the port until it is closed,
 * and sets *port; -1: there is none. */
int ras_port_hold(int *port);

#endif
