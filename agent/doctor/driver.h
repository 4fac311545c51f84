/* driver.h - what the NVIDIA driver has written into the kernel's log
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DRIVER_H
#define MUSTER_AGENT_DRIVER_H

/* How often each number of an Xid is in the text of /dev/kmsg, since so many seconds after boot:
 * counts[most]. */
void xid_count(const char *log, double since_s, int *counts, int most);

#endif
