/* interrupt.c - see interrupt.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/interrupt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "run/run.h"
#include "run/run_status.h"
#include "xalloc.h"
#include "xevent.h"

#define SIGNALS_MAX 8

struct interrupt {
    struct event *signals[SIGNALS_MAX];
    size_t        signal_count;
    int           count; /* of INT, TERM and HUP */
};

static bool is_ignored(int number);
static void signal_cb(evutil_socket_t signal, short what, void *arg);
static void interrupted(struct run *run, int signal);
static void pass_on(struct run *run, int signal);

struct interrupt *interrupt_new(struct run *run)
{
    static const int watched[] = { SIGINT,  SIGTERM, SIGHUP,  SIGTSTP,
                                   SIGQUIT, SIGUSR1, SIGUSR2, SIGURG };
    /* What cannot be written is an error and must not kill us; and a terminal that does not let
     * the background write (stty tostop) must not stop us. */
    static const int  unwanted[] = { SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN };
    struct interrupt *interrupt = xcalloc(1, sizeof *interrupt);
    size_t            i;

    for (i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        signal(unwanted[i], SIG_IGN);
    for (i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct event *event;

        if (watched[i] == SIGHUP && is_ignored(SIGHUP))
            continue;
        event = evsignal_new(run->base, watched[i], signal_cb, run);
        xevent_add(event, NULL);
        interrupt->signals[interrupt->signal_count++] = event;
    }
    return interrupt;
}

void interrupt_free(struct interrupt *interrupt)
{
    size_t i;

    if (interrupt == NULL)
        return;
    for (i = 0; i < interrupt->signal_count; i++) {
        int number = event_get_signal(interrupt->signals[i]);

        event_free(interrupt->signals[i]);
        signal(number, SIG_IGN);
    }
    free(interrupt);
}

bool interrupt_has_come(const struct run *run)
{
    return run->interrupt->count >= 1;
}

bool interrupt_is_urgent(const struct run *run)
{
    return run->interrupt->count >= 2;
}

bool interrupt_is_last(const struct run *run)
{
    return run->interrupt->count >= 3;
}

/* By nohup(1) or --detach: the end of a terminal must not end the run. */
static bool is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void signal_cb(evutil_socket_t signal, short what, void *arg)
{
    struct run *run = arg;

    (void)what;
    switch (signal) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
        interrupted(run, signal);
        break;
    case SIGTSTP:
        log_error("Ctrl-Z ignored: the nodes would end the run after %g s",
                  run->options->dead_after_s);
        break;
    case SIGURG:
        run_status_ask(run);
        break;
    default:
        pass_on(run, signal);
        break;
    }
}

static void interrupted(struct run *run, int signal)
{
    const char *name = signal == SIGINT ? "interrupted" : strsignal(signal);

    run->interrupt->count++;
    if (run->interrupt->count == 1) {
        outcome_cause(&run->outcome, 128 + signal, "%s", name);
        log_error("%s: stopping everything (KILL after %g s; again to kill now)", name,
                  run->options->grace_s);
        phase_stop(run);
    } else if (run->interrupt->count == 2) {
        log_error("killing everything (again to leave at once; the nodes then clean up on "
                  "their own)");
        phase_stop_nodes(run, 0);
    } else {
        event_base_loopbreak(run->base);
    }
}

static void pass_on(struct run *run, int signal)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (node_takes_frames(&run->node[i]) && run->node[i].state == NODE_RUNNING)
            node_send(&run->node[i], FRAME_SIGNAL, json_pack("{s:i}", "signal", signal));
}
