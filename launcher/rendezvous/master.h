/* master.h - chooses as MASTER_ADDR an address of node 0 that all other nodes can reach
 *
 * Node 0 lists its addresses and listens for a moment; every other node connects to each of
 * them. The first address that all could reach wins, and the interface by which a node reached
 * it becomes the node's NCCL_SOCKET_IFNAME. An address from which full packets arrive is better
 * than one whose network loses them, unless the user gave that one. Nothing here does I/O:
 * rendezvous.c sends the probes and passes on the answers.
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
    char *iface; /* interface of node 0 with this address */
    bool  is_loopback;
};

struct master {
    struct master_candidate candidate[MASTER_CANDIDATES_MAX]; /* in order of preference */
    size_t                  candidates;
    size_t                  nodes, first; /* first: the index of "node 0" */
    bool                    has_given;    /* the first candidate is the user's --master_addr */
    char **reached_by; /* [node * MASTER_CANDIDATES_MAX + candidate]: interface, or NULL */
    bool  *is_lossy;   /* the same: reached, but full packets did not arrive */
};

/* Reads the candidates from node 0's HELLO. first: its index, 0 without roles. With iface= in the
 * hostfile only addresses of that interface count. Real addresses come before loopback, IPv4
 * before IPv6, and the address that the user gave before all. -1: there are none. */
int  master_init(struct master *master, const struct plan *plan, size_t first,
                 const json_t *hello, struct error *err);
void master_clear(struct master *master);

/* For when no address is reached by all: sets is_apart, by node, for the nodes that do not
 * reach the address which most nodes reach; or for node 0 alone, if fewer than half of the
 * others reach any one address. */
void master_apart(const struct master *master, bool *is_apart);

/* Returns ["10.0.0.1", ...] for PROBE connect. */
json_t *master_addresses(const struct master *master);

/* Returns the first address that all have reached, the user's or without loss if there is one,
 * borrowed; or NULL. */
const char *master_found(const struct master *master);

/* Sets is_lossy, by node: do full packets from that address not arrive there? */
void master_lossy(const struct master *master, bool *is_lossy);

/* Takes the PROBED answer of a node other than 0. -1: it is malformed. */
int master_answer(struct master *master, size_t node, const json_t *body, struct error *err);

/* Sets master_addr (unless the user gave one) of node 0's world, and the iface of each of its nodes
 * (unless the hostfile did).
 * -1 if no address is reached by all: err says how many nodes reached each address. */
int master_choose(const struct master *master, struct plan *plan, struct error *err);

#endif
