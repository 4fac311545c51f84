/* main.c - muster-pmix: a PMIx server, so that programs of Open MPI find each other under muster
 *
 * The agent starts it on its node before the ranks (agent/rank/pmix.h), and speaks with it by
 * packets over descriptor 0: first the job, then what each rank's environment needs in return, then
 * for each rank the connection on which PMI-1 is spoken. It ends when the agent closes that socket.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

int main(int argc, char **argv)
{
    struct error err;

    (void)argv;
    if (argc > 1) {
        fputs("muster-pmix: muster's agent starts this program; it takes no arguments\n", stderr);
        return 2;
    }
    if (host_run(0, &err) == 0)
        return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
