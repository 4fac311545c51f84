/* check_only.c - muster-train-check: muster-train without models, as muster check sends it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "check/check.h"
#include "check/check_options.h"
#include "comm/comm.h"
#include "comm/wheels.h"

static bool takes(int *argc, char ***argv, const char *word);
static int  try_to_load(bool gloo_first, int argc, char **argv);

/* --gloo-first and --try, in this order, are for muster-check. */
int main(int argc, char **argv)
{
    bool gloo_first = takes(&argc, &argv, "--gloo-first");

    signal(SIGPIPE, SIG_IGN); /* Gloo writes to connections whose peer may have exited */
    if (takes(&argc, &argv, "--try"))
        return try_to_load(gloo_first, argc, argv);
    if (gloo_first)
        comm_can_load("gloo", NULL);
    return check_main(argc, argv);
}

static bool takes(int *argc, char ***argv, const char *word)
{
    if (*argc < 2 || strcmp((*argv)[1], word) != 0)
        return false;
    (*argc)--;
    (*argv)++;
    return true;
}

/* A node may do without NCCL; then the check says why. It also says what is wrong with argv. */
static int try_to_load(bool gloo_first, int argc, char **argv)
{
    struct check_options options;
    struct error         err;

    if (check_options_parse(&options, argc, argv, &err) == CHECK_OPTIONS_RUN)
        wheels_set_python(options.python);
    if (!gloo_first)
        comm_can_load("nccl", NULL);
    if (comm_can_load("gloo", &err) == 0)
        return CHECK_OK;
    fprintf(stderr, "muster-train-check: %s\n", err.text);
    return CHECK_BACKEND;
}
