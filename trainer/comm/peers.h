/* peers.h - the connections between ranks, and which rank is lost after an operation has failed
 *
 * A rank that loses a peer exits and closes its connections. Other ranks then lose that rank,
 * too, although it did nothing wrong; only the first rank that failed knows which peer is at
 * fault. So each rank answers calls on its own port, in a thread, whatever the rank is doing.
 * A rank that fails calls all others; those that do not answer are lost. It reports the lost
 * ranks to the other ranks before it closes a connection. A rank that fails later counts the
 * reported ranks as lost, but not the rank that reported them.
 *
 *     peers_listen -> peers_publish -> pmi_barrier -> peers_meet -> peers_join -> peers_blame
 *         -> peers_close
 *
 * Anyone can connect to the port, but only a rank of this run is answered: greeting.h. The secret
 * for that comes from rank 0, through PMI, and is new each time the ranks start. muster passes it
 * on over SSH; with another launcher it is as secret as what that one does with PMI's keys. A
 * process without PMI is alone, and has no port.
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

/* The state of a rank. PEER_LATE: no rank is lost, and this one has begun the fewest
 * operations. PEER_TOLD: another rank has reported it as lost. */
enum peer_state { PEER_THERE, PEER_LATE, PEER_ENDED, PEER_SILENT, PEER_UNREACHABLE, PEER_TOLD };

/* Listens at this address; rank 0 makes the secret. Nobody is answered before peers_meet(). label:
 * for each rank its name, "rank 3 on te2"; copied. Returns NULL with err on failure. */
struct peers *peers_listen(const struct sockaddr_storage *address, int rank, int size,
                           const char *const *label, struct error *err);
void          peers_close(struct peers *peers); /* NULL is fine */

/* peers_address() returns this rank's address and port as text without blanks, for the other
 * ranks. peers_know() stores the address of another rank. */
void peers_address(const struct peers *peers, char *text, size_t size);
int  peers_know(struct peers *peers, int rank, const char *address, struct error *err);

/* Exchange the addresses and the secret through PMI, and then start to answer calls. The caller
 * must call pmi_barrier() between the two. -1 with err. */
int peers_publish(const struct peers *peers, struct pmi *pmi, struct error *err);
int peers_meet(struct peers *peers, struct pmi *pmi, struct error *err);

/* For tests, instead of peers_meet(): takes the secret of rank 0, which is in this process. */
int peers_begin(struct peers *peers, const struct peers *first, struct error *err);

/* Connects this rank with all others; all ranks call it once. fd[size]: a connected socket for each
 * other rank, which the caller closes; it does not block, and nothing has been received from it.
 * Takes timeout_s at most. -1 with err, which names a rank that is not connected; then fd is
 * unchanged. */
int peers_join(struct peers *peers, double timeout_s, int *fd, struct error *err);

/* Counts an operation in which all ranks take part. NULL is fine. */
void peers_count(struct peers *peers);

/* Calls all ranks, fills state[size] and reports the result to them. This rank's own state is
 * PEER_THERE, or PEER_TOLD if others have reported it as lost. is_late: an operation took too
 * long, so PEER_LATE marks the ranks that have not begun it. Takes 2 s at most. */
void peers_ask(struct peers *peers, bool is_late, enum peer_state *state);

/* Handles the failure of an operation: asks all ranks and writes the lost ones into err, as in
 * "all_reduce: lost rank 2 on te1 (its process has ended), rank 3 on te1 (...)", or why, if no
 * rank is lost. late_s: the deadline that the operation missed, else 0. Always returns -1.
 * peers may be NULL. */
int peers_blame(struct peers *peers, const char *what, const char *why, double late_s,
                struct error *err);

#ifdef __cplusplus
}
#endif

#endif
