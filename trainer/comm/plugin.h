/* plugin.h - loads the code that needs CUDA, NCCL or Gloo
 *
 * This code is in separate files, so that the program also runs where one of them is missing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLUGIN_H
#define MUSTER_PLUGIN_H

#include "err.h"

/* Loads the plugin file from the program's directory (a build tree) or from the installed
 * place, and returns its symbol. Libraries that it needs and this machine lacks come from Python's
 * packages (wheels.h), if they are there. The plugin stays loaded. NULL with err. */
void *plugin_symbol(const char *file, const char *symbol, struct error *err);

#endif
