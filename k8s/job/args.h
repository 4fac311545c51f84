/* args.h - the options of muster-k8s, by a table
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARGS_H
#define MUSTER_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "err.h"
#include "strlist.h"

struct arg_row {
    const char *name;   /* without "--"; the last row has NULL */
    char        letter; /* 0: none */
    const char *meta;   /* of its value: "NAME"; NULL: it takes none, set() gets NULL */
    const char *help;   /* a few words; NULL: one of the less common */
    int (*set)(void *to, const char *value, struct error *err);
};

/* Read argv (without the program's name) by the rows. What is no option goes to words; with
 * options_first, so does everything after the first of them. After "--" nothing is an option,
 * and the "--" is dropped. 1: --help or -h, and nothing behind it was read. -1: unknown option (the
 * nearest is named), missing value, or set() failed. */
int args_read(const char *const *argv, const struct arg_row *rows, bool options_first, void *to,
              struct strlist *words, struct error *err);

/* What --help prints: "usage: muster k8s NAME USAGE", the summary, the options in the order of the
 * rows, and the names of the less common. */
void args_help(const char *name, const char *usage, const char *summary,
               const struct arg_row *rows, FILE *out);

#endif
