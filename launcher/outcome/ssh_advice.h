/* ssh_advice.h - one piece of advice for many nodes, if it names commands of OpenSSH
 *
 *     connect once with ssh, or: ssh-keyscan -p 22 te1 te2 >> F; ssh-keyscan -p 2222 te3 >> F
 *     try: for h in me@te1 ann@te2; do ssh-copy-id -p 22 "$h"; done
 *
 * ssh-keyscan takes many hosts of one port, ssh-copy-id and ssh-keygen -R take one.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_ADVICE_H
#define MUSTER_SSH_ADVICE_H

#include <stddef.h>

#include "strlist.h"

/* How many bytes at this place of text are what such a command is to work on, which differs from
 * node to node: "-p 22 me@te1", or "-R '[te1]:2222'". 0: this is no such place. */
size_t ssh_advice_args(const char *text, const char *at);

/* key: the advice with gap in the place of all that differs; gaps[i]: what node i has there, in
 * order. Caller frees; NULL: it cannot be said in one piece. */
char *ssh_advice_fold(const char *key, const char *gap, const struct strlist *gaps, size_t nodes);

#endif
