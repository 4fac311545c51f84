/* alone.h - the communicator of one rank: nothing has to be sent
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_ALONE_H
#define MUSTER_COMM_ALONE_H

#include "comm/comm.h"

/* Needs no network, and no name that stands for this host. Never fails. */
struct comm *comm_alone(double timeout_s);

#endif
