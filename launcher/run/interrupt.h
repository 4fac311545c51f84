/* interrupt.h - signals that muster gets during a run
 *
 * INT, TERM and HUP end the run; a second one kills at once, a third one leaves at once, and
 * the agents clean up on their own. QUIT, USR1 and USR2 go to the ranks. TSTP is refused. By
 * URG muster status asks how the run stands; a launcher that does not know that ignores it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INTERRUPT_H
#define MUSTER_INTERRUPT_H

#include <stdbool.h>

struct run;
struct interrupt;

struct interrupt *interrupt_new(struct run *run);
/* From here on such signals are ignored: the run is over and its exit status decided. NULL is
 * fine. */
void interrupt_free(struct interrupt *interrupt);

/* The user wants the run to end; ... at once; ... without waiting for anything. */
bool interrupt_has_come(const struct run *run);
bool interrupt_is_urgent(const struct run *run);
bool interrupt_is_last(const struct run *run);

#endif
