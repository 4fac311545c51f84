/* relay.h - an agent passes bytes between the launcher and another agent on this node
 *
 * The other agent has the ranks and has lost its connection (reconnect_socket.h), or is root's
 * (sudo.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RELAY_H
#define MUSTER_AGENT_RELAY_H

/* Passes bytes in both directions until either end closes; and from err_fd, unless it is -1, to
 * standard error. Returns 0, or 1 if the launcher's end closed. Bytes in flight at that time are
 * not lost: both ends keep them (resend_queue.h). */
int relay_run(int in_fd, int out_fd, int agent_fd, int err_fd);

#endif
