/* command.h - another program, run by a task to its end
 *
 * Only for the child that does a task (task.h): it waits. There is no shell. The program gets
 * the agent's environment, with LC_ALL=C and the usual folders of root's programs behind PATH.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_COMMAND_H
#define MUSTER_AGENT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#define COMMAND_OUTPUT_MAX (256u << 10) /* of each stream; the rest is dropped */

struct command_result {
    int    status;    /* its exit status; -1: it has none */
    int    signal;    /* that ended it; 0: none */
    int    error;     /* errno: it was not started; 0: it was */
    bool   timed_out; /* and killed, with its process group */
    bool   is_cut;    /* there was more output */
    char  *out, *err; /* each ended by NUL, never NULL */
    size_t out_size, err_size;
};

/* argv ends with NULL; argv[0] is looked up in PATH. input: what it reads from stdin; NULL:
 * nothing. True if it ended with exit status 0. Clear the result in any case. */
bool command_run(const char *const *argv, const char *input, double timeout_s,
                 struct command_result *result);
/* The same, but stdout is out_fd: what the program says is there at once, and not in the result. */
bool command_run_to(int out_fd, const char *const *argv, const char *input, double timeout_s,
                    struct command_result *result);
void command_clear(struct command_result *result);

/* Why it did not end with 0: "not finished after 3 s", "exit status 1: ...", with the last line
 * of its stderr. */
void command_why(const struct command_result *result, double timeout_s, char *text, size_t size);

#endif
