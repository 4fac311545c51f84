/* frame.h - the messages between launcher and agent
 *
 * A frame is a 16-byte header and a body of at most 1 MiB. Control bodies are JSON, rank output
 * and blobs are raw bytes. doc/PROTOCOL says when each frame is sent and what its body
 * contains. All numbers are big-endian:
 *
 *     0..3 body size | 4 type | 5 stream | 6..7 zero | 8..11 generation | 12..15 rank
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FRAME_H
#define MUSTER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <jansson.h>

#include "err.h"

#define FRAME_PROTOCOL     2 /* increase it if an older peer would misread a frame */
#define FRAME_HEADER_BYTES 16
#define FRAME_BODY_MAX     (1u << 20)
#define FRAME_NONCE_CHARS  32          /* lower-case hex */
#define FRAME_PURPOSE_MAX  1024        /* bytes of SUDO's "for" */
#define FRAME_RANKS_MAX    1024        /* ranks of one node */
#define FRAME_WORLD_MAX    (1 << 20)   /* ranks of a run */
#define FRAME_SOCKET_MAX   96          /* name of a reconnect socket: sun_path holds 108 */
/* For the checks of a node before READY: always; until its GPUs are free of the last generation;
 * and if PLAN has "health_check". */
#define FRAME_HEALTH_S         30.0
#define FRAME_HEALTH_FREE_S    50.0
#define FRAME_HEALTH_PROGRAM_S 60.0
#define FRAME_TASK_LINE_MAX  (64u << 10) /* bytes of one line of a task */
#define FRAME_TASK_LINES_MAX 4096        /* lines of one task */
#define FRAME_TASK_BYTES_MAX (2u << 20)  /* bytes of all its lines */
#define FRAME_INPUT_MAX    (256u << 10) /* bytes of INPUT that an agent has not yet processed */
#define FRAME_NOISE_MAX    (256 * 1024) /* noise bytes from the login shell before the nonce */

enum frame_type {
    FRAME_HELLO = 1, /* A>L json: who and what this node is */
    FRAME_PROBE,     /* L>A json: listen, or try to connect (master.c) */
    FRAME_PROBED,    /* A>L json: the result */
    FRAME_BLOB,      /* L>A raw: u32 blob id, then bytes appended to that blob */
    FRAME_PLAN,      /* L>A json: what to run here; names blobs by id */
    FRAME_READY,     /* A>L json: all checks passed, nothing started yet */
    FRAME_GO,        /* L>A raw: start the ranks, with these variables */
    FRAME_STARTED,   /* A>L json: this rank is running; its pid */
    FRAME_OUTPUT,    /* A>L raw: bytes of rank/stream; empty body: end of stream */
    FRAME_CREDIT,    /* L>A u32: this many more OUTPUT bytes may be sent;
                        A>L u32: this many bytes of ENTRIES, FILE, DATA or INPUT are processed */
    FRAME_EXIT,      /* A>L json: how this rank ended */
    FRAME_KVS,       /* A>L json: PMI puts, all local ranks in barrier;
                        L>A json: the union, barrier over */
    FRAME_ABORT,     /* A>L json: a rank asked over PMI to end the run */
    FRAME_SIGNAL,    /* L>A json: pass this signal to every rank */
    FRAME_STOP,      /* L>A json: TERM now, KILL after grace_s */
    FRAME_PING,      /* both  u64: sender's monotonic ns;
                        L>A u64: ns since it heard the agent */
    FRAME_PONG,      /* both  u64 u64: the ping's number, then the clock of the PONG's sender */
    FRAME_ERROR,     /* A>L json: this node cannot continue */
    FRAME_DONE,      /* A>L json: no process of the run is left here; last frame */
    FRAME_CLEAN,     /* L>A json: look for what earlier runs left, and remove it */
    FRAME_CLEANED,   /* A>L json: what was found */
    FRAME_IDLE,      /* A>L json: how long the ranks here have done nothing */
    FRAME_STACKS,    /* L>A empty: send the stacks of the ranks */
    FRAME_STACKED,   /* A>L json: their stacks */
    FRAME_ACK,       /* both  u64: bytes of your stream that were received (resend_queue.h) */
    FRAME_RECONNECT, /* L>A json: continue a run over this connection */
    FRAME_RESUMED,   /* A>L json: reconnected; both continue where the other end is */
    FRAME_DUMPING,   /* A>L json: DONE is late, core files are being written */
    FRAME_TREE,      /* L>A json: entries of a tree follow, below this directory */
    FRAME_ENTRIES,   /* both raw: some of the entries (entry.h) */
    FRAME_WANTED,    /* A>L u32 each: send the contents of these; answers ENTRIES */
    FRAME_FILE,      /* both raw: a chunk's id (chunk.h); its contents follow */
    FRAME_DATA,      /* both raw: a part of the contents; empty body: the rest is not sent */
    FRAME_FAILED,    /* A>L json: this entry could not be written or read here */
    FRAME_TASK,      /* L>A json: do this in a child (muster doctor, muster bootstrap) */
    FRAME_TASK_LINE, /* A>L json: a line of its output */
    FRAME_TASK_END,  /* A>L json: how it ended */
    FRAME_SUMS = 39, /* L>A raw: rows (chunk.h) of chunks this node must have; A>L: it has */
    FRAME_NEED,      /* both raw: ids of the chunks that the other end must send */
    FRAME_HAVE,      /* A>L raw: 4 x u64: rows settled, files, bytes, bytes from other nodes */
    FRAME_LISTEN,    /* L>A json: expect chunk requests from this node; A>L json: where */
    FRAME_LINK,      /* L>A json: ask that node for chunks; or the launcher again */
    FRAME_LINKED,    /* A>L json: the link works; or why it does not */
    FRAME_GIVE,      /* L>A json: paths that this node must send */
    FRAME_LIST,      /* L>A empty: send the next ENTRIES; empty ones: there are no more */
    FRAME_HASH,      /* L>A raw: send the SUMS of the chunks with these ids */
    FRAME_NOTICE,    /* A>L json: this node will leave;
                        L>A json: a node will leave, notify the ranks */
    FRAME_NOTICED,   /* A>L json: the ranks have been notified */
    FRAME_CHECKPOINT, /* A>L json: a checkpoint was written, or the look for one hangs */
    FRAME_SHARD,     /* A>L raw: a rank's request about shards of data; L>A: the answer */
    FRAME_FINISH,    /* L>A empty: all trees were sent; A>L raw: they are done; dangling links */
    FRAME_INPUT,     /* L>A raw: standard input of the ranks that get any; empty body: its end;
                        A>L empty: no rank here takes more */
    FRAME_WINDOW,    /* L>A u32 u32: rows and columns of the user's terminal */
    FRAME_SUDO,      /* L>A json: become root; A>L json: sudo wants a password, or it is done */
    FRAME_PASSWORD,  /* L>A raw: for sudo */
    FRAME_STEPS,     /* A>L json: the steps that the ranks here have reported */
    FRAME_EVIDENCE,  /* A>L json: what the node's kernel says of hardware */
    FRAME_RAS,       /* L>A empty: ask NCCL's RAS */
    FRAME_COLLECTIVES, /* A>L json: what it says of the collectives of the job */
    FRAME_SAMPLES,   /* A>L json: clocks of GPUs, states of ports; or that the driver hangs */
    FRAME_FLIGHT,    /* A>L json: the last collectives of a rank (PyTorch's flight recorder) */
    FRAME_TYPE_COUNT
};

