/* xid.h - errors of GPUs, by the numbers that the NVIDIA driver gives them
 *
 * What to do follows the column "Immediate Action" of NVIDIA's Xid catalog of October 2025
 * (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): RESTART_BM is a
 * reboot, RESET_GPU and the workflows that end in it a reset, and RESTART_APP a program's fault
 * unless the number is one of memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_XID_H
#define MUSTER_AGENT_XID_H

#include "evidence/evidence.h"

struct xid {
    int                    number;
    enum evidence_severity severity;
    const char            *what;   /* "it has fallen off the bus" */
    const char            *action; /* what to do; "": nothing */
};

/* Never NULL. Of a number that muster does not know, it says that. */
const struct xid *xid_of(long number);

/* Xid 154 says what the driver recommends after another Xid: text is its message. */
const struct xid *xid_of_recovery(const char *text);

#endif
