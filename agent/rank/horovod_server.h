/* horovod_server.h - the HTTP server where the ranks of Horovod meet
 *
 * horovodrun starts one beside itself; here node 0's agent serves its ranks, for as long as they
 * run. Horovod's client sends no password: each process that can connect to MASTER_ADDR can read
 * and change what the ranks tell each other there. So it answers at that address alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_HOROVOD_SERVER_H
#define MUSTER_AGENT_HOROVOD_SERVER_H

#include <event2/event.h>

#include "err.h"

struct horovod_server;

/* Listens on a free port of all IPv4 addresses, since MASTER_ADDR is not chosen yet; Horovod's
 * client has no IPv6. Callers wait until horovod_server_begin(). NULL with err. */
struct horovod_server *horovod_server_new(struct event_base *base, int *port, struct error *err);
void                   horovod_server_free(struct horovod_server *server); /* NULL is fine */

/* Answers those that have connected to this address. If no device of this machine has it (it is a
 * name, or is translated on the way), answers all. */
void horovod_server_begin(struct horovod_server *server, const char *address);

#endif
