/* peers.h - which rank is gone, asked when an operation has failed
 *
 * A rank that loses another ends, and closes its connections. So the one that the next rank
 * misses may have done nothing but that, and only the first to notice knows better. Here each
 * rank answers calls on a port of its own, by a thread, whatever the rank is doing. Who fails
 * calls all others: those who do not answer are gone. It tells the rest so before it closes a
 * connection; whoever fails later does not count it among the lost, but those it has told of.
 *
 *     peers_listen -> peers_publish -> PMI's barrier -> peers_meet -> peers_blame -> peers_close
 *
 * Anyone can connect to the port. What comes from there can only mislead the message of a rank
 * that has failed anyway.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PEERS_H
#define MUSTER_PEERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct peers;
struct pmi;

/* How another rank is found. PEER_LATE: none is lost, and it has begun the fewest operations. */
enum peer_state { PEER_THERE, PEER_LATE, PEER_ENDED, PEER_SILENT, PEER_UNREACHABLE, PEER_TOLD };

/* Answer at this address from now on. label: "rank 3 on te2" of each rank, copied. NULL with
 * err. */
struct peers *peers_listen(const struct sockaddr_storage *address, int rank, int size,
                           const char *const *label, struct error *err);
void          peers_close(struct peers *peers); /* NULL is fine */

/* The address with its port, as a text without blanks, for the others; and theirs. */
void peers_address(const struct peers *peers, char *text, size_t size);
int  peers_know(struct peers *peers, int rank, const char *address, struct error *err);

/* The same through PMI. Between them must be a pmi_barrier(). -1 with err. */
int peers_publish(const struct peers *peers, struct pmi *pmi, struct error *err);
int peers_meet(struct peers *peers, struct pmi *pmi, struct error *err);

/* This rank begins an operation in which all take part. NULL is fine. */
void peers_count(struct peers *peers);

/* Call all, and tell them what came of it: state[size], of this rank PEER_THERE, or PEER_TOLD if
 * others miss it. is_late: an operation took too long, so PEER_LATE tells who has not come to it.
 * Takes 2 s at most. */
void peers_ask(struct peers *peers, bool is_late, enum peer_state *state);

/* An operation has failed: ask all, and put into err who is lost, "all_reduce: lost rank 2 on te1
 * (its process has ended), rank 3 on te1 (...)", or why, if all are there. late_s: it had so long,
 * and has not come to an end; else 0. Always -1. peers may be NULL. */
int peers_blame(struct peers *peers, const char *what, const char *why, double late_s,
                struct error *err);

#ifdef __cplusplus
}
#endif

#endif
