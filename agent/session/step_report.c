/* step_report.c - see step_report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/step_report.h"

#include "clock.h"
#include "rank/ranks.h"
#include "steps/step_watch.h"

static json_t *report_of(const struct rank *rank, const struct rank_steps *steps, int64_t now_ns);

json_t *step_report(struct ranks *ranks)
{
    json_t           *list = NULL;
    int64_t           now_ns = clock_now_ns();
    struct rank_steps steps;
    int               i;

    for (i = 0; i < ranks->count; i++) {
        if (!rank_take_steps(&ranks->rank[i], &steps))
            continue;
        if (list == NULL)
            list = json_array();
        json_array_append_new(list, report_of(&ranks->rank[i], &steps, now_ns));
    }
    return list != NULL ? json_pack("{s:o}", "ranks", list) : NULL;
}

static json_t *report_of(const struct rank *rank, const struct rank_steps *steps, int64_t now_ns)
{
    const struct step_watch *loss = rank_loss(rank);
    json_t                  *report =
        json_pack("{s:I, s:s, s:I, s:I, s:f, s:b}", "rank", (json_int_t)rank->plan->rank, "form",
                  step_watch_form(steps->exact), "step",
                  (json_int_t)step_watch_step(steps->exact), "count", (json_int_t)steps->count,
                  "age_s", (double)(now_ns - steps->latest->at_ns) / NS_PER_S, "last",
                  (int)steps->latest->is_last);

    if (loss != NULL)
        json_object_set_new(report, "loss", json_real(loss->loss));
    return report;
}
