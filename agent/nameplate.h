/* nameplate.h - that a run with a name is on this machine, for others of that name to see
 *
 * A listening abstract Unix socket that nobody takes callers from:
 *
 *     @muster-name-RUN-PID
 *
 * It is there exactly as long as its agent. Anybody can make one: only those of one's own
 * user count.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_NAMEPLATE_H
#define MUSTER_NAMEPLATE_H

/* Put one up, if the run has a name: a descriptor to close when the run is over, or -1. */
int nameplate_put(const char *run_id);

/* Another run of this user with that name, whose id the caller frees; NULL: there is none. Ask
 * with one's own put up: of two that begin at once, one at least sees the other. */
char *nameplate_other(const char *run_id);

#endif
