/* run.c - see run.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include "xevent.h"

void run_changed(struct run *run)
{
    const struct timeval now = { 0 };

    if (run->look != NULL)
        xevent_add(run->look, &now);
}

bool run_goes_on(const struct run *run)
{
    return run->rules.members.goes_on && run->policy.phase != POLICY_OVER;
}

bool run_may_restart(const struct run *run)
{
    return !run_is_exec(run) && !run->options->no_ssh && policy_may_restart(&run->rules);
}

const char *run_phase_name(enum phase_now phase)
{
    static const char *const names[] = { "connecting", "preparing", "running", "stopping",
                                         "restarting" };

    return names[phase];
}
