/* gpu_users.c - processes that have GPUs of this node open; kills those
 * that earlier runs have left
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "bootstrap/steps.h"

#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "cleanup/orphans.h"
#include "node/gpu_holders.h"

#define NOTES_MAX 8    /* processes to list */
#define LOOK_MS   50
#define WAIT_MS   5000 /* for TERM, and again for KILL */

static bool is_ours(const struct orphan *orphan, const json_t *holders);
static bool signal_ours(struct orphans *orphans, const json_t *holders, int signal);
static int  gone(const struct orphans *orphans);

void gpu_users_note(struct finding *finding)
{
    struct orphans orphans = { 0 };
    json_t        *holders = gpu_holders(NULL), *holder;
    const char    *user, *command;
    size_t         i, k;
    bool           ours;

    if (json_array_size(holders) > 0)
        orphans_look(&orphans);
    json_array_foreach(holders, i, holder) {
        user = json_string_value(json_object_get(holder, "user"));
        command = json_string_value(json_object_get(holder, "command"));
        for (ours = false, k = 0; k < orphans.count; k++)
            ours = ours || (orphans.item[k].process.pid ==
                                json_integer_value(json_object_get(holder, "pid")) &&
                            is_ours(&orphans.item[k], holders));
        if (i < NOTES_MAX)
            finding_note(finding, "pid %lld of %s has had a GPU open for %lld s: %s%s",
                         (long long)json_integer_value(json_object_get(holder, "pid")),
                         user != NULL ? user : "?",
                         (long long)json_integer_value(json_object_get(holder, "age_s")),
                         command != NULL ? command : "?",
                         ours ? " (left by an earlier run of muster: apply kills it)" : "");
    }
    json_decref(holders);
    orphans_clear(&orphans);
}

void gpu_users_end_ours(struct finding *finding)
{
    static const int signals[] = { SIGTERM, SIGKILL };
    struct timespec  pause = { 0, LOOK_MS * 1000000L };
    struct orphans   orphans = { 0 };
    json_t          *holders = gpu_holders(NULL);
    size_t           s;
    int              ms;

    if (json_array_size(holders) > 0)
        orphans_look(&orphans);
    for (s = 0; s < 2 && signal_ours(&orphans, holders, signals[s]); s++)
        for (ms = 0; ms < WAIT_MS && signal_ours(&orphans, holders, 0); ms += LOOK_MS) {
            nanosleep(&pause, NULL);
            orphans_refresh(&orphans);
        }
    if (gone(&orphans) > 0)
        finding_note(finding, "killed processes that earlier runs of muster left on GPUs: %d",
                     gone(&orphans));
    json_decref(holders);
    orphans_clear(&orphans);
}

static bool is_ours(const struct orphan *orphan, const json_t *holders)
{
    const json_t *holder;
    size_t        i;

    if (orphan->what != ORPHAN_RANK || orphan->has_agent || orphan->is_running ||
        orphan->is_spared || orphan->is_gone)
        return false;
    json_array_foreach(holders, i, holder)
        if (json_integer_value(json_object_get(holder, "pid")) == orphan->process.pid)
            return true;
    return false;
}

/* Signals our processes. True if any are left. 0: only looks. */
static bool signal_ours(struct orphans *orphans, const json_t *holders, int signal)
{
    size_t i;
    bool   is_any = false;

    for (i = 0; i < orphans->count; i++) {
        if (!is_ours(&orphans->item[i], holders))
            continue;
        is_any = true;
        if (signal != 0)
            orphan_signal(&orphans->item[i], signal);
    }
    return is_any;
}

static int gone(const struct orphans *orphans)
{
    size_t i;
    int    count = 0;

    for (i = 0; i < orphans->count; i++)
        count += orphans->item[i].is_signalled && orphans->item[i].is_gone;
    return count;
}
