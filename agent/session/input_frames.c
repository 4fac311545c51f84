/* input_frames.c - what the user types or pipes, on its way to the ranks of this node
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

/* A smaller credit waits for other frames, for a few milliseconds. */
#define TELL_LEAST 4096

static bool may_tell(const struct agent *agent);

int input_frames_take(struct agent *agent, const struct frame *frame, const json_t *body,
                      struct error *err)
{
    const struct ranks *ranks = &agent->ranks;

    (void)body;
    if (agent->has_told_input)
        return 0; /* it crossed with that */
    if (ranks->input_came - ranks->input_told + frame->size > FRAME_INPUT_MAX)
        return err_set(err, "INPUT frame: more than the credit allows");
    ranks_input(&agent->ranks, frame->body, frame->size);
    input_frames_tell(agent);
    return 0;
}

int input_frames_take_window(struct agent *agent, const struct frame *frame, const json_t *body,
                             struct error *err)
{
    uint32_t rows, columns;

    (void)body;
    if (frame->size != 8)
        return err_set(err, "WINDOW frame of %zu bytes", frame->size);
    rows = get_u32(frame->body);
    columns = get_u32((const unsigned char *)frame->body + 4);
    if (rows > UINT16_MAX || columns > UINT16_MAX)
        return err_set(err, "WINDOW frame: %u rows of %u columns", rows, columns);
    ranks_resize(&agent->ranks, (int)rows, (int)columns);
    return 0;
}

/* The launcher sends no more than it gets back as credit, and nothing once no rank takes it. */
void input_frames_tell(struct agent *agent)
{
    unsigned char body[4];
    struct frame  credit = { .type = FRAME_CREDIT, .generation = agent->generation,
                             .body = body, .size = sizeof body };
    struct frame  end = { .type = FRAME_INPUT, .generation = agent->generation };
    uint64_t      taken;

    if (!may_tell(agent))
        return;
    taken = ranks_input_taken(&agent->ranks);
    if (taken > 0) {
        put_u32(body, (uint32_t)taken);
        frame_put(agent->link.wire, &credit);
    }
    if (!ranks_take_input(&agent->ranks)) {
        agent->has_told_input = true;
        frame_put(agent->link.wire, &end);
    }
    if (taken >= TELL_LEAST)
        link_flush(&agent->link);
    else
        link_flush_soon(&agent->link);
}

static bool may_tell(const struct agent *agent)
{
    int i;

    if (!agent->ranks.has_begun || agent->state >= AGENT_DONE || agent->has_told_input ||
        agent->link.is_lost)
        return false;
    for (i = 0; i < agent->ranks.count; i++)
        if (agent->ranks.rank[i].plan->input != INPUT_NOWHERE)
            return true;
    return false;
}

void input_frames_again(struct agent *agent)
{
    agent->has_told_input = false;
}
