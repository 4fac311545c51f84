/* bcast_stream.h - the protocol between two nodes during a bcast
 *
 * One node requests chunks and the other answers, over a TCP connection
 * that the first one makes:
 *
 *     asks     answers
 *     greeting                "muster1\n", u32 link, random bytes
 *              random bytes   after it has looked up the link, else it closes
 *     HELLO                   from here on everything is sealed (seal.h)
 *              HELLO
 *     ASK                     ids of chunks (chunk.h)
 *              CHUNK          an id, then its contents
 *              ABSENT         an id: it will never have this chunk
 *
 * Chunks are answered in the order in which they were requested.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_BCAST_STREAM_H
#define MUSTER_AGENT_BCAST_STREAM_H

#include <sys/socket.h>

#include "copy/seal.h"

#define STREAM_MAGIC          "muster1\n"
#define STREAM_MAGIC_BYTES    8
#define STREAM_GREETING_BYTES (STREAM_MAGIC_BYTES + 4 + SEAL_RANDOM_BYTES)
#define STREAM_OPEN_S         3.0  /* from the connection to the HELLO */
#define STREAM_READ_MAX       (256u << 10) /* bytes at a time */
#define STREAM_ASK_MAX        1024u /* ids in one message */

enum stream_type { STREAM_HELLO = 1, STREAM_ASK, STREAM_CHUNK, STREAM_ABSENT };

/* Parses a text like "10.0.0.1" as an address. False: it is not one. */
bool stream_address(const char *text, int port, struct sockaddr_storage *address, socklen_t *size);

#endif
