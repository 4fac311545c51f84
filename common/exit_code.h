/* exit_code.h - exit codes of muster and its agent, as in the manual; names of signals
 *
 * The code of a rank always passes through unchanged, 128+N for a signal.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_EXIT_CODE_H
#define MUSTER_EXIT_CODE_H

#include <stdio.h>
#include <string.h>

enum exit_code {
    EXIT_USAGE = 2,
    EXIT_DATA = 65,        /* bad hostfile or config */
    EXIT_UNREACHABLE = 68, /* a node could not be reached */
    EXIT_LOST = 69,        /* a node was lost during the run */
    EXIT_INTERNAL = 70,
    EXIT_CREATE = 73,      /* cannot create a file */
    EXIT_OUTPUT = 74,      /* output could not be written */
    EXIT_WAITED = 75,      /* a step of the start took too long */
    EXIT_PROTOCOL = 76,
    EXIT_REFUSED = 77,     /* host key or authentication */
    EXIT_NO_PROGRESS = 79, /* --max-no-progress: it would stop at the same place again */
    EXIT_TIMEOUT = 124,    /* --timeout */
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_INTERRUPTED = 130,
};

struct signal_name {
    char text[24];
};

/* Returns "SIGKILL", or "signal 40" for a signal without a name. Accepts any number. Use it in
 * the arguments of printf(): signal_name(number).text */
static inline struct signal_name signal_name(int number)
{
    const char        *name = sigabbrev_np(number);
    struct signal_name words;

    if (name != NULL)
        snprintf(words.text, sizeof words.text, "SIG%s", name);
    else
        snprintf(words.text, sizeof words.text, "signal %d", number);
    return words;
}

#endif
