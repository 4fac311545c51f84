/* listen.h - a port for the other nodes of muster doctor
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LISTEN_H
#define MUSTER_AGENT_LISTEN_H

/* Listens on all addresses, of both families if there is IPv6, without
 * blocking. -1: the port is taken. */
int listen_at(int port);

#endif
