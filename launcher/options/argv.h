/* argv.h - the command line as settings, before any of them is applied
 *
 * Words become settings in the order in which they were typed. They are applied later and
 * override muster.conf and the environment. The rules are those of Python's argparse, as
 * DeepSpeed uses it: options end at the first word that is not an option, "--x=v" and "--x v"
 * are the same, and a unique prefix is enough. Errors are collected, so that muster can report
 * all of them at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARGV_H
#define MUSTER_ARGV_H

#include "options/option_table.h"
#include "strlist.h"

struct setting {
    const struct option_row *row;
    option_setter           *set;
    const char              *value;     /* borrowed from argv; NULL: none */
    char                     typed[48]; /* for messages: "--num_gpus", "-H" */
};

struct settings {
    struct setting *item;
    size_t          count;
    size_t          own;   /* those from here on are of one role */
    struct strlist  wrong; /* one message each */
};

/* Fills settings, and the command, the script and its arguments in options. argv ends with
 * NULL. Free settings with settings_clear().
 *
 * own: the words of one role, at the end of argv; those before them are the run's. NULL: argv is
 * what the user typed; if it has roles, all words from the first --role on are arguments. */
void argv_read(int argc, char **argv, char **own, struct options *options,
               struct settings *settings);
void settings_clear(struct settings *settings);

#endif
