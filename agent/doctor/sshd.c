/* sshd.c - what this node's sshd would refuse. Only root may ask it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "doctor/checkup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "task/command.h"

#define ASK_S          5.0
#define STARTUPS_FEW   10 /* the default */
#define CONFIG_MEND(x) x " in /etc/ssh/sshd_config.d/muster.conf, then: sudo systemctl reload ssh"

void sshd_check(const struct checkup *checkup)
{
    const char *const     argv[] = { "sshd", "-T", NULL };
    struct command_result result;
    long long             startups, sessions;

    if (geteuid() != 0)
        return;
    if (command_run(argv, NULL, ASK_S, &result)) {
        startups = checkup_number_in(result.out, "maxstartups");
        sessions = checkup_number_in(result.out, "maxsessions");
        if (startups >= 0 && startups < STARTUPS_FEW)
            checkup_find(checkup, CHECKUP_WARN,
                         "logins are refused at random, if this is a jump host",
                         CONFIG_MEND("MaxStartups 100:30:200"),
                         "sshd refuses logins from %lld at a time on", startups);
        if (sessions >= 0 && sessions < 2)
            checkup_find(checkup, CHECKUP_WARN, "a shared connection (ControlMaster) is refused",
                         CONFIG_MEND("MaxSessions 10"), "sshd allows %lld sessions a connection",
                         sessions);
        checkup_fact(checkup, "sshd client alive interval",
                     json_integer(checkup_number_in(result.out, "clientaliveinterval")));
    }
    command_clear(&result);
}
