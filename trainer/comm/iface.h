/* iface.h - the network interface that NCCL or Gloo uses on this node
 *
 * Gloo uses the interface that this code chooses. NCCL chooses its own; this code repeats
 * NCCL's rules, so that a wrong choice is reported before NCCL waits on it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_IFACE_H
#define MUSTER_IFACE_H

#include <net/if.h>
#include <netinet/in.h>

#include "err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct iface {
    char name[IF_NAMESIZE];
    char address[INET6_ADDRSTRLEN];
    struct sockaddr_storage socket_address; /* the same address, with port 0 */
};

/* Chooses the interface for backend "nccl" or "gloo". Returns -1 with the reason in err, for
 * example a variable that names a missing interface. */
int iface_choose(const char *backend, struct iface *chosen, struct error *err);

/* Lists all interfaces that are up, with their addresses: "eth0 10.0.0.1, lo 127.0.0.1".
 * Truncated to size. */
void iface_list(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
