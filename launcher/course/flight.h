/* flight.h - keeps what PyTorch's flight recorder knew about the ranks (outcome/flight_records.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FLIGHT_H
#define MUSTER_FLIGHT_H

struct run;

/* Writes the records of this generation, if there are any, into the directory of the run. */
void flight_write(const struct run *run);
/* The same, and says what they show: another generation follows. */
void flight_tell(const struct run *run);

#endif
