/* interrupt.h - signals that muster gets during a run
 *
 * INT, TERM and HUP end the run. The second one kills at once. At the third one muster exits at
 * once, and the agents clean up on their own. Once every node is over, these signals are for
 * the reader (reader.h). QUIT, USR1 and USR2 go to the ranks. TSTP is refused while there are
 * nodes. With URG muster status asks for the state of the run; a launcher without a handler
 * ignores it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_INTERRUPT_H
#define MUSTER_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>

struct run;
struct interrupt;

struct interrupt *interrupt_new(struct run *run);
/* Called when every node is over. */
void interrupt_nodes_over(struct run *run);
/* Called when everything is written and the exit status decided. From now on the second INT,
 * TERM or HUP since the start ends the process, whatever it waits for; other signals are
 * ignored. */
void interrupt_end(struct run *run, int status);
void interrupt_free(struct interrupt *interrupt); /* after interrupt_end(); NULL is fine */

/* If the hosts can change, does HUP make muster read them again? It does without a terminal,
 * since HUP cannot mean that one was closed. */
bool interrupt_hup_reads(void);
/* Is the signal ignored, as HUP by nohup(1) or --detach? Closing a terminal must not end such a
 * run. */
bool interrupt_is_ignored(int signal);

/* The user left before all output was read: that is why the run ends, if nothing else is. */
void interrupt_has_left(struct run *run);

/* Sends the signal to the ranks of all nodes where they run. Returns the number of these nodes. */
size_t interrupt_pass_on(struct run *run, int signal);

/* Has the user asked muster to end the run, with a signal? At once, with a second one? */
bool interrupt_has_come(const struct run *run);
bool interrupt_is_urgent(const struct run *run);

#endif
