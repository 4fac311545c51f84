/* driver.h - what files tell of the NVIDIA driver
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_DRIVER_H
#define MUSTER_AGENT_DRIVER_H

#include <stdbool.h>

#include "doctor/checkup.h"

/* Versions, "535.129.03"; "": there is none, or not just one. */
struct driver {
    char module[32], library[32];
};

void driver_find(const struct checkup *checkup, struct driver *driver);
bool driver_differs(const struct driver *driver);

/* How often each number of an Xid is in the text of /dev/kmsg, since so many seconds after boot:
 * counts[most]. */
void xid_count(const char *log, double since_s, int *counts, int most);

#endif
