/* news.c - what the guard says, and what follows from it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "agent.h"

static void take(struct agent *agent, const struct guard_message *message);

void agent_guard_cb(evutil_socket_t fd, short what, void *arg)
{
    struct agent        *agent = arg;
    struct guard_message message;
    int                  rc;

    (void)fd, (void)what;
    while ((rc = guard_receive(&agent->guard, &message)) > 0) {
        take(agent, &message);
        if (agent->is_empty)
            return; /* its last word */
    }
    if (rc < 0)
        agent_guard_lost(agent);
    else
        agent_pump(agent);
}

static void take(struct agent *agent, const struct guard_message *message)
{
    struct rank *rank = NULL;

    if (message->id >= 0 && message->id < agent->ranks)
        rank = &agent->rank[message->id];
    switch (message->type) {
    case GUARD_STARTED:
        if (rank == NULL)
            break;
        agent->starting--;
        rank_started(rank, message);
        agent_start_ranks(agent);
        break;
    case GUARD_EXITED:
        if (rank == NULL) {
            venv_exited(agent->venv, message);
            break;
        }
        if (rank->state == RANK_STARTING)
            agent->starting--;
        rank_ended(rank, message);
        if (rank->index == 0 && message->value != 0)
            agent_look_at_port(agent);
        agent_start_ranks(agent);
        agent_rank_over(agent);
        break;
    case GUARD_EMPTY:
        agent_empty(agent, message->left, message->killed);
        break;
    }
}
