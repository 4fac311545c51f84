/* output_pump.c - sends the output of all ranks over the link, in turn
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#define CREDIT_MAX (UINT64_C(1) << 40)

static struct stream *stream_of(struct agent *agent, int number);

void output_pump_again(struct agent *agent)
{
    agent->pump = (struct output_pump){ 0 };
}

void output_pump_credit(struct agent *agent, uint64_t bytes)
{
    agent->pump.credit += bytes;
    if (agent->pump.credit > CREDIT_MAX)
        agent->pump.credit = CREDIT_MAX;
}

/* While the link has room, takes one frame from each stream that has one, round after round, so
 * that a rank that writes much does not block the others. */
void output_pump_run(struct agent *agent)
{
    struct output_pump *pump = &agent->pump;
    int                 streams = 2 * agent->ranks.count, idle = 0, number;
    bool                framed, has_output = false;
    size_t              size;

    while (idle < streams && link_has_room(&agent->link)) {
        number = pump->turn++ % streams;
        pump->turn %= streams;
        if (stream_of(agent, number)->waiting == NULL) {
            idle++;
            continue;
        }
        size = stream_frame(stream_of(agent, number), agent->generation,
                            agent->ranks.rank[number / 2].plan->rank, (size_t)pump->credit,
                            agent->link.wire, &framed);
        pump->credit -= size;
        has_output = has_output || size > 0;
        idle = framed ? 0 : idle + 1;
        if (framed && size == 0)
            rank_maybe_report(&agent->ranks.rank[number / 2]);
    }
    if (has_output)
        link_flush(&agent->link);
    else
        link_flush_soon(&agent->link); /* starts and ends of ranks come in groups */
    if (idle < streams)
        link_ask_room(&agent->link); /* there is more, but other events go first */
    ending_maybe_done(agent);
}

static struct stream *stream_of(struct agent *agent, int number)
{
    struct rank *rank = &agent->ranks.rank[number / 2];

    return number % 2 == 0 ? &rank->out : &rank->err;
}
