/* greeting.h - how two ranks of a run recognize each other on a new TCP connection
 *
 * Rank 0 makes a secret, and the ranks get it through PMI (peers.h). Neither side sends it; each
 * proves that it has it, by a code (siphash.h) of random bytes that the other side has just made:
 *
 *     caller                              called rank
 *     greeting_first: who calls whom  ->
 *                                     <-  greeting_answer: proof of the called rank
 *     proof of the caller, with what
 *     it has to say                   ->
 *                                     <-  one byte: the proof is right
 *
 * So a stranger who connects to a rank gets no further than the second message, and one who has
 * taken the port of a rank learns nothing from its callers. A recorded greeting is of no use on
 * another connection, except that a stranger can repeat a report (GREETING_REPORT) to the rank that
 * has received it.
 *
 * The bytes after the greeting are neither encrypted nor authenticated: a stranger who can change
 * packets between two ranks can still change what they send.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_GREETING_H
#define MUSTER_GREETING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/siphash.h"
#include "err.h"

#define GREETING_NONCE 16
#define GREETING_PROOF SIPHASH_CODE

/* The secret of a run. */
struct secret {
    unsigned char key[SIPHASH_KEY];
};

/* JOIN: the connection becomes the one between these two ranks. The proof covers the answer.
 * REPORT: the caller asks how far the called rank is, and then reports which ranks are lost. That
 * proof does not cover the answer, because the caller also reports to a rank that is stopped and
 * answers only later. */
enum greeting_purpose { GREETING_JOIN = 1, GREETING_REPORT = 2 };

struct greeting_first {
    uint32_t      magic, purpose;
    int32_t       from, to; /* ranks */
    unsigned char nonce[GREETING_NONCE];
};

struct greeting_answer {
    uint64_t      begun; /* operations that the called rank has begun */
    unsigned char nonce[GREETING_NONCE];
    unsigned char proof[GREETING_PROOF];
};

/* Makes a new secret. -1 with err if there are no random bytes. */
int secret_make(struct secret *secret, struct error *err);

/* Fill a message, with new random bytes. -1: there are none. */
int greeting_begin(struct greeting_first *first, enum greeting_purpose purpose, int from, int to);
int greeting_reply(const struct secret *secret, const struct greeting_first *first, uint64_t begun,
                   struct greeting_answer *answer);

/* Is this the first message of a rank of this run to rank `own` of `size`? Only the proof shows
 * whether it is not a stranger's. */
bool greeting_is_for(const struct greeting_first *first, int own, int size);

/* Is the answer that of the rank that was called? */
bool greeting_is_answer(const struct secret *secret, const struct greeting_first *first,
                        const struct greeting_answer *answer);

/* The caller's proof, for what it says in body, which has no bytes but 0 and 1; and is it right?
 * answer is used for JOIN alone. */
void greeting_prove(const struct secret *secret, const struct greeting_first *first,
                    const struct greeting_answer *answer, const void *body, size_t size,
                    unsigned char proof[GREETING_PROOF]);
bool greeting_is_proof(const struct secret *secret, const struct greeting_first *first,
                       const struct greeting_answer *answer, const void *body, size_t size,
                       const unsigned char proof[GREETING_PROOF]);

#endif
