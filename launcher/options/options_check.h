/* options_check.h - rules that concern more than one option
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_OPTIONS_CHECK_H
#define MUSTER_OPTIONS_CHECK_H

#include "err.h"
#include "options/options.h"

/* Refuses combinations that make no sense, and decides what depends on several options: who gets
 * standard input, what muster shell executes. -1 with err, which says what to write. */
int options_check(struct options *options, struct error *err);

#endif
