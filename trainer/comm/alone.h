/* alone.h - the communicator of a single rank, which sends nothing
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMM_ALONE_H
#define MUSTER_COMM_ALONE_H

#include "comm/comm.h"

/* Needs no network, and no host name that resolves. Never fails. */
struct comm *comm_alone(double timeout_s);

#endif
