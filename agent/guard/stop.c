/* stop.c - see stop.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/stop.h"

#include <signal.h>

#include "clock.h"
#include "node/process.h"

/* Pauses between two KILLs; doubled from the first to the second. */
#define PAUSE_FIRST_MS 2
#define PAUSE_MOST_MS  100

#define ALONE 0.75 /* of the grace: the longest time in which only ranks have got TERM */
/* Between two looks whether they have ended. The guard does not wait for this if they are its own
 * children. */
#define LOOK_MS 100

static void send_term(struct stop *stop, const pid_t *ranks, size_t count);
static int  wait_for_first(struct stop *stop, int64_t now);
static int  dumping(const struct stop *stop);
static int  until(int64_t at, int64_t now);

void stop_init(struct stop *stop, const struct containment *contain, pid_t root)
{
    *stop = (struct stop){ .contain = contain, .root = root };
}

void stop_clear(struct stop *stop)
{
    term_order_clear(&stop->order);
}

void stop_begin(struct stop *stop, double grace_s, const pid_t *ranks, size_t count)
{
    int64_t now = clock_now_ns();
    int64_t kill_at = now + (int64_t)(grace_s * (double)NS_PER_S);
    int64_t others_at = now + (int64_t)(grace_s * ALONE * (double)NS_PER_S);

    if (!stop->begun || kill_at < stop->kill_at_ns)
        stop->kill_at_ns = kill_at;
    if (!stop->begun && grace_s > 0)
        send_term(stop, ranks, count);
    if (stop->order.count > 0 && stop->others_at_ns > others_at)
        stop->others_at_ns = others_at;
    stop->begun = true;
}

int stop_step(struct stop *stop)
{
    int64_t now = clock_now_ns(), waited;

    if (!stop->begun)
        return -1;
    if (now < stop->kill_at_ns)
        return stop->others_at_ns != 0 ? wait_for_first(stop, now) : until(stop->kill_at_ns, now);
    if (stop->killing_since_ns == 0) {
        stop->killing_since_ns = now;
        stop->pause_ms = PAUSE_FIRST_MS;
    }
    if (now < stop->again_at_ns)
        return until(stop->again_at_ns, now);
    waited = now - stop->killing_since_ns;
    if (waited >= STOP_STUCK_S * NS_PER_S) {
        stop->dumping = dumping(stop);
        if (stop->dumping == 0 || waited > STOP_CORE_S * NS_PER_S)
            return STOP_STUCK;
    }
    containment_kill(stop->contain, stop->root);
    stop->again_at_ns = now + stop->pause_ms * (NS_PER_S / 1000);
    stop->pause_ms *= 2;
    if (stop->pause_ms > PAUSE_MOST_MS)
        stop->pause_ms = PAUSE_MOST_MS;
    return until(stop->again_at_ns, now);
}

int stop_left(const struct stop *stop)
{
    int left = containment_count(stop->contain, stop->root);

    return left > 0 ? left : 1;
}

static void send_term(struct stop *stop, const pid_t *ranks, size_t count)
{
    /* A process that is stopped (Ctrl-Z, a debugger) must run to handle its TERM. */
    containment_signal(stop->contain, stop->root, SIGCONT);
    term_order_choose(&stop->order, ranks, count);
    if (stop->order.count == 0) {
        containment_signal(stop->contain, stop->root, SIGTERM);
        return;
    }
    term_order_begin(&stop->order);
    stop->others_at_ns = INT64_MAX;
}

static int wait_for_first(struct stop *stop, int64_t now)
{
    if (now < stop->others_at_ns && term_order_waits(&stop->order))
        return LOOK_MS;
    term_order_finish(&stop->order, stop->root);
    stop->others_at_ns = 0;
    return until(stop->kill_at_ns, now);
}

static int dumping(const struct stop *stop)
{
    struct processes left;
    size_t           i;
    int              count = 0;

    processes_below(&left, stop->root);
    for (i = 0; i < left.count; i++)
        count += process_is_dumping(left.item[i].pid);
    processes_clear(&left);
    return count;
}

static int until(int64_t at, int64_t now)
{
    return (int)((at - now + (NS_PER_S / 1000) - 1) / (NS_PER_S / 1000));
}
