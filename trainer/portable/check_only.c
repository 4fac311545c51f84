/* check_only.c - muster-train-check: muster-train without models, as muster check sends it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "comm/comm.h"

int main(int argc, char **argv)
{
    struct error err;

    signal(SIGPIPE, SIG_IGN); /* Gloo writes to connections whose peer may have exited */
    if (argc != 2 || strcmp(argv[1], "--try") != 0)
        return check_main(argc, argv);
    if (comm_can_load("gloo", &err) == 0)
        return CHECK_OK;
    fprintf(stderr, "muster-train-check: %s\n", err.text);
    return CHECK_BACKEND;
}
