/* command.h - the subcommands: their names, what they are, and which words they take
 *
 * A new subcommand has a name here and a row in command.c; a row in main.c says what it does. Its
 * options are rows of option_table.c.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COMMAND_H
#define MUSTER_COMMAND_H

#include <stdbool.h>

enum command {
    COMMAND_RUN,       /* one rank per slot */
    COMMAND_EXEC,      /* one rank per node, independent */
    COMMAND_SHELL,     /* a login on one node; after options_parse() it is COMMAND_EXEC */
    COMMAND_CHECK,     /* a run of muster-train check */
    COMMAND_CLEAN,     /* what earlier runs left on the nodes */
    COMMAND_BCAST,     /* files to all nodes */
    COMMAND_COLLECT,   /* files of all nodes to this machine */
    COMMAND_BOOTSTRAP, /* fresh machines become nodes */
    COMMAND_DOCTOR,    /* what is wrong with the nodes */
    /* All above connect to nodes; those below do not. */
    COMMAND_ATTACH, /* a run's output */
    COMMAND_STATUS,
    COMMAND_STOP,
    COMMAND_KILL,   /* sends a signal to the ranks of a run */
    COMMAND_DRAIN,  /* a run does without these nodes */
    COMMAND_SCALE,  /* changes the number of a run's nodes */
    COMMAND_STACKS, /* where a run's ranks are */
    COMMAND_OPEN,   /* where the page of a run is */
    COMMAND_RESUME, /* starts a run again after its launcher has died */
    COMMAND_HELP,
    COMMANDS
};

enum command_kind {
    COMMAND_ABOUT,    /* tells about muster itself */
    COMMAND_OF_RANKS, /* starts ranks on nodes */
    COMMAND_NODE_JOB, /* works on nodes without ranks (node/node_job.h) */
    COMMAND_OF_PAST,  /* looks up a run in this machine's history, and starts none */
};

/* What the first word is that is no option; other words are arguments. */
enum first_word {
    FIRST_ARGUMENT,
    FIRST_SCRIPT, /* options end before it */
    FIRST_RUN,    /* a run of the history */
};

#define ANY_NUMBER (-1)

struct command_row {
    const char       *name;
    const char       *synopsis, *summary; /* for --help */
    enum command_kind kind;
    enum first_word   first;
    int               least, most; /* number of arguments */
    bool              is_mixed;    /* options may follow words, as with cp */
    const char       *takes;       /* for the error if there are more: "one file" */
    const char       *missing;     /* and if there are fewer, or FIRST_SCRIPT is missing; NULL: it
                                      may be */
};

extern const struct command_row command_table[COMMANDS];

static inline const char *command_name(enum command command)
{
    return command_table[command].name;
}

static inline bool command_is(enum command command, enum command_kind kind)
{
    return command_table[command].kind == kind;
}

/* Finds a subcommand by its name, or by one that other programs have for it. false: word is none,
 * or NULL. */
bool command_find(const char *word, enum command *command);

/* Returns the name of the subcommand that is spelled almost like word, or NULL. */
const char *command_nearby(const char *word);

#endif
