/* option_table.h - the only list of settings, one row each
 *
 * A row gives a setting's name, how text becomes its value, which subcommands take it and what
 * --help prints. Command line, muster.conf, environment, defaults, --help and completion all
 * read this table.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTION_TABLE_H
#define MUSTER_OPTION_TABLE_H

#include <stddef.h>

#include "options/options.h"

enum option_flags {
    OPTION_DEEPSPEED = 1, /* a prefix that was unique in DeepSpeed keeps its meaning */
    OPTION_ARGV_ONLY = 2, /* has no meaning in muster.conf or the environment */
    OPTION_HIDDEN = 4,    /* not in --list-options; no prefix matches it */
    OPTION_REFUSED = 8,   /* an option of DeepSpeed that muster refuses; not in --help */
    OPTION_RARE = 16,     /* a long --help lists only the name */
    OPTION_RARE_IN_RUN = 32, /* that of muster run does */
};

/* Which subcommands take an option on the command line and list it in their --help: FOR(RUN) |
 * FOR(CHECK). Settings files and the environment may contain any option: a subcommand ignores
 * those that it does not take. */
#define FOR(name) (1u << COMMAND_##name)
#define FOR_WORLD (FOR(RUN) | FOR(CHECK))      /* ranks that form one world */
#define FOR_RANKS (FOR_WORLD | FOR(EXEC) | FOR(SHELL)) /* subcommands that start processes */
#define FOR_NODES (FOR(ATTACH) - 1)            /* subcommands that connect to nodes */
/* subcommands that may be root on nodes */
#define FOR_ROOT  (FOR(EXEC) | FOR(SHELL) | FOR(BCAST) | FOR(COLLECT) | FOR(CLEAN) | FOR(DOCTOR) | \
                   FOR(BOOTSTRAP))
#define FOR_ANY   (FOR(HELP) - 1)
/* in addition: it may be given for one role (roles.h) */
#define FOR_ROLE  (1u << COMMANDS)

struct option_row;

/* Stores value in the row's field. value is NULL only for a row without arg. */
typedef int option_setter(struct options *options, const struct option_row *row,
                          const char *value, struct error *err);

struct option_row {
    const char *group; /* heading in --help; NULL: the same as the row above */
    const char *name;  /* long name as documented; '-' and '_' are the same */
    char        letter;
    const char *arg;     /* what --help calls the value; NULL: takes none */
    const char *initial; /* the default, as typed on the command line; NULL: none */
    const char *help;    /* one line; OPTION_REFUSED: what to do instead; NULL: an alias */

    option_setter     *set;
    option_setter     *letter_set; /* if -LETTER differs from --name */
    size_t             field;      /* in struct options */
    double             min, max;
    const char *const *words;      /* names of an enum's values, in order; ends with NULL */

    unsigned flags, commands;
};

extern const struct option_row option_table[];
extern const size_t            option_rows;

/* Returns the row with exactly this name, or NULL. */
const struct option_row *option_by_name(const char *name, size_t length);

/* Returns the row that a name on the command line means: its full name or a unique prefix.
 * Returns NULL with an error that lists the candidates or suggests a name. */
const struct option_row *option_find(const char *name, size_t length, struct error *err);

const struct option_row *option_by_letter(char letter);

/* Writes a hint into text: " (did you mean --hostfile?)", ": it is torchrun's; leave it out" or
 * "". */
void option_suggest(const char *name, size_t length, char *text, size_t size);

#endif
