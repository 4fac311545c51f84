/* master_port.c - MASTER_PORT, which node 0 holds until its ranks start
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/agent.h"

#include <string.h>
#include <unistd.h>

#include "node/port.h"

void master_port_release(struct agent *agent)
{
    agent->master_port.number = probe_release_port(agent->requests.probe);
}

void master_port_again(struct agent *agent)
{
    agent->master_port = (struct master_port){ 0 };
}

void master_port_look(struct agent *agent)
{
    struct master_port *port = &agent->master_port;
    char                holder[sizeof port->holder];

    if (port->number > 0 && port->holder[0] == '\0' && agent->ranks.stopped_ns == 0 &&
        port_is_taken(port->number, getpid(), agent->ranks.rank[0].state >= RANK_ENDED, holder,
                      sizeof holder))
        memcpy(port->holder, holder, sizeof holder);
}
