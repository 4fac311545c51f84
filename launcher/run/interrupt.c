/* interrupt.c - see interrupt.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "run/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discovery/host_watch.h"
#include "log.h"
#include "node/liveness.h"
#include "run/notice.h"
#include "run/run.h"
#include "run/run_status.h"
#include "xalloc.h"
#include "xevent.h"

#define SIGNALS_MAX 8

struct interrupt {
    struct event *signals[SIGNALS_MAX];
    size_t        signal_count;
    int           count; /* of INT, TERM and HUP */
    int           last;  /* the last of these */
    bool          hup_reads; /* HUP makes muster read the hosts again, and is not counted */
};

/* The same count, and the exit status if it is decided, for end_cb(), which gets no
 * argument. */
static volatile sig_atomic_t end_count, end_status;

static void signal_cb(evutil_socket_t signal, short what, void *arg);
static bool is_end(const struct interrupt *interrupt, int signal);
static void interrupted(struct run *run, int signal);
static void end_cb(int signal);

struct interrupt *interrupt_new(struct run *run)
{
    static const int watched[] = { SIGINT,  SIGTERM, SIGHUP,  SIGTSTP,
                                   SIGQUIT, SIGUSR1, SIGUSR2, SIGURG };
    /* A failed write is an error and must not kill us. A terminal that does not let background
     * processes write (stty tostop) must not stop us. */
    static const int  unwanted[] = { SIGPIPE, SIGXFSZ, SIGTTOU, SIGTTIN };
    struct interrupt *interrupt = xcalloc(1, sizeof *interrupt);
    size_t            i;

    interrupt->hup_reads = run->host_watch != NULL && interrupt_hup_reads();
    for (i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        signal(unwanted[i], SIG_IGN);
    for (i = 0; i < sizeof watched / sizeof *watched; i++) {
        struct event *event;

        if (watched[i] == SIGHUP && interrupt_is_ignored(SIGHUP) && !interrupt->hup_reads)
            continue;
        event = evsignal_new(run->base, watched[i], signal_cb, run);
        xevent_add(event, NULL);
        interrupt->signals[interrupt->signal_count++] = event;
    }
    return interrupt;
}

/* From now on Ctrl-Z may stop muster, since no node can be lost. */
void interrupt_nodes_over(struct run *run)
{
    reader_begin(&run->reader, run->base, run->interrupt->count);
}

void interrupt_end(struct run *run, int status)
{
    struct interrupt *interrupt = run->interrupt;
    size_t            i;

    end_count = interrupt->count;
    end_status = status;
    for (i = 0; i < interrupt->signal_count; i++) {
        int number = event_get_signal(interrupt->signals[i]);

        signal(number, is_end(interrupt, number) ? end_cb : SIG_IGN);
    }
}

static void end_cb(int signal)
{
    if (++end_count >= 2)
        _exit(end_status != 0 ? end_status : 128 + signal);
}

/* event_free() restores the default action for a moment, so all signals are blocked. */
void interrupt_free(struct interrupt *interrupt)
{
    sigset_t all, before;
    size_t   i;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (i = 0; interrupt != NULL && i < interrupt->signal_count; i++) {
        int              number = event_get_signal(interrupt->signals[i]);
        struct sigaction now;

        sigaction(number, NULL, &now);
        event_free(interrupt->signals[i]);
        sigaction(number, &now, NULL);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(interrupt);
}

void interrupt_has_left(struct run *run)
{
    int number = run->interrupt->last;

    if (number != 0)
        outcome_cause(&run->outcome, 128 + number,
                      "%s: muster exited before all output was read",
                      number == SIGINT ? "interrupted" : strsignal(number));
}

bool interrupt_has_come(const struct run *run)
{
    return run->interrupt->count >= 1;
}

bool interrupt_is_urgent(const struct run *run)
{
    return run->interrupt->count >= 2;
}

bool interrupt_is_ignored(int signal)
{
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool interrupt_hup_reads(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static void signal_cb(evutil_socket_t signal, short what, void *arg)
{
    struct run *run = arg;

    (void)what;
    if (is_end(run->interrupt, signal)) {
        interrupted(run, signal);
        return;
    }
    switch (signal) {
    case SIGTSTP:
        if (run->reader.is_begun)
            raise(SIGSTOP);
        else
            log_error("Ctrl-Z ignored: the nodes would end the run after %g s",
                      liveness_agent_s(run->options->dead_after_s));
        break;
    case SIGHUP:
        host_watch_look(run->host_watch);
        break;
    case SIGURG:
        run_status_ask(run);
        break;
    default:
        interrupt_pass_on(run, signal);
        break;
    }
}

static bool is_end(const struct interrupt *interrupt, int signal)
{
    return signal == SIGINT || signal == SIGTERM || (signal == SIGHUP && !interrupt->hup_reads);
}

static void interrupted(struct run *run, int signal)
{
    const char *name = signal == SIGINT ? "interrupted" : strsignal(signal);

    run->interrupt->count++;
    run->interrupt->last = signal;
    if (run->reader.is_begun) {
        reader_interrupted(&run->reader);
    } else if (run->interrupt->count == 1) {
        outcome_cause(&run->outcome, 128 + signal, "%s", name);
        if (signal == SIGTERM && notice_save(run)) {
            log_error("%s: waiting for a checkpoint (repeat to kill now)", name);
            return;
        }
        log_error("%s: stopping everything (KILL after %g s; repeat to kill now)", name,
                  run->options->grace_s);
        phase_stop(run);
    } else if (run->interrupt->count == 2) {
        log_error("killing everything (repeat to exit at once; the nodes then clean up on "
                  "their own)");
        phase_stop(run);
        phase_stop_nodes(run, 0);
    } else {
        event_base_loopbreak(run->base);
    }
}

size_t interrupt_pass_on(struct run *run, int signal)
{
    size_t i, nodes = 0;

    for (i = 0; i < run->plan->nodes; i++) {
        if (!node_takes_frames(run->node[i]) || run->node[i]->state != NODE_RUNNING)
            continue;
        node_send(run->node[i], FRAME_SIGNAL, json_pack("{s:i}", "signal", signal));
        nodes++;
    }
    return nodes;
}
