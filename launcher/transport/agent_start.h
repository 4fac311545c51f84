/* agent_start.h - from a login shell to a running agent
 *
 * sshd gives the remote command to the login shell of the user, whichever that is. The command
 * is the same for every node, and nothing in it ever needs quoting: become the agent if it is
 * in its usual place, else run a small POSIX sh script that finds it in another cache directory
 * or asks for its bytes first. doc/PROTOCOL section 1 has the dialogue; what the shell prints
 * before and in between is noise and is skipped.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_START_H
#define MUSTER_AGENT_START_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/buffer.h>

#include "frame.h"
#include "transport/agent_file.h"
#include "transport/conn.h"

/* What is known of the agent in the cache of the node. */
enum agent_push {
    PUSH_IF_MISSING,
    PUSH_AGAIN,    /* it is damaged: replace it */
    PUSH_ELSEWHERE /* it, or its file system, may hang: use another place */
};

/* The remote command for that agent; caller frees. */
char *agent_start_command(const struct agent_file *agent, enum agent_push push);

/* The script in that command. */
extern const char agent_start_script[];

enum agent_start_result {
    AGENT_START_FAILED = -1, /* see why */
    AGENT_START_MORE,        /* call again when more has come */
    AGENT_START_PUSH,        /* the agent was queued; call again */
    AGENT_START_OPEN,        /* the rest of in is frames */
};

struct agent_start {
    const struct agent_file *agent; /* borrowed */
    char                     nonce[FRAME_NONCE_CHARS + 1];
    struct evbuffer         *out;
    size_t                   noise;  /* bytes skipped */
    struct evbuffer         *tail;   /* the last of them */
    int                      pushes;
};

/* Queue the opening line in out (borrowed). -1 if no nonce could be made. */
int  agent_start_begin(struct agent_start *start, const struct agent_file *agent,
                       enum agent_push push, struct evbuffer *out);
void agent_start_clear(struct agent_start *start);

/* Read what has come. A push moves the bytes of the agent into out by reference: agent must
 * stay open until they are written. */
enum agent_start_result agent_start_feed(struct agent_start *start, struct evbuffer *in,
                                         struct conn_failure *why);

/* Nothing more will come: the rest of in was noise, too. */
void agent_start_end(struct agent_start *start, struct evbuffer *in);

/* The end of the noise, safe to print; "" if there was none. */
void agent_start_noise(const struct agent_start *start, char *text, size_t size);

#define AGENT_END_MAX 112 /* bytes of agent_end_text, the longest included */

/* "exited with status 3", "was killed by SIGKILL": how the remote command ended, for people. A
 * login shell that has waited for its command says 128 and the signal's number. */
void agent_end_text(int status, char *text, size_t size);

#endif
