/* notice_signal.c - the signal of a notice, to each rank when it can take it
 *
 * A rank that has just begun may not handle the signal yet, and would die of it. When it does, it
 * may be in init_process_group(): the signal then ends a system call there, and the rank fails with
 * "Interrupted system call". So a young rank gets it after it has handled it for some seconds.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "node/process.h"
#include "node/signal_caught.h"
#include "xalloc.h"
#include "xevent.h"

#define YOUNG_S   60.0 /* a rank that started within this time may still be joining the others */
#define SETTLE_S  3.0  /* how long such a rank must have handled the signal */
#define SETTLE_OF 0.1  /* but no longer than this share of the time that is left */
#define LOOK_MS   250

struct notice_signal {
    int           number;
    int64_t       until_ns, settle_ns;
    int64_t      *since_ns; /* of each rank: since when it handles the signal; 0: it does not */
    bool         *is_told;
    struct event *again;
    void (*tell)(struct agent *agent, int count);
};

static void again_cb(evutil_socket_t fd, short what, void *arg);
static void look(struct agent *agent);
static int  look_at(struct notice_signal *signal, const struct processes *all, int index,
                    const struct rank *rank, int64_t now);

/* A second notice of the same generation has no signal, and that of the first is still due. */
void notice_signal_begin(struct agent *agent, int signal, double left_s,
                         void (*tell)(struct agent *agent, int count))
{
    double settle_s = left_s * SETTLE_OF < SETTLE_S ? left_s * SETTLE_OF : SETTLE_S;
    size_t ranks = (size_t)agent->ranks.count;
    struct notice_signal *known = agent->notice.signal;

    if (signal == 0)
        return;
    if (known == NULL) {
        known = agent->notice.signal = xcalloc(1, sizeof *known);
        known->since_ns = xcalloc(ranks + 1, sizeof *known->since_ns);
        known->is_told = xcalloc(ranks + 1, sizeof *known->is_told);
        known->again = xevent_new(agent->base, -1, again_cb, agent);
    }
    known->number = signal;
    known->until_ns = clock_now_ns() + (int64_t)(left_s * NS_PER_S);
    known->settle_ns = (int64_t)(settle_s * NS_PER_S);
    known->tell = tell;
    memset(known->is_told, 0, ranks * sizeof *known->is_told);
    look(agent);
}

void notice_signal_end(struct agent *agent)
{
    struct notice_signal *signal = agent->notice.signal;

    if (signal == NULL)
        return;
    event_free(signal->again);
    free(signal->since_ns);
    free(signal->is_told);
    free(signal);
    agent->notice.signal = NULL;
}

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    look(arg);
}

static void look(struct agent *agent)
{
    static const struct timeval pause = { .tv_usec = LOOK_MS * 1000 };
    struct notice_signal       *signal = agent->notice.signal;
    int64_t                     now = clock_now_ns();
    struct processes            all;
    bool                        is_done = true;
    int                         i, count = 0;

    processes_all(&all);
    for (i = 0; i < agent->ranks.count; i++) {
        if (agent->ranks.rank[i].state == RANK_RUNNING && !signal->is_told[i])
            count += look_at(signal, &all, i, &agent->ranks.rank[i], now);
        is_done = is_done && (signal->is_told[i] || agent->ranks.rank[i].state >= RANK_ENDED);
    }
    processes_clear(&all);
    if (count > 0)
        signal->tell(agent, count);
    if (!is_done && now < signal->until_ns)
        xevent_add(signal->again, &pause);
}

/* Returns how many processes got the signal. */
static int look_at(struct notice_signal *signal, const struct processes *all, int index,
                   const struct rank *rank, int64_t now)
{
    int64_t *since = &signal->since_ns[index];

    if (signal_catchers(all, rank->pid, signal->number) == 0) {
        *since = 0;
        return 0;
    }
    if (*since == 0)
        *since = now;
    if (now - *since < signal->settle_ns && now - rank->started_ns < (int64_t)(YOUNG_S * NS_PER_S))
        return 0;
    signal->is_told[index] = true;
    return signal_caught(all, rank->pid, signal->number);
}
