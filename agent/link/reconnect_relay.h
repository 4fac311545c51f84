/* reconnect_relay.h - a second agent passes bytes between the launcher and the first agent
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECONNECT_RELAY_H
#define MUSTER_AGENT_RECONNECT_RELAY_H

/* Passes bytes in both directions until either end closes. Returns 0, or 1 if the
 * launcher's end closed. Bytes in flight at that time are not lost: both ends
 * keep them (resend_queue.h). */
int reconnect_relay_run(int in_fd, int out_fd, int agent_fd);

#endif
