/* agent_start.h - from a login shell to a running agent
 *
 * sshd gives the remote command to the user's login shell, which may be any shell. The command
 * is the same for every node, and nothing in it ever needs quoting. It executes the agent if
 * that is in its usual place. Otherwise it runs a small POSIX sh script that finds the agent in
 * another cache directory or asks for its bytes. doc/PROTOCOL section 1 has the dialogue.
 * Output of the shell before and between the script's lines is noise and is skipped.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_START_H
#define MUSTER_AGENT_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/buffer.h>

#include "frame.h"
#include "transport/agent_file.h"
#include "transport/conn.h"

/* What the launcher knows about the agent in the node's cache. */
enum agent_push {
    PUSH_IF_MISSING,
    PUSH_AGAIN,    /* the agent is damaged: replace it */
    PUSH_ELSEWHERE /* the agent or its file system may hang: use another place */
};

/* Returns the remote command that starts agent; the caller frees it. */
char *agent_start_command(const struct agent_file *agent, enum agent_push push);

/* The script in the command of agent_start_command(). */
extern const char agent_start_script[];

/* How long a login shell may take, in times of --connect-timeout: its profile may be slow. The
 * same limits the silence of a node that is given the agent. */
#define AGENT_START_TIMES 2

enum agent_start_result {
    AGENT_START_FAILED = -1, /* see why */
    AGENT_START_MORE,        /* call again when more input has come */
    AGENT_START_PUSH,        /* the agent's bytes were queued; call again */
    AGENT_START_OPEN,        /* the rest of in is frames */
};

struct agent_start {
    const struct agent_file *agent; /* borrowed */
    char                     nonce[FRAME_NONCE_CHARS + 1];
    struct evbuffer         *out;
    size_t                   noise;  /* bytes skipped */
    struct evbuffer         *tail;   /* the last noise bytes */
    int                      pushes;
    bool                     has_echo;  /* the opening line came back */
    int64_t                  pushed_ns; /* when the last push began */
    uint64_t                 left;      /* see agent_start_goes_on() */
};

/* Queues the opening line in out (borrowed). Returns -1 if no nonce could be made. */
int  agent_start_begin(struct agent_start *start, const struct agent_file *agent,
                       enum agent_push push, struct evbuffer *out);
void agent_start_clear(struct agent_start *start);

/* Reads in. A push adds the agent's bytes to out by reference, so agent must stay open until
 * they are written. */
enum agent_start_result agent_start_feed(struct agent_start *start, struct evbuffer *in,
                                         struct conn_failure *why);

/* After a deadline: does a push go on, if left bytes are on their way now? A slow line may pass as
 * many deadlines as it needs, unless it carries less than 4 KiB/s. */
bool agent_start_goes_on(struct agent_start *start, uint64_t left);

/* No more input will come: treats the rest of in as noise. */
void agent_start_end(struct agent_start *start, struct evbuffer *in);

/* Writes the end of the noise into text, safe to print; "" if there was none. */
void agent_start_noise(const struct agent_start *start, char *text, size_t size);

/* Says in why's hint what to look for, if another command may have run in place of ours: one that
 * echoes, as cat does, or one that is satisfied. status: as it exited, -1: it did not. to: what ssh
 * needs to get there, "te1". */
void agent_start_hint(const struct agent_start *start, int status, const char *to,
                      struct conn_failure *why);

#define AGENT_END_MAX 112 /* bytes that agent_end_text() may need */

/* Describes how the remote command ended: "exited with status 3", "was killed by SIGKILL". A
 * login shell that has waited for its command exits with 128 plus the signal's number. */
void agent_end_text(int status, char *text, size_t size);

#endif
