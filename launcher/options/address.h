/* address.h - the address of a node, as options have it
 *
 * Where a host of a hostfile is meant, plan/hostword.h reads it: it may have a port and ranges.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ADDRESS_H
#define MUSTER_ADDRESS_H

#include <stdbool.h>

#include "err.h"

/* Returns the host name, IPv4 or IPv6 address in text, without brackets around it; the caller
 * frees it. Whether a machine has that name is not asked. NULL with err: text is something else,
 * such as a URL, or has a user or a port; err says what to write for --master_addr. */
char *address_read(const char *text, struct error *err);

/* Is text an IPv6 address, perhaps with a zone ("fe80::1%eth0")? Brackets are not allowed. */
bool address_is_ipv6(const char *text);

#endif
