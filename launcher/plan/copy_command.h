/* copy_command.h - the command that copies what a node lacks
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_COPY_COMMAND_H
#define MUSTER_COPY_COMMAND_H

#include "options/options.h"

/* Returns "muster bcast --hostfile=hosts /home/me/venv", with the user's own options for hosts and
 * connections. path: what a node lacks; a relative one is below cwd. If it is a file of a Python
 * environment, the whole environment is copied. The caller frees it. NULL: this machine does not
 * have it, or it should be installed, or it is too much to copy, such as the user's home. */
char *copy_command(const struct options *options, const char *cwd, const char *path);

/* The same for a Python module, if it is here: in the environment of that interpreter, in cwd, or
 * in ~/.local. text begins with the module's name ("torch.nn'"); it may come from a rank. */
char *copy_command_module(const struct options *options, const char *cwd, const char *python,
                          const char *text);

#endif
