/* seal.h - messages between two nodes of a bcast: encrypted, authenticated, in order
 *
 * The launcher makes a key for each link between two nodes and sends it to both, inside SSH.
 * Each connection over the link has two keys of its own, one per direction, derived from that
 * key and from random bytes of both ends: a key never seals two connections. A message is
 * sealed with AES-256-GCM. Its nonce is its number, and run, link, direction, number and size
 * are authenticated with it. So a message that was changed, truncated, repeated, left out, or
 * that comes from another connection does not open.
 *
 * On the wire a message is its size as u32, then that many encrypted bytes, then the tag.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SEAL_H
#define MUSTER_AGENT_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <openssl/evp.h>

#include "copy/chunk.h"
#include "err.h"

#define SEAL_KEY_BYTES     32
#define SEAL_RUN_BYTES     16
#define SEAL_RANDOM_BYTES  32
#define SEAL_TAG_BYTES     16
#define SEAL_MESSAGE_MAX   (CHUNK_BYTES + 64)
#define SEAL_WIRE_MAX      (4 + SEAL_MESSAGE_MAX + SEAL_TAG_BYTES)
#define SEAL_MESSAGES_MAX  UINT32_MAX /* per connection and direction */

enum seal_direction { SEAL_ASK = 1, SEAL_ANSWER = 2 };

/* Shared by both ends. */
struct seal_link {
    unsigned char key[SEAL_KEY_BYTES];
    unsigned char run[SEAL_RUN_BYTES];
    uint32_t      number;
};

/* One direction of one connection, at one end. */
struct seal {
    EVP_CIPHER_CTX     *context; /* NULL: not begun */
    unsigned char       run[SEAL_RUN_BYTES];
    uint32_t            link;
    enum seal_direction direction;
    uint64_t            number; /* the number of the next message */
};

/* Fills random with bytes for a new connection. They need not be secret. */
void seal_random(unsigned char random[SEAL_RANDOM_BYTES]);

/* is_sealing: this end seals, else it opens. ask, answer: the random bytes of the two ends. */
void seal_begin(struct seal *seal, const struct seal_link *link, enum seal_direction direction,
                bool is_sealing, const unsigned char ask[SEAL_RANDOM_BYTES],
                const unsigned char answer[SEAL_RANDOM_BYTES]);
void seal_end(struct seal *seal);

/* Appends a message to out: the bytes of head, then those of body. -1:
 * there were too many messages. */
int seal_put(struct seal *seal, struct evbuffer *out, const void *head, size_t head_size,
             const void *body, size_t body_size, struct error *err);

/* Takes the first message of in. 1: message, which has room for SEAL_MESSAGE_MAX, has *size
 * bytes; 0: more bytes must arrive; -1: it is not the next message of the other end. */
int seal_take(struct seal *seal, struct evbuffer *in, unsigned char *message, size_t *size,
              struct error *err);

/* The same for `have` bytes at wire: the first seal_wire_bytes(*size)
 * of them are the message. */
int seal_open(struct seal *seal, const unsigned char *wire, size_t have, unsigned char *message,
              size_t *size, struct error *err);

/* Reads exactly size bytes from lower-case hex digits, as the launcher sends keys. False: hex,
 * which may be NULL, is malformed. */
bool seal_read_hex(const char *hex, unsigned char *bytes, size_t size);

static inline size_t seal_wire_bytes(size_t size)
{
    return 4 + size + SEAL_TAG_BYTES;
}

#endif
