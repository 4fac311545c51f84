/* step_history.c - see step_history.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "elastic/step_history.h"

static void halve(struct step_history *history);

void step_history_note(struct step_history *history, double at_s, int64_t step,
                       const double *loss)
{
    if (history->every == 0)
        history->every = 1;
    if (history->noted++ % history->every != 0)
        return;
    if (history->count == STEP_HISTORY_MOST)
        halve(history);
    history->point[history->count++] =
        (struct step_point){ .number = ++history->kept,
                             .at_s = at_s,
                             .step = step,
                             .has_loss = loss != NULL,
                             .loss = loss != NULL ? *loss : 0 };
}

/* The first point, where the run began, stays. */
static void halve(struct step_history *history)
{
    size_t i;

    for (i = 0; i < STEP_HISTORY_MOST / 2; i++)
        history->point[i] = history->point[2 * i];
    history->count = STEP_HISTORY_MOST / 2;
    history->every *= 2;
}
