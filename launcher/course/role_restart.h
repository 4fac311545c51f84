/* role_restart.h - --restart=role: a role whose rank fails starts again, and the others go on
 *
 * Each role has a policy of its own (elastic/policy.h), so --max-restarts counts for each. When a
 * rank fails, the nodes of its role are stopped; once they all stay, the policy decides: they get
 * PLAN and GO of the role's next generation while the phase of the run stays RUNNING, or the run
 * ends. A lost node and a hang concern the whole run, as without roles.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ROLE_RESTART_H
#define MUSTER_ROLE_RESTART_H

#include <stdbool.h>

struct run;
struct role_restart;

/* Makes run->role_restart: NULL unless each role starts again for itself. */
void role_restart_open(struct run *run);
void role_restart_close(struct run *run);
/* All roles start again: forgets what was under way, but not how often each was restarted. */
void role_restart_again(struct run *run);

/* A rank has exited; is_failure: it ends its role. False: its end concerns the whole run. */
bool role_restart_exit(struct run *run, int rank, bool is_failure);
/* The same for a rank that aborted its world by PMI, with that exit code. */
bool role_restart_abort(struct run *run, int rank, int code);

/* Does what follows from the states of the nodes. Called whenever something has changed. */
void role_restart_look(struct run *run);

#endif
