/* prompt_process.h - the processes that muster exec's prompt starts for its lines, and its signals
 *
 * Each line is a process of its own, so that a line leaves nothing behind in the prompt. Ctrl-C is
 * for that process; SIGTERM and SIGHUP end it, and then the prompt.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROMPT_PROCESS_H
#define MUSTER_PROMPT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "err.h"

/* Takes the signals from now on. is_terminal: Ctrl-C ends only a line; else it is a signal that
 * ends the prompt. */
void prompt_process_begin(bool is_terminal);

/* Returns the signal that ends the prompt, or 0. */
int prompt_process_ending(void);

/* Waits for standard input. -1: a signal came. */
int prompt_process_wait_input(void);

/* Forks. The child has the signals that muster was started with, and no standard input unless it
 * is a terminal and has_terminal. In the parent: waits, and returns the exit status, 128+N after
 * signal N. In the child: returns -1. -2 with err: there is no child. */
int prompt_process_fork(bool has_terminal, struct error *err);

#endif
