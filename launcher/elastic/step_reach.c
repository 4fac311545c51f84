/* step_reach.c - see step_reach.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/step_reach.h"

const struct step_reach step_reach_none = { -1, -1, false };

void step_reach_note(struct step_reach *reach, int64_t step, int64_t last)
{
    if (step > reach->now)
        reach->now = step;
    if (step >= 0 && step < last)
        reach->goes_back = true;
}

void step_reach_again(struct step_reach *reach)
{
    if (reach->now > reach->before)
        reach->before = reach->now;
    reach->now = -1;
}

bool step_reach_is_known(const struct step_reach *reach)
{
    return step_reach_most(reach) >= 0;
}

bool step_reach_is_new(const struct step_reach *reach)
{
    return !reach->goes_back && reach->now > reach->before;
}

int64_t step_reach_most(const struct step_reach *reach)
{
    if (reach->goes_back)
        return -1;
    return reach->now > reach->before ? reach->now : reach->before;
}
