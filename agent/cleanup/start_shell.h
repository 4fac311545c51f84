/* start_shell.h - login shells that hang before they start the agent
 *
 * Their sshd is gone, since the launcher has given up. They have no variable of a run. What tells
 * them apart from what the user runs by ssh is the command that the launcher gave them, or, if
 * they have executed another program, the line that they should have read from standard input.
 * doc/PROTOCOL section 1 has both.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_START_SHELL_H
#define MUSTER_AGENT_START_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Is this process such a shell, or one that it has started? */
bool start_shell_has(pid_t pid);

/* Does the process's standard input begin with the launcher's opening line, unread? It stays
 * unread. False if we may not look: Linux before 5.6, or a stranger's process. */
bool start_shell_input(pid_t pid);
/* Is this what the launcher sends first? */
bool start_shell_opening(const char *bytes, size_t size);

#endif
