/* interrupt.c - what ends or disturbs a run from outside: signals, limits
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/run.h"

#include <signal.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "node/liveness.h"
#include "xevent.h"

#define READER_HURRIED_S 1.0 /* for a reader who takes nothing, once the user insists */

static bool   is_ignored(int number);
static void   signal_cb(evutil_socket_t signal, short what, void *arg);
static void   interrupted(struct run *run, int signal);
static void   pass_on(struct run *run, int signal);
static void   time_limit_cb(evutil_socket_t fd, short what, void *arg);
static void   stop_limit_cb(evutil_socket_t fd, short what, void *arg);
static bool   output_goes_on(const struct run *run);
static void   beat_cb(evutil_socket_t fd, short what, void *arg);
static void   check_reader(struct run *run);
static double seconds_since(int64_t ns);

/* It says so once: the next look is at a sleep of its own. */
bool interrupt_slept(struct run *run)
{
    int64_t now_ns = clock_boot_ns();
    double  late_s = (double)(now_ns - run->last_beat_ns) / NS_PER_S - run->options->heartbeat_s;

    run->last_beat_ns = now_ns;
    if (late_s >= run->options->dead_after_s)
        log_warn("muster itself did not run for %.0f s (stopped, or this machine suspended?);"
                 " its nodes end the run after %g s", late_s, run->options->dead_after_s);
    return late_s > run->options->heartbeat_s;
}

double interrupt_patience_s(const struct run *run)
{
    return run->interrupts >= 2 ? READER_HURRIED_S : LAUNCH_READER_S;
}

void interrupt_watch(struct run *run)
{
    static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGQUIT, SIGUSR1, SIGUSR2 };
    /* What cannot be written is an error, no death; and a terminal that does not let
     * the background write (stty tostop) must not stop us. */
    static const int unwanted[] = { SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN };
    struct timeval   beat = clock_interval(run->options->heartbeat_s);
    struct timeval   limit = clock_interval(run->options->timeout_s);
    size_t           i;

    for (i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        signal(unwanted[i], SIG_IGN);
    for (i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct event *event;

        if (watched[i] == SIGHUP && is_ignored(SIGHUP))
            continue;
        event = evsignal_new(run->base, watched[i], signal_cb, run);
        xevent_add(event, NULL);
        run->signals[run->signal_count++] = event;
    }
    run->time_limit = event_new(run->base, -1, 0, time_limit_cb, run);
    run->stop_limit = event_new(run->base, -1, 0, stop_limit_cb, run);
    run->beat = event_new(run->base, -1, EV_PERSIST, beat_cb, run);
    run->last_beat_ns = clock_boot_ns();
    xevent_add(run->beat, &beat);
    if (run_is_exec(run) && run->options->timeout_s > 0)
        xevent_add(run->time_limit, &limit); /* nodes have no common start */
}

/* By nohup(1) or --detach: the end of a terminal is nothing to us. */
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
        log_error("cannot be suspended: its nodes would end the run after %g s",
                  run->options->dead_after_s);
        break;
    default:
        pass_on(run, signal);
        break;
    }
}

static void interrupted(struct run *run, int signal)
{
    run->interrupts++;
    if (run->interrupts == 1) {
        outcome_cause(&run->outcome, 128 + signal, "%s",
                      signal == SIGINT ? "interrupted" : strsignal(signal));
        log_error("%s: stopping everything (KILL after %g s; again to kill now)",
                  signal == SIGINT ? "interrupted" : strsignal(signal), run->options->grace_s);
        run_end(run);
    } else if (run->interrupts == 2) {
        log_error("killing everything (again to leave at once; the nodes then clean up alone)");
        run_stop_nodes(run, 0);
    } else {
        event_base_loopbreak(run->base);
    }
}

static void pass_on(struct run *run, int signal)
{
    size_t i;

    for (i = 0; i < run->plan->nodes; i++)
        if (node_is_live(&run->node[i]) && run->node[i].state == NODE_RUNNING)
            node_send(&run->node[i], FRAME_SIGNAL, json_pack("{s:i}", "signal", signal));
}

static void time_limit_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;

    (void)fd;
    (void)what;
    outcome_cause(&run->outcome, EXIT_TIMEOUT, "time limit: --timeout %g s is over",
                  run->options->timeout_s);
    run_end(run);
}

/* An agent that does not confirm the end in time is lost: we cannot say that
 * nothing is left there. */
static void stop_limit_cb(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval more = clock_interval(STOP_SURE_S);
    struct run          *run = arg;
    size_t               i;

    (void)fd;
    (void)what;
    if (output_goes_on(run)) {
        xevent_add(run->stop_limit, &more);
        return;
    }
    for (i = 0; i < run->plan->nodes; i++)
        if (run->node[i].state == NODE_DONE)
            node_release(&run->node[i]);
        else if (!node_is_over(&run->node[i]))
            node_lose(&run->node[i], "stopping", NULL,
                      "the agent did not confirm that nothing is left");
}

/* The nodes have more to say than their credit or the line lets through at once. */
static bool output_goes_on(const struct run *run)
{
    return seconds_since(run->stop_ns) < run->options->grace_s + STOP_OUTPUT_S + STOP_SURE_S &&
           (seconds_since(run->output_ns) < STOP_SURE_S || output_stuck_s(run->output) > 0);
}

/* A beat that comes late says that we ourselves did not run: what the nodes sent
 * meanwhile is still unread, so nobody is judged. */
static void beat_cb(evutil_socket_t fd, short what, void *arg)
{
    struct run *run = arg;
    int64_t     now_ns = clock_now_ns();
    bool        we_slept = interrupt_slept(run);
    size_t      i;

    (void)fd;
    (void)what;
    for (i = 0; i < run->plan->nodes; i++) {
        struct node *node = &run->node[i];

        if (!node_is_live(node) || node->state < NODE_ANSWERED)
            continue;
        if (we_slept)
            node->heard_ns = now_ns;
        liveness_check(node, run->options->dead_after_s, run->options->heartbeat_s, now_ns);
        if (!node_is_over(node))
            node_ping(node);
    }
    check_reader(run);
    hang_look(run);
    run_status_beat(run);
}

/* At the end nobody waits for a reader who takes nothing. */
static void check_reader(struct run *run)
{
    double patience_s = interrupt_patience_s(run), stopping_s = seconds_since(run->stop_ns);
    bool   is_late = stopping_s >= run->options->grace_s + STOP_OUTPUT_S;

    if (run->phase == PHASE_STOPPING && stopping_s >= patience_s)
        output_give_up(run->output, is_late ? 0 : patience_s);
}

static double seconds_since(int64_t ns)
{
    return (double)(clock_now_ns() - ns) / NS_PER_S;
}

/* The run is over and its exit status decided: a last Ctrl-C of an impatient user
 * must not replace it by a death of our own. */
void interrupt_clear(struct run *run)
{
    size_t i;

    for (i = 0; i < run->signal_count; i++) {
        int number = event_get_signal(run->signals[i]);

        event_free(run->signals[i]);
        signal(number, SIG_IGN);
    }
    event_free(run->beat);
    event_free(run->time_limit);
    event_free(run->stop_limit);
}