enum frame_stream { STREAM_NONE = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2 };

struct frame {
    enum frame_type   type;
    enum frame_stream stream;
    uint32_t          generation;
    uint32_t          rank; /* global rank; 0 where it has no meaning */
    const unsigned char *body;
    size_t               size;
};

/* Is it FRAME_NONCE_CHARS digits? NULL is not. */
bool frame_is_nonce(const char *text);

/* Returns the name of a type for the log: "HELLO". */
const char *frame_name(enum frame_type type);

/* Appends one frame. size must be <= FRAME_BODY_MAX. */
void frame_put(struct evbuffer *out, const struct frame *frame);

/* Appends only the header; the caller adds the body. */
void frame_put_header(struct evbuffer *out, const struct frame *frame);

/* Appends a control frame and releases its json, which must not contain text that JSON cannot
 * hold (not UTF-8). Such bytes are sent in blobs. */
void frame_put_json(struct evbuffer *out, enum frame_type type, uint32_t generation,
                    uint32_t rank, json_t *body);

/* Parses the first frame of in. Returns 1: *frame is filled, and its body points into in until
 * frame_drop(in, frame). 0: more bytes are needed. -1: not a frame. */
int  frame_peek(struct evbuffer *in, struct frame *frame, struct error *err);
void frame_drop(struct evbuffer *in, const struct frame *frame);

/* Returns the body as a JSON object, which the caller releases; NULL with the reason in err. */
json_t *frame_json(const struct frame *frame, struct error *err);

/* Returns a JSON string of bytes that may not be UTF-8 (a path, an error text): NUL and bytes
 * that are not UTF-8 become '?'. For texts that people read, never for data. */
json_t *json_text(const char *bytes, size_t size);

void     put_u32(unsigned char *at, uint32_t value);
void     put_u64(unsigned char *at, uint64_t value);
uint32_t get_u32(const unsigned char *at);
uint64_t get_u64(const unsigned char *at);

#endif
