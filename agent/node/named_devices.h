/* named_devices.h - network devices that a variable of the user names, but this node lacks
 *
 * Reads NCCL_SOCKET_IFNAME and NCCL_IB_HCA as NCCL does: prefixes of names or, after "=", whole
 * names, of which one must be there; after "^" those not to use. Reads GLOO_SOCKET_IFNAME and
 * TP_SOCKET_IFNAME as PyTorch does: whole names, which must all be there. An interface without an
 * address counts as missing, since none of them uses it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_NAMED_DEVICES_H
#define MUSTER_AGENT_NAMED_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "strlist.h"

/* The names of those variables; the last is NULL. */
extern const char *const named_devices_variables[];

/* Returns "interface" or "InfiniBand device". */
const char *named_devices_kind(const char *variable);

/* Does the value of that variable name a device that is not there? there: the names of the
 * devices that are; those of NCCL_IB_HCA have their port, "mlx5_0:1". */
bool named_devices_lack(const char *variable, const char *value, const struct strlist *there);

/* Adds the devices of this node that the variable could name. */
void named_devices_there(const char *variable, struct strlist *there);

#endif
