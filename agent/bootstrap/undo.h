/* undo.h - back to how the node was: the journal, backwards
 *
 * One line for each step that has entries, as in bootstrap.h; an entry is dropped from the journal
 * once it is taken back. What somebody else has changed since stays, with its entry, and fails.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_UNDO_H
#define MUSTER_AGENT_UNDO_H

#include "bootstrap/bootstrap.h"

/* 0; 1: something could not be taken back; -1 with err: nothing could. */
int undo_run(struct bootstrap *b, struct error *err);

#endif
