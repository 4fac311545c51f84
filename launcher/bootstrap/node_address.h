/* node_address.h - the address that all nodes are to know a node by
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NODE_ADDRESS_H
#define MUSTER_NODE_ADDRESS_H

#include <stdbool.h>

#include <jansson.h>

/* Of a node's own addresses (HELLO): the one in network ("10.0.0.0/8"; NULL: any), else the one
 * that the hostfile names (a cloud's public address is none of its own), else the first private
 * one, else the first. Bridges of containers and loopback do not count. NULL: none; borrowed from
 * addresses. */
const char *node_address_choose(const json_t *addresses, const char *host, const char *network);

bool node_address_is_numeric(const char *text);

#endif
