/* sudo.h - this agent lets sudo start another one, which is root
 *
 * The launcher asks for it by SUDO, before anything else (doc/PROTOCOL section 12). This agent
 * executes sudo -S, whose standard input and output are one socket, with a prompt of random digits.
 * Only when sudo has shown that prompt does this agent ask the launcher for the password, and
 * writes it to that socket: the password is in no argument, no environment, no file and no log.
 * Where sudo wants none, none is sent. Once root's agent has answered with its nonce, this agent
 * only passes bytes on.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_SUDO_H
#define MUSTER_AGENT_SUDO_H

#include <jansson.h>

#include "err.h"
#include "frame.h"

/* Options of the agent that sudo starts: this one's SSH_CONNECTION, which sudo drops; and what it
 * is for, which is for sudo's log alone. */
#define SUDO_CONNECTION_OPTION "ssh-connection"
#define SUDO_PURPOSE_OPTION    "for"

/* Body of SUDO. */
struct sudo_request {
    char nonce[FRAME_NONCE_CHARS + 1]; /* what root's agent begins with; sudo's prompt, too */
    char purpose[FRAME_PURPOSE_MAX + 1]; /* "exec systemctl restart chrony" */
};

/* -1 with err: a value is missing or wrong. */
int sudo_request_read(struct sudo_request *request, const json_t *body, struct error *err);

/* Starts an agent as root and serves as its connection until either end closes. Returns the exit
 * status of this process: that of root's agent; or 1, after the launcher got an ERROR that says
 * why there is none. */
int sudo_run(int in_fd, int out_fd, const struct sudo_request *request);

#endif
