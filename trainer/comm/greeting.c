/* greeting.c - see greeting.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/greeting.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define MAGIC 0x6d737431u /* of this version of the messages */

enum { KIND_ANSWER = 1, KIND_CALLER = 2 };

/* What a proof is a code of. */
struct proven {
    uint64_t              kind;
    struct greeting_first first;
    uint64_t              begun;
    unsigned char         nonce[GREETING_NONCE];
    unsigned char         body[SIPHASH_CODE];
};

_Static_assert(sizeof(struct greeting_first) == 32 && sizeof(struct greeting_answer) == 40 &&
               sizeof(struct proven) == 80, "no padding, which would be sent");

static void prove_answer(const struct secret *secret, const struct greeting_first *first,
                         const struct greeting_answer *answer, unsigned char *proof);
static bool are_equal(const unsigned char *a, const unsigned char *b, size_t size);

int secret_make(struct secret *secret, struct error *err)
{
    if (getrandom(secret->key, sizeof secret->key, 0) == (ssize_t)sizeof secret->key)
        return 0;
    return err_set(err, "cannot get random numbers: %s", strerror(errno));
}

int greeting_begin(struct greeting_first *first, enum greeting_purpose purpose, int from, int to)
{
    const ssize_t size = sizeof first->nonce;

    *first = (struct greeting_first){ .magic = MAGIC, .purpose = purpose, .from = from, .to = to };
    return getrandom(first->nonce, sizeof first->nonce, 0) == size ? 0 : -1;
}

bool greeting_is_for(const struct greeting_first *first, int own, int size)
{
    if (first->magic != MAGIC || first->to != own || first->from < 0 || first->from >= size)
        return false;
    return first->purpose == GREETING_REPORT ||
           (first->purpose == GREETING_JOIN && first->from > own);
}

int greeting_reply(const struct secret *secret, const struct greeting_first *first, uint64_t begun,
                   struct greeting_answer *answer)
{
    answer->begun = begun;
    if (getrandom(answer->nonce, sizeof answer->nonce, 0) != (ssize_t)sizeof answer->nonce)
        return -1;
    prove_answer(secret, first, answer, answer->proof);
    return 0;
}

bool greeting_is_answer(const struct secret *secret, const struct greeting_first *first,
                        const struct greeting_answer *answer)
{
    unsigned char proof[GREETING_PROOF];

    prove_answer(secret, first, answer, proof);
    return are_equal(proof, answer->proof, sizeof proof);
}

static void prove_answer(const struct secret *secret, const struct greeting_first *first,
                         const struct greeting_answer *answer, unsigned char *proof)
{
    struct proven proven = { .kind = KIND_ANSWER, .first = *first, .begun = answer->begun };

    memcpy(proven.nonce, answer->nonce, sizeof proven.nonce);
    siphash(secret->key, &proven, sizeof proven, proof);
}

/* A body has no bytes but 0 and 1, so its code is not that of a struct proven, which has MAGIC. */
void greeting_prove(const struct secret *secret, const struct greeting_first *first,
                    const struct greeting_answer *answer, const void *body, size_t size,
                    unsigned char proof[GREETING_PROOF])
{
    struct proven proven = { .kind = KIND_CALLER, .first = *first };

    if (first->purpose == GREETING_JOIN)
        memcpy(proven.nonce, answer->nonce, sizeof proven.nonce);
    siphash(secret->key, body, size, proven.body);
    siphash(secret->key, &proven, sizeof proven, proof);
}

bool greeting_is_proof(const struct secret *secret, const struct greeting_first *first,
                       const struct greeting_answer *answer, const void *body, size_t size,
                       const unsigned char proof[GREETING_PROOF])
{
    unsigned char right[GREETING_PROOF];

    greeting_prove(secret, first, answer, body, size, right);
    return are_equal(right, proof, sizeof right);
}

/* Takes as long wherever they differ, so that a stranger cannot guess a proof byte by byte. */
static bool are_equal(const unsigned char *a, const unsigned char *b, size_t size)
{
    unsigned char differ = 0;
    size_t        i;

    for (i = 0; i < size; i++)
        differ |= a[i] ^ b[i];
    return differ == 0;
}
