/* gpu_users.h - who has GPUs of this node open; what earlier runs have left there is ended
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_GPU_USERS_H
#define MUSTER_AGENT_GPU_USERS_H

#include "bootstrap/bootstrap.h"

/* A note for each process: pid, user, for how long, command. */
void gpu_users_note(struct finding *finding);
/* End those of this user's earlier runs of muster that no agent looks after: TERM, then KILL. */
void gpu_users_end_ours(struct finding *finding);

#endif
