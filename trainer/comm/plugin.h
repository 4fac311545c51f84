/* plugin.h - what is built with CUDA, in files of its own
 *
 * So that the program runs where CUDA is not.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PLUGIN_H
#define MUSTER_PLUGIN_H

#include "err.h"

/* The symbol of that plugin, which stands beside the program in a build tree, else where it was
 * installed. It stays loaded. NULL with err. */
void *plugin_symbol(const char *file, const char *symbol, struct error *err);

#endif
