/* arrival.h - a slow host, told from a slow network
 *
 * Between two barriers, which all ranks leave at the same time, each does the same small
 * work. Who needs longer for it comes late to the next, whatever the network is like. No
 * clocks of different machines are compared.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARRIVAL_H
#define MUSTER_ARRIVAL_H

#include "comm/comm.h"

/* work_s of each rank: the least of several times, so that a moment's noise does not count.
 * -1 when the communicator failed. */
int arrival_measure(double *work_s, struct comm *comm, int rounds, struct error *err);

/* The median of work_s, and by how much it is passed when that is slow. */
double arrival_median(const double *work_s, int ranks);
#define ARRIVAL_SLOW 1.5

#endif
