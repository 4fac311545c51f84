/* venv.h - the environment that --venv_script makes
 *
 * bash sources the script and prints its environment, which the ranks then get. The
 * guard starts the shell like a rank, so the shell and the processes that it leaves
 * behind are contained too.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_VENV_H
#define MUSTER_AGENT_VENV_H

#include <event2/event.h>

#include "guard/guard.h"
#include "plan/prepare.h"
#include "strlist.h"

#define VENV_DEADLINE_S 20
#define VENV_OUTPUT_MAX (4u << 20)

struct venv;

/* Calls done once, perhaps at once: env, or NULL with failure. */
struct venv *venv_start(struct event_base *base, struct guard *guard, const char *script,
                        const char *cwd, const struct strlist *env,
                        void (*done)(const struct strlist *env, const struct failure *failure,
                                     void *arg),
                        void *arg);
/* The guard has reported the end of the shell. */
void venv_exited(struct venv *venv, const struct guard_message *message);
void venv_free(struct venv *venv);

#endif
