/* command.c - see command.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "options/command.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nearby.h"

/* What most rows of a kind have in common. */
#define RANKS  .kind = COMMAND_OF_RANKS, .most = ANY_NUMBER
#define JOB    .kind = COMMAND_NODE_JOB
#define PAST   .kind = COMMAND_OF_PAST, .first = FIRST_RUN, .takes = "one run, after its options"
#define SCRIPT .first = FIRST_SCRIPT
#define SOME   .least = 1, .most = ANY_NUMBER

const struct command_row command_table[COMMANDS] = {
    [COMMAND_RUN] = { "run", "[run] [OPTIONS] SCRIPT [ARGS...]",
                      "start a script, one rank per slot, as deepspeed does", RANKS, SCRIPT },
    [COMMAND_EXEC] = { "exec", "exec [OPTIONS] [[--] COMMAND [ARGS...]]",
                       "run a command once per host, as pdsh does; without one: a prompt", RANKS,
                       SCRIPT },
    [COMMAND_SHELL] = { "shell", "shell [OPTIONS] [--] [HOST [COMMAND [ARGS...]]]",
                        "log in to a host, as ssh -t does", RANKS, SCRIPT },
    [COMMAND_CHECK] = { "check", "check [OPTIONS] [-- ARGS of muster-train check]",
                        "test whether the nodes can compute together, and how fast", RANKS },
    [COMMAND_CLEAN] = { "clean", "clean [OPTIONS]",
                        "list or remove what earlier runs left on the nodes", JOB,
                        .takes = "options only" },
    [COMMAND_BCAST] = { "bcast", "bcast [OPTIONS] [NODE:]PATH...",
                        "copy files and directories to all nodes", JOB, SOME, .is_mixed = true,
                        .missing = "nothing to copy" },
    [COMMAND_COLLECT] = { "collect", "collect [OPTIONS] PATH...",
                          "copy files and directories from all nodes to this machine", JOB, SOME,
                          .is_mixed = true, .missing = "nothing to copy" },
    [COMMAND_BOOTSTRAP] = { "bootstrap", "bootstrap [OPTIONS] [CONF]",
                            "turn fresh machines into nodes; see muster-bootstrap(1)", JOB,
                            .most = 1, .is_mixed = true, .takes = "one file" },
    [COMMAND_DOCTOR] = { "doctor", "doctor [OPTIONS] [SCRIPT [ARGS...]]",
                         "find out what is wrong with the nodes", JOB, SCRIPT,
                         .most = ANY_NUMBER },
    [COMMAND_ATTACH] = { "attach", "attach [OPTIONS] [RUN]", "show the output of a detached run",
                         PAST },
    [COMMAND_STATUS] = { "status", "status [OPTIONS] [RUN]",
                         "list the runs, or the ranks of one", PAST },
    [COMMAND_STOP] = { "stop", "stop [OPTIONS] [RUN]",
                       "stop a run, as Ctrl-C in its terminal does", PAST },
    [COMMAND_KILL] = { "kill", "kill [OPTIONS] RUN", "send a signal to the ranks of a run", PAST },
    [COMMAND_DRAIN] = { "drain", "drain [OPTIONS] RUN HOST...",
                        "let a run save its state and continue without these nodes", PAST, SOME,
                        .missing = "no nodes named" },
    [COMMAND_SCALE] = { "scale", "scale [OPTIONS] RUN --nodes N",
                        "let a run save its state and continue on N nodes", PAST,
                        .is_mixed = true },
    [COMMAND_STACKS] = { "stacks", "stacks [OPTIONS] [RUN]",
                         "show where each rank of a run is now", PAST },
    [COMMAND_OPEN] = { "open", "open [OPTIONS] [RUN]", "print where the page of a run is", PAST },
    [COMMAND_RESUME] = { "resume", "resume [OPTIONS] RUN",
                         "restart a run whose launcher was killed", PAST },
    [COMMAND_HELP] = { "help", "help [SUBCOMMAND]", "open the manual page",
                       .kind = COMMAND_ABOUT },
};

bool command_find(const char *word, enum command *command)
{
    static const struct {
        const char  *word;
        enum command command;
    } others[] = { { "ps", COMMAND_STATUS }, { "list", COMMAND_STATUS } };
    int i;

    for (i = 0; word != NULL && i < COMMANDS; i++) {
        if (strcmp(word, command_table[i].name) == 0) {
            *command = (enum command)i;
            return true;
        }
    }
    for (i = 0; word != NULL && i < (int)(sizeof others / sizeof *others); i++)
        if (strcmp(word, others[i].word) == 0) {
            *command = others[i].command;
            return true;
        }
    return false;
}

const char *command_nearby(const char *word)
{
    int i;

    for (i = 0; i < COMMANDS; i++)
        if (nearby(word, strlen(word), command_table[i].name) != SIZE_MAX)
            return command_table[i].name;
    return NULL;
}
