/* interrupt.h - signals that muster gets during a run
 *
 * INT, TERM and HUP end the run; a second one kills at once, a third one leaves at once, and
 * the agents clean up on their own. Once every node is over they mean the reader (reader.h).
 * QUIT, USR1 and USR2 go to the ranks. TSTP is refused while there are nodes. By URG muster
 * status asks how the run stands; a launcher that does not know that ignores it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INTERRUPT_H
#define MUSTER_INTERRUPT_H

#include <stdbool.h>

struct run;
struct interrupt;

struct interrupt *interrupt_new(struct run *run);
/* Every node is over; again for each generation. */
void interrupt_nodes_over(struct run *run);
/* All is written and the exit status decided. The second of all signals ends the process now,
 * whatever it waits for; the others are ignored. */
void interrupt_end(struct run *run, int status);
void interrupt_free(struct interrupt *interrupt); /* after interrupt_end(); NULL is fine */

/* HUP says that the hosts are to be read again, where they can change: without a terminal it is not
 * the end of one. */
bool interrupt_hup_reads(void);
/* By nohup(1) or --detach: the end of a terminal must not end the run. */
bool interrupt_is_ignored(int signal);

/* The user has left before all was read: that ends the run, unless something else did. */
void interrupt_has_left(struct run *run);

/* The user wants the run to end; ... at once. */
bool interrupt_has_come(const struct run *run);
bool interrupt_is_urgent(const struct run *run);

#endif
