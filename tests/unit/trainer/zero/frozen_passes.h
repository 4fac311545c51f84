/* frozen_passes.h - frozen parameters, filled and gathered again and again
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_FROZEN_PASSES_H
#define MUSTER_FROZEN_PASSES_H

#include "zero/zero.h"

/* Opens frozen parameters with these options, which need not say that they are frozen or of what
 * type, fills them, and compares them in four passes. Some layers have no elements, two have the
 * size of others. Returns NULL, or a text that tells what is wrong. */
const char *frozen_passes(struct comm *comm, struct zero_options options);

#endif
