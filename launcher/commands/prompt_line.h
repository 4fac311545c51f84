/* prompt_line.h - what a line means that was typed at the prompt of muster exec
 *
 *     COMMAND          for sh on the nodes      !COMMAND   for sh on this machine
 *     @HOSTS COMMAND   on these nodes only      @HOSTS     these are the nodes of further lines
 *     @ COMMAND        on all nodes             @          all are again
 *     hosts, help, exit, quit
 *
 * HOSTS is a filter as --include takes it (plan/select.h), but commas may separate hosts, too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PROMPT_LINE_H
#define MUSTER_PROMPT_LINE_H

enum prompt_kind {
    PROMPT_NOTHING, /* an empty line, or a comment */
    PROMPT_COMMAND,
    PROMPT_CD, /* a command that only changes the directory of its own shell */
    PROMPT_LOCAL,
    PROMPT_CHOOSE, /* the nodes of further lines */
    PROMPT_HOSTS,
    PROMPT_HELP,
    PROMPT_EXIT,
};

struct prompt_line {
    enum prompt_kind kind;
    char            *hosts;   /* NULL: none are named; "": all; else a filter for select_slots() */
    const char      *command; /* borrowed from the text; "": the line has none, even a local one */
};

/* Never fails: whatever is not known is a command. Call prompt_line_clear(). */
void prompt_line_read(const char *text, struct prompt_line *line);
void prompt_line_clear(struct prompt_line *line);

#endif
