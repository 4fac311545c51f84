/* other_launchers.h - options of other launchers: their meaning here, or what to write instead
 *
 * Users of torchrun, mpirun, srun, horovodrun, accelerate and pdsh type the options that they
 * know. muster accepts an option that means exactly what one of its own does, and refuses any
 * other with a hint.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OTHER_LAUNCHERS_H
#define MUSTER_OTHER_LAUNCHERS_H

#include "options/option_table.h"

struct other_option {
    const char    *name;     /* without leading dashes; '-' is '_' as well; one letter: "-x";
                                "fsdp-": all that begin so; "a b": several names */
    unsigned       commands; /* the subcommands where it has this meaning; 0: all */
    const char    *same;     /* our option; NULL: none, see instead */
    const char    *value;    /* the value for same; NULL: the user's value, if same takes one */
    option_setter *set;      /* NULL: the setter of same */
    const char    *instead;  /* "torchrun's; leave it out" */
    bool           has_arg;  /* with instead: the next word belongs to it */
};

/* Returns the meaning of name for command (COMMANDS: for any), or NULL if no launcher that we
 * know has this option. */
const struct other_option *other_launchers_find(const char *name, size_t length,
                                                enum command command);

#endif
