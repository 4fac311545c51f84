/* undo.h - reverts the changes of muster bootstrap: the journal, backwards
 *
 * Prints one line for each step that has entries, as in bootstrap.h. An entry is dropped from
 * the journal once it is reverted. If another program has changed the thing since, the entry
 * stays and its step fails.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_UNDO_H
#define MUSTER_AGENT_UNDO_H

#include "bootstrap/bootstrap.h"

/* Returns 0; 1: something could not be reverted; -1 with err: nothing could. */
int undo_run(struct bootstrap *b, struct error *err);

#endif
