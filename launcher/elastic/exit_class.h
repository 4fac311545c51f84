/* exit_class.h - which failures of a rank are worth another start: one table
 *
 * Codes are those of a shell: 128 + N for a signal. The classes are DLRover's, and
 * muster-elastic(7) lists them under RESTARTS. --restart-on replaces the column `restarts`.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EXIT_CLASS_H
#define MUSTER_EXIT_CLASS_H

#include <stdbool.h>

#include "err.h"

#define EXIT_CODES 256

struct exit_class {
    const char *name;    /* as in --restart-on */
    const char *codes;   /* "126-127"; "": all codes that no other class has */
    bool        restarts;
    bool        is_from_outside; /* not caused by the program, so it says nothing about it */
};

/* --restart-on, parsed. */
struct restart_on {
    bool code[EXIT_CODES];
    bool out_of_memory; /* a rank that the kernel's OOM killer killed */
};

/* Returns the class of that exit code, never NULL. */
const struct exit_class *exit_class_of(int code, bool out_of_memory);

/* Parses "killed,hardware,1,200-210": names of classes, codes, ranges. text NULL: the table
 * applies. 137 as a number also means the OOM killer. -1 with err. */
int  restart_on_parse(const char *text, struct restart_on *on, struct error *err);
bool restart_on_has(const struct restart_on *on, int code, bool out_of_memory);

#endif
