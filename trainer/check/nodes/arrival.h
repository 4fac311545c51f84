/* arrival.h - distinguishes a slow host from a slow network
 *
 * All ranks leave a barrier at the same time and do the same small work before the next one. A
 * rank that needs longer for the work is late at the next barrier, whatever the speed of the
 * network. Clocks of different machines are not compared.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARRIVAL_H
#define MUSTER_ARRIVAL_H

#include "comm/comm.h"

/* Sets work_s for each rank: the shortest of several times, so that short disturbances do not
 * count. -1 if the communicator fails. */
int arrival_measure(double *work_s, struct comm *comm, int rounds, struct error *err);

/* Returns the median of work_s. A rank that needs more than ARRIVAL_SLOW times this is slow. */
double arrival_median(const double *work_s, int ranks);
#define ARRIVAL_SLOW 1.5

#endif
