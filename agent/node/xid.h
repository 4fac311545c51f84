/* xid.h - errors of GPUs that the NVIDIA driver has written into the kernel's log
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_XID_H
#define MUSTER_AGENT_XID_H

#include <stdbool.h>

#define XIDS_MAX 256

/* Counts each Xid number that was logged during the last day: counts[XIDS_MAX]. root:
 * the prefix of /dev/kmsg. */
void xid_read(const char *root, int *counts);

/* Counts the same in the text of /dev/kmsg, from since_s seconds after boot: counts[most]. */
void xid_count(const char *log, double since_s, int *counts, int most);

/* Is this an Xid that a program cannot cause: memory, bus, firmware? */
bool xid_is_of_hardware(int xid);

#endif
