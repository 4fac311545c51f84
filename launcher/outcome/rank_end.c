/* rank_end.c - how one rank has ended (outcome.h)
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>

#include "exit_code.h"
#include "outcome/outcome.h"

bool rank_end_is_failure(const struct rank_end *end)
{
    return end->ended && !end->after_stop && rank_end_code(end) != 0;
}

/* A rank that could not be started has 126 or 127 in code. */
int rank_end_code(const struct rank_end *end)
{
    if (end->signal != 0)
        return 128 + end->signal;
    if (end->error != NULL && end->code == 0)
        return EXIT_CANNOT_EXECUTE;
    return end->code;
}

void rank_end_words(const struct rank_end *end, char *text, size_t size)
{
    if (!end->ended) {
        snprintf(text, size, "%s", end->started ? "fate unknown" : "was not started");
    } else if (end->error != NULL) {
        snprintf(text, size, "could not be started: %s", end->error);
    } else if (end->signal != 0) {
        snprintf(text, size, "killed by %s%s%s%s", signal_name(end->signal).text,
                 end->core ? " (core dumped)" : "",
                 end->oom != NULL ? ": the kernel's OOM killer, " : "",
                 end->oom != NULL ? end->oom : "");
    } else if (end->code > 128 && end->code < 128 + SIGRTMIN) {
        snprintf(text, size, "exit %d (128 + %s)", end->code, signal_name(end->code - 128).text);
    } else {
        snprintf(text, size, "exit %d", end->code);
    }
}
