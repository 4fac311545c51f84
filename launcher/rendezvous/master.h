/* master.h - choose MASTER_ADDR by which address of node 0 all other nodes can reach
 *
 * Node 0 lists its addresses and listens for a moment; every other node connects to each of
 * them. The first address that all could reach wins, and the interface by which each node
 * reached it becomes its NCCL_SOCKET_IFNAME. Nothing here does I/O: rendezvous.c sends the
 * probes and brings the answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_MASTER_H
#define MUSTER_MASTER_H

#include <stdbool.h>

#include <jansson.h>

#include "err.h"
#include "plan/plan.h"

#define MASTER_CANDIDATES_MAX 64

struct master_candidate {
    char *addr;
    char *iface; /* of node 0, that has this address */
    bool  is_loopback;
};

struct master {
    struct master_candidate candidate[MASTER_CANDIDATES_MAX]; /* in order of preference */
    size_t                  candidates;
    size_t                  nodes;
    char **reached_by; /* [node * MASTER_CANDIDATES_MAX + candidate]: interface, or NULL */
};

/* From node 0's HELLO. iface= in the hostfile leaves only the addresses of that interface; real
 * addresses come before loopback, IPv4 before IPv6. -1 if nothing is left. */
int  master_init(struct master *master, const struct plan *plan, const json_t *hello,
                 struct error *err);
void master_clear(struct master *master);

/* If no address is reached by all: those that do not reach the one which most reach, into is_apart,
 * by node; or node 0 alone, if that are fewer than half of the others. */
void master_apart(const struct master *master, bool *is_apart);

/* ["10.0.0.1", ...] for PROBE connect. */
json_t *master_addresses(const struct master *master);

/* Is there an address that all have reached? */
bool master_is_found(const struct master *master);

/* The PROBED answer of a node other than 0. -1: it is malformed. */
int master_answer(struct master *master, size_t node, const json_t *body, struct error *err);

/* Set master_addr (unless the user gave one) and each node's iface (unless the hostfile did). -1
 * if no address is reached by all: err says who reached what; if the user gave the address that
 * is only a warning. */
int master_choose(const struct master *master, struct plan *plan, struct error *err);

#endif
