/* listen.h - a port for the other nodes of muster doctor
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LISTEN_H
#define MUSTER_AGENT_LISTEN_H

/* On all addresses, of both kinds if there is IPv6, without blocking. -1: that port is taken. */
int listen_at(int port);

#endif
