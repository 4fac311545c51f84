/* tree_state.h - a directory with all that is in it, as a kind of state: see state.h
 *
 * It is there or not; the commands after it fill it. So undo removes it, whatever it has come to
 * hold, but no other file system that is mounted below it; no checkout of git with changes or
 * commits that are nowhere else; and no copy with files of others (pushed.h). What is made in one
 * go is made beside it, as path TREE_NEW.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TREE_STATE_H
#define MUSTER_AGENT_TREE_STATE_H

#include "journal/state.h"

#define TREE_NEW ".muster-new"

int tree_state_read(const char *path, struct state *state, struct error *err);
/* Removes the tree; makes none: a program will. */
int tree_state_make(const char *path, const struct state *want, struct error *err);
/* Removes what is at path TREE_NEW. */
void tree_state_tidy(const char *path);

#endif
