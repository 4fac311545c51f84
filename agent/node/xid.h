/* xid.h - errors of GPUs that the NVIDIA driver has written into the kernel's log
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_XID_H
#define MUSTER_AGENT_XID_H

#include <stdbool.h>

#define XIDS_MAX 256

/* How often each number of an Xid was written in the last day: counts[XIDS_MAX]. root: of /dev. */
void xid_read(const char *root, int *counts);

/* The same of the text of /dev/kmsg, since so many seconds after boot: counts[most]. */
void xid_count(const char *log, double since_s, int *counts, int most);

/* One that a program cannot cause: memory, bus, firmware. */
bool xid_is_of_hardware(int xid);

#endif
