/* node_address.h - chooses the address by which all nodes know a node
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_ADDRESS_H
#define MUSTER_NODE_ADDRESS_H

#include <stdbool.h>

#include <jansson.h>

/* Chooses from a node's own addresses (HELLO). With network ("10.0.0.0/8"), returns an address
 * in it. Without (NULL), returns host, if it is one of the addresses (a cloud's public address
 * is not), else the first private address, else the first one. Container bridges and loopback
 * do not count. NULL: there is none. The result is borrowed from addresses. */
const char *node_address_choose(const json_t *addresses, const char *host, const char *network);

bool node_address_is_numeric(const char *text);

#endif
