/* rendezvous.h - where the ranks meet: MASTER_ADDR and MASTER_PORT of a run
 *
 * While muster connects to the nodes, node 0 listens, and holds MASTER_PORT until the ranks
 * start. Each other node connects to all addresses of node 0 as soon as it has answered
 * (master.h chooses among them). Only GO waits for the results, which it brings to the ranks:
 * over a long distance, every answer that muster waits for costs a round trip. rendezvous.c
 * sends the questions and handles the answers.
 *
 * With roles the same follows for the first node of each other role, when all nodes are ready; all
 * nodes of the run must reach it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RENDEZVOUS_H
#define MUSTER_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct run;
struct node;
struct plan;
struct rendezvous;

/* NULL: OpenSSL could not generate random numbers. */
struct rendezvous *rendezvous_new(void);
void               rendezvous_free(struct rendezvous *rendezvous); /* NULL is fine */
/* Another generation of that world (the plan, or a role) begins: MASTER_ADDR stays, and its node
 * 0 must hold another MASTER_PORT. */
void rendezvous_again(struct run *run, const struct plan *world);
/* The same for other nodes: asks everything, as at the first start. Not with roles. */
void rendezvous_anew(struct run *run);

/* Asks a node that has sent HELLO, now or once node 0 listens. */
void rendezvous_ask(struct run *run, struct node *node);

/* Handles READY. False: the node still owes an answer, which will make it NODE_READY. */
bool rendezvous_take_ready(struct run *run, struct node *node);
/* A node has failed: if it is node 0, those that were not yet asked to reach it are not asked any
 * more. */
void rendezvous_without(struct run *run, const struct node *node);

/* Every node is ready. If no address was reached by all nodes, and node 0 was busy, asks them
 * to try again. True: the phase waits for that. */
bool rendezvous_ask_again(struct run *run);

/* MASTER_ADDR is chosen. With roles, and if it is not that of the last one: asks all nodes to reach
 * the first node of the next. True: the phase waits for that. */
bool rendezvous_ask_next(struct run *run);

/* Every node has answered: puts the result into the plan. With --no_ssh each muster must choose
 * the same address and port without asking. -1: outcome has the cause. */
int rendezvous_choose(struct run *run);

/* For a world that uses Horovod: its node 0 answers the ranks from now on, where they can connect
 * to it. Call it before GO; rendezvous_choose() does so when all ranks start. */
void rendezvous_serve(struct run *run, const struct plan *world);

/* Handles PROBED from a node whose ranks have not started, or have all exited. */
void rendezvous_take(struct run *run, struct node *node, const json_t *body);

/* Notes from an agent's DONE which process has MASTER_PORT instead of rank 0; "": none. */
void rendezvous_take_holder(struct run *run, const struct node *node, const char *holder);
/* Returns that process, and its node; NULL: none. */
const char *rendezvous_port_holder(const struct rendezvous *rendezvous, size_t *node);

/* Returns the secret with which the listening node 0 greets each node that connects to it. */
const char *rendezvous_token(const struct rendezvous *rendezvous);

#endif
