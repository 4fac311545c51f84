/* other_launchers.h - options of other launchers: their meaning here, or what to write instead
 *
 * Users of torchrun, mpirun, srun, horovodrun, accelerate and pdsh type what they know. An option
 * that means exactly what one of ours means is that one of ours; any other is refused with a hint.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OTHER_LAUNCHERS_H
#define MUSTER_OTHER_LAUNCHERS_H

#include "options/option_table.h"

struct other_option {
    const char    *name;     /* without leading dashes; '-' is '_' as well; one letter: "-x" */
    unsigned       commands; /* of subcommands where it means this; 0: of all */
    const char    *same;     /* our option; NULL: none, see instead */
    const char    *value;    /* what same is given; NULL: what the user types, if same takes one */
    option_setter *set;      /* NULL: that of same */
    const char    *instead;  /* "torchrun's; leave it out" */
    bool           has_arg;  /* with instead: the next word belongs to it */
};

/* What name means to command (all: COMMANDS), or NULL if no launcher that we know has it. */
const struct other_option *other_launchers_find(const char *name, size_t length,
                                                enum command command);

#endif
