/* iface.h - the network interface that NCCL or Gloo takes here
 *
 * Gloo takes the one that is chosen here. NCCL chooses for itself; its rules are repeated, so
 * that a wrong choice is found before it waits for it.
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
    struct sockaddr_storage socket_address; /* the same; port 0 */
};

/* backend: "nccl" or "gloo". -1 with what is wrong, such as a variable that names an
 * interface that is not there. */
int iface_choose(const char *backend, struct iface *chosen, struct error *err);

/* All that are up, with their addresses: "eth0 10.0.0.1, lo 127.0.0.1". Cut to size. */
void iface_list(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
