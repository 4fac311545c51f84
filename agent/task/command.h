/* command.h - another program, which a task runs to its end
 *
 * Only for the child that runs a task (task.h): it waits for the program. There is no shell.
 * The program gets the agent's environment, with LC_ALL=C and the usual folders of root's
 * programs appended to PATH.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_COMMAND_H
#define MUSTER_AGENT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_OUTPUT_MAX (256u << 10) /* per stream; the rest is dropped */

struct command_result {
    int    status;    /* exit status; -1: it has none */
    int    signal;    /* the signal that killed it; 0: none */
    int    error;     /* errno: it was not started; 0: it was started */
    bool   timed_out; /* and killed, with its process group */
    bool   is_cut;    /* there was more output */
    char  *out, *err; /* each ended by NUL, never NULL */
    size_t out_size, err_size;
};

/* Runs a program. argv ends with NULL; argv[0] is looked up in PATH. input: its stdin; NULL:
 * empty. True if it exits with status 0. Clear the result in any case. */
bool command_run(const char *const *argv, const char *input, double timeout_s,
                 struct command_result *result);
/* The same, but stdout is out_fd: output goes there at once, and is not in the result. */
bool command_run_to(int out_fd, const char *const *argv, const char *input, double timeout_s,
                    struct command_result *result);
void command_clear(struct command_result *result);

/* Explains why it did not exit with 0: "not finished after 3 s", "exit status 1: ...", with the
 * last line of its stderr. */
void command_why(const struct command_result *result, double timeout_s, char *text, size_t size);
/* The same with this many last lines: "exit status 1: one | two". */
void command_why_lines(const struct command_result *result, double timeout_s, int lines,
                       char *text, size_t size);

#endif
