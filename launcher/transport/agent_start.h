/* agent_start.h - from a login shell to a running agent
 *
 * sshd hands the remote command to the user's login shell, whichever that is.
 * The command is the same for every node, and nothing in it ever needs quoting:
 * become the agent when it is in its usual place, else run a small POSIX sh
 * script that finds it in another cache directory or asks for its bytes first.
 * doc/PROTOCOL section 1 has the dialogue; what the shell prints before and
 * between is noise and is skipped.
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

/* The remote command for that agent; caller frees. again: the agent in the cache
 * is damaged, so do not become it. */
char *bootstrap_command(const struct agent_file *agent, bool again);

/* The script in it. */
extern const char bootstrap_script[];

enum bootstrap_result {
    BOOTSTRAP_FAILED = -1, /* why says it */
    BOOTSTRAP_MORE,        /* feed it again when more has come */
    BOOTSTRAP_PUSH,        /* the agent's bytes were queued; feed on */
    BOOTSTRAP_OPEN,        /* what is left in in are frames */
};

struct bootstrap {
    const struct agent_file *agent; /* borrowed */
    char             nonce[FRAME_NONCE_CHARS + 1];
    struct evbuffer *out;
    size_t           noise;  /* bytes skipped */
    struct evbuffer *tail;   /* the last of them */
    int              pushes;
};

/* Queue the opening line in out (borrowed). again: the agent in the cache is
 * damaged, replace it. -1 when there is no randomness for a nonce. */
int  bootstrap_start(struct bootstrap *b, const struct agent_file *agent, bool again,
                     struct evbuffer *out);
void bootstrap_clear(struct bootstrap *b);

/* Use up what has come in. A push moves the agent's bytes into out by
 * reference: agent must stay open until they are written. */
enum bootstrap_result bootstrap_feed(struct bootstrap *b, struct evbuffer *in,
                                     struct conn_failure *why);

/* Nothing more will come: what is left in in was noise as well. */
void bootstrap_end(struct bootstrap *b, struct evbuffer *in);

/* The last of the noise, safe to print; "" when there was none. */
void bootstrap_noise(const struct bootstrap *b, char *text, size_t size);

/* "exited with status 3", "was killed by SIGKILL": how the remote command ended, for people. A
 * login shell that has waited for its command says 128 and the signal's number. */
void agent_end_text(int status, char *text, size_t size);

#endif
