/* argv.h - the command line as settings, before any of them is applied
 *
 * Words become settings in the order in which they were typed; they are applied later, over
 * muster.conf and the environment. The rules are those of Python's argparse, as DeepSpeed uses
 * it: options end at the first word that is not an option, "--x=v" and "--x v" are the same,
 * and a unique prefix is enough.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ARGV_H
#define MUSTER_ARGV_H

#include "options/option_table.h"

struct setting {
    const struct option_row *row;
    const char              *value; /* borrowed from argv; NULL: none */
    bool                     by_letter;
};

struct settings {
    struct setting *item; /* free() */
    size_t          count;
};

/* Fill settings, and of options the command, the script and its arguments. -1
 * with what is wrong. argv ends with NULL. */
int argv_read(int argc, char **argv, struct options *options, struct settings *settings,
              struct error *err);

#endif
