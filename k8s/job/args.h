/* args.h - a table-driven parser for the options of muster-k8s
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
    const char *meta;   /* name of the value: "NAME"; NULL: no value, set() gets NULL */
    const char *help;   /* a few words; NULL: a less common option */
    int (*set)(void *to, const char *value, struct error *err);
};

/* Parses argv (without the program's name) with the rows. Arguments that are not options are
 * added to words; with options_first, so are all arguments after the first of these. "--" ends
 * the options and is dropped. Returns 1 at --help or -h, without reading the rest; -1: unknown
 * option (err suggests the nearest), missing value, or set() failed. */
int args_read(const char *const *argv, const struct arg_row *rows, bool options_first, void *to,
              struct strlist *words, struct error *err);

/* Prints the --help text: "usage: muster k8s NAME USAGE", the summary, the options in the order
 * of the rows, and the names of the less common ones. */
void args_help(const char *name, const char *usage, const char *summary,
               const struct arg_row *rows, FILE *out);

#endif
