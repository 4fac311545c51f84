/* output_pump.c - output of all ranks onto the link, in turn
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

static struct stream *stream_of(struct agent *agent, int number);

/* As long as the link has room: one frame from each stream that has one, round
 * and round, so that a rank that writes much does not silence the others. */
void agent_pump(struct agent *agent)
{
    int    idle = 0, number;
    bool   framed;
    size_t size;

    while (idle < 2 * agent->ranks && link_has_room(&agent->link)) {
        number = agent->turn++ % (2 * agent->ranks);
        agent->turn %= 2 * agent->ranks;
        if (stream_of(agent, number)->waiting == NULL) {
            idle++;
            continue;
        }
        size = stream_frame(stream_of(agent, number), agent->generation,
                            agent->rank[number / 2].plan->rank, (size_t)agent->credit,
                            agent->link.wire, &framed);
        agent->credit -= size;
        idle = framed ? 0 : idle + 1;
        if (framed && size == 0)
            rank_maybe_report(&agent->rank[number / 2]);
    }
    link_flush(&agent->link);
    if (idle < 2 * agent->ranks)
        link_ask_room(&agent->link); /* there is more, but other events have their turn first */
    agent_maybe_done(agent);
}

static struct stream *stream_of(struct agent *agent, int number)
{
    struct rank *rank = &agent->rank[number / 2];

    return number % 2 == 0 ? &rank->out : &rank->err;
}
