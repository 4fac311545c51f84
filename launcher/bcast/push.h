/* push.h - muster --push=PATH: files to the nodes of a run before it starts
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PUSH_H
#define MUSTER_PUSH_H

#include "options/options.h"
#include "plan/select.h"

/* As `muster bcast` does, but it says nothing if all is well. 0, or the exit status, and the user
 * was told why. */
int push_files(const struct options *options, const struct selection *selection,
               char *const *here);

#endif
