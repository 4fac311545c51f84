/* step_report.c - see step_report.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/step_report.h"

#include "clock.h"
#include "rank/ranks.h"
#include "steps/step_watch.h"

static json_t *report_of(const struct rank *rank, int64_t now_ns);

json_t *step_report(struct ranks *ranks)
{
    json_t *list = NULL;
    int64_t now_ns = clock_now_ns();
    int     i;

    for (i = 0; i < ranks->count; i++) {
        if (!rank_has_stepped(&ranks->rank[i]))
            continue;
        if (list == NULL)
            list = json_array();
        json_array_append_new(list, report_of(&ranks->rank[i], now_ns));
    }
    return list != NULL ? json_pack("{s:o}", "ranks", list) : NULL;
}

/* A rank may write its steps to stdout, and a bar to stderr. */
static json_t *report_of(const struct rank *rank, int64_t now_ns)
{
    const struct step_watch *out = &rank->out.steps, *err = &rank->err.steps;
    const struct step_watch *exact = step_watch_more_exact(out, err);
    const struct step_watch *latest = err->at_ns > out->at_ns ? err : out;

    return json_pack("{s:I, s:s, s:I, s:I, s:f, s:b}", "rank", (json_int_t)rank->plan->rank,
                     "form", step_watch_form(exact), "step", (json_int_t)step_watch_step(exact),
                     "count", (json_int_t)(out->count + err->count), "age_s",
                     (double)(now_ns - latest->at_ns) / NS_PER_S, "last", (int)latest->is_last);
}
