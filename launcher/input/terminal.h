/* terminal.h - the user's terminal while a rank has one of its own (--pty)
 *
 * Like ssh -t: every key goes to the rank, Ctrl-C too, and the terminal shows what comes back. A
 * "\n" only goes one line down then, so other lines end in "\r\n" (output/display.h).
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_TERMINAL_H
#define MUSTER_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Is fd a terminal? *rows, *columns: its size; 24 and 80 if that is unknown. */
bool terminal_size(int fd, int *rows, int *columns);

/* Gives all keys of the terminal fd to the program. Does nothing if it is none, or belongs to
 * another job. The process gives them back when it exits. */
void terminal_take_keys(int fd);
/* Makes the terminal as it was before terminal_take_keys(), if that was called. */
void terminal_give_back(void);

/* Looks for the keys that end muster though the rank has the keyboard: at the beginning of a line
 * "~" and ".", as in ssh. state is 0 at first; returns true if they have come. */
bool terminal_find_escape(int *state, const char *keys, size_t count);

#endif
