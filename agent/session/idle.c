/* idle.c - see idle.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/idle.h"

#include <unistd.h>

#include "clock.h"
#include "node/process.h"
#include "session/agent.h"

#define WINDOW_PART 0.1 /* of --hang-timeout */
#define WINDOW_MIN  0.25
#define WINDOW_MAX  30.0
#define BUSY_CORES  0.01

static uint64_t output_of(const struct agent *agent);
static uint64_t cpu_of(const struct agent *agent);

void idle_begin(struct idle *idle)
{
    *idle = (struct idle){ .busy_ns = clock_now_ns(), .window_ns = clock_now_ns() };
}

/* Less CPU time than before means that a process has ended. */
double idle_seconds(struct idle *idle, const struct agent *agent)
{
    int64_t  now_ns = clock_now_ns();
    double   passed_s = (double)(now_ns - idle->window_ns) / NS_PER_S;
    double   window_s = agent->plan.hang_s * WINDOW_PART, allowed;
    uint64_t output, cpu;

    window_s = window_s < WINDOW_MIN ? WINDOW_MIN : window_s > WINDOW_MAX ? WINDOW_MAX : window_s;
    if (passed_s >= window_s) {
        output = output_of(agent);
        cpu = cpu_of(agent);
        allowed = 1 + passed_s * BUSY_CORES * (double)sysconf(_SC_CLK_TCK);
        if (output != idle->output || cpu < idle->cpu || (double)(cpu - idle->cpu) > allowed)
            idle->busy_ns = now_ns;
        idle->window_ns = now_ns;
        idle->output = output;
        idle->cpu = cpu;
    }
    return (double)(now_ns - idle->busy_ns) / NS_PER_S;
}

static uint64_t output_of(const struct agent *agent)
{
    uint64_t bytes = 0;
    int      i;

    for (i = 0; i < agent->ranks.count; i++)
        bytes += agent->ranks.rank[i].out.read_bytes + agent->ranks.rank[i].err.read_bytes;
    return bytes;
}

static uint64_t cpu_of(const struct agent *agent)
{
    struct processes all;
    uint64_t         ticks = 0;
    size_t           i;

    processes_below(&all, agent->guard.pid);
    for (i = 0; i < all.count; i++)
        ticks += all.item[i].cpu;
    processes_clear(&all);
    return ticks;
}
