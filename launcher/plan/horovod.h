/* horovod.h - will the ranks of a run call hvd.init()?
 *
 * Then they look for each other at a server which horovodrun starts, and node 0's agent in its
 * place. That opens a port, so it is done only for scripts that import horovod, or on --horovod.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOROVOD_H
#define MUSTER_HOROVOD_H

#include <stdbool.h>

#include "options/options.h"
#include "strlist.h"

/* Does this Python text import horovod or a part of it? */
bool horovod_is_imported(const char *text);

/* Reads the script, also the one that a Python interpreter gets, or the file of a module. cwd:
 * directory of relative paths; NULL: unknown. */
bool horovod_is_in_script(const struct options *options, const char *cwd);

/* env: what the ranks get. A server that the user names there is used instead, without
 * --horovod. Not with --no_ssh, since its port is chosen at the start, nor with --per-node. */
bool horovod_is_used(const struct options *options, bool is_in_script,
                     const struct strlist *env);

#endif
