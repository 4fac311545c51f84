/* ssh_advice.h - combines the OpenSSH commands in the advice for several nodes
 *
 *     connect once with ssh, or: ssh-keyscan -p 22 te1 te2 >> F; ssh-keyscan -p 2222 te3 >> F
 *     try: for h in me@te1 ann@te2; do ssh-copy-id -p 22 "$h"; done
 *
 * ssh-keyscan takes several hosts with the same port; ssh-copy-id and ssh-keygen -R take one
 * host.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_ADVICE_H
#define MUSTER_SSH_ADVICE_H

#include <stddef.h>

#include "strlist.h"

/* Returns the number of bytes at this place of text that are a command's arguments, which
 * differ on each node: "-p 22 me@te1", or "-R '[te1]:2222'". 0: there are no arguments here. */
size_t ssh_advice_args(const char *text, const char *at);

/* Returns one text for all nodes; caller frees. key: the advice with gap in place of all parts
 * that differ; gaps[i]: these parts of node i, in order. NULL: one text is not possible. */
char *ssh_advice_fold(const char *key, const char *gap, const struct strlist *gaps, size_t nodes);

#endif
