/* reconnect_relay.h - what a second agent does: bytes between the launcher and the first one
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_RECONNECT_RELAY_H
#define MUSTER_AGENT_RECONNECT_RELAY_H

/* Pass on in both directions until either end closes. 0, or 1 when the launcher's end
 * was the one. What was on its way then is not lost: both ends keep it (resend_queue.h). */
int reconnect_relay_run(int in_fd, int out_fd, int agent_fd);

#endif
