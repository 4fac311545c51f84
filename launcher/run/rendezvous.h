/* rendezvous.h - where the ranks meet: MASTER_ADDR and MASTER_PORT of a run
 *
 * While nodes are being connected, node 0 holds MASTER_PORT, until the ranks start, and listens;
 * each other node, as soon as it is there, connects to all addresses of node 0 (master.h chooses
 * among them). Nobody waits for the answers before GO, which brings the result to the ranks: on a
 * long line each answer that is waited for costs a round trip. Here are the questions and answers.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RENDEZVOUS_H
#define MUSTER_RENDEZVOUS_H

#include <stdbool.h>

#include <jansson.h>

struct run;
struct node;
struct rendezvous;

/* NULL: OpenSSL could not generate random numbers. */
struct rendezvous *rendezvous_new(void);
void               rendezvous_free(struct rendezvous *rendezvous); /* NULL is fine */
/* Another generation begins: MASTER_ADDR stays, and node 0 is asked for another MASTER_PORT. */
void rendezvous_again(struct run *run);
/* The same, on other nodes: all is asked as at the first start. */
void rendezvous_anew(struct run *run);

/* A node has said HELLO. Ask it what must be asked, now or when node 0 listens. */
void rendezvous_ask(struct run *run, struct node *node);

/* READY has come. False if the node owes an answer: it will be NODE_READY when that comes. */
bool rendezvous_take_ready(struct run *run, struct node *node);
/* Node 0 has failed: those that wait to be asked will not be. */
void rendezvous_without_first(struct run *run);

/* Every node is ready. If no address was reached by all, and node 0 was busy, they try once more:
 * true, the phase awaits that. */
bool rendezvous_ask_again(struct run *run);

/* Every node was asked and has answered: put the result into the plan. With --no_ssh everybody
 * must come to the same address and port without asking. -1: outcome has the cause. */
int rendezvous_choose(struct run *run);

/* PROBED has come from a node whose ranks were not started, or all have ended. */
void rendezvous_take(struct run *run, struct node *node, const json_t *body);

/* An agent's DONE says who has MASTER_PORT in the place of rank 0; "": nobody. */
void rendezvous_take_holder(struct run *run, const struct node *node, const char *holder);
/* Who that was, of node 0; NULL: nobody. */
const char *rendezvous_port_holder(const struct rendezvous *rendezvous);

/* With this secret the listening node 0 greets those that connect to it. */
const char *rendezvous_token(const struct rendezvous *rendezvous);

#endif
