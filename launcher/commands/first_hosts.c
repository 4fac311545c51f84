/* first_hosts.c - see first_hosts.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "commands/first_hosts.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "clock.h"
#include "commands/gpu_slots.h"
#include "discovery/host_changes.h"
#include "discovery/host_watch.h"
#include "exit_code.h"
#include "hosts/host_source.h"
#include "log.h"
#include "run/interrupt.h"
#include "course/world.h"
#include "xalloc.h"
#include "xevent.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
#define SIGNALS (sizeof signals / sizeof *signals)

struct waiting {
    struct first_hosts *first;
    struct event_base  *base;
    struct host_watch  *watch;
    struct event       *over;
    struct event       *signals[SIGNALS]; /* NULL: not watched now */
    double              wait_s;
    bool                hup_reads;
    bool                has_changed; /* first->hosts has changed since we looked */
    int                 status; /* 0: still waiting */
};

static void keep_hup(const struct options *options);
static int  read_hosts(const struct options *options, char *const *here, struct first_hosts *first);
static bool may_wait(const struct options *options, const struct first_hosts *first);
static struct select_rules rules_of(const struct options *options);
static int  look(const struct options *options, char *const *here, struct first_hosts *first);
static void look_again(const struct options *options, char *const *here, struct waiting *w);
static void begin(const struct options *options, struct waiting *w);
static void end(struct waiting *w);
static void hosts_changed(const struct hostlist *hosts, const char *words, void *arg);
static void copy_hosts(struct hostlist *copy, const struct hostlist *hosts);
static void over_cb(evutil_socket_t fd, short what, void *arg);
static void watch_signals(struct waiting *w);
static void leave_signals(struct waiting *w);
static void signal_cb(evutil_socket_t number, short what, void *arg);

int first_hosts_find(const struct options *options, char *const *here, struct first_hosts *first)
{
    int status;

    keep_hup(options);
    status = read_hosts(options, here, first);
    if (status == 0) {
        copy_hosts(&first->named, &first->hosts);
        status = look(options, here, first);
    }
    if (status < 0 && may_wait(options, first))
        return 0;
    if (status < 0)
        log_error("%s", first->missing.text);
    return status < 0 ? (first->named.count > 0 ? EXIT_USAGE : EXIT_DATA) : status;
}

void first_hosts_clear(struct first_hosts *first)
{
    selection_clear(&first->selection);
    hostlist_clear(&first->hosts);
    hostlist_clear(&first->named);
    *first = (struct first_hosts){ 0 };
}

/* If SIGHUP means to read the hosts again, it must not kill muster before its handler is
 * installed. Until then it is ignored, since muster is reading the hosts anyway. The handler is
 * installed even if the signal is ignored. */
static void keep_hup(const struct options *options)
{
    if (options->command == COMMAND_RUN && host_watch_is_possible(options) &&
        (options->discovery_script != NULL || options_take_nodes(options)) &&
        interrupt_hup_reads())
        signal(SIGHUP, SIG_IGN);
}

/* -1: first->missing says why there are none. */
static int read_hosts(const struct options *options, char *const *here, struct first_hosts *first)
{
    return options->discovery_script != NULL
               ? host_watch_ask(options, &first->hosts, &first->missing)
               : host_source_find(options, here, &first->hosts, &first->missing);
}

/* Waiting is useless if the script cannot be executed, the hostfile cannot be read, or no hosts
 * could satisfy the rules: the user must correct these. */
static bool may_wait(const struct options *options, const struct first_hosts *first)
{
    const struct select_rules rules = rules_of(options);
    const char               *script = options->discovery_script;
    struct error              why;

    return options_go_on(options) && options_take_nodes(options) && !options->dry_run &&
           options_max_wait_s(options) > 0 && host_watch_is_possible(options) &&
           (first->named.count > 0 || (script != NULL && access(script, X_OK) == 0)) &&
           select_check(&rules, &why) == 0;
}

static struct select_rules rules_of(const struct options *options)
{
    struct select_rules rules = select_rules_of(options);

    rules.takes_all = options_go_on(options) && options->num_ranks == 0;
    rules.is_partial = options->discovery_script != NULL;
    return rules;
}

/* Are the hosts enough? -1: no; first->missing says why. Otherwise 0 or an exit status. */
static int look(const struct options *options, char *const *here, struct first_hosts *first)
{
    const struct select_rules rules = rules_of(options);
    int                       status;

    selection_clear(&first->selection);
    status = gpu_slots_find(options, &first->hosts, &rules, here, &first->missing);
    if (status != 0)
        return status;
    if (select_slots(&first->hosts, &rules, &first->selection, &first->missing) < 0 ||
        world_first_size(options, &first->selection, &first->count, &first->missing) < 0)
        return -1;
    first->is_enough = true;
    return 0;
}

/* --- waiting ---------------------------------------------------------------- */

int first_hosts_wait(const struct options *options, char *const *here, struct first_hosts *first)
{
    struct waiting w = { .first = first, .wait_s = options_max_wait_s(options) };

    if (first->is_enough)
        return 0;
    begin(options, &w);
    while (!first->is_enough && w.status == 0) {
        event_base_loop(w.base, EVLOOP_ONCE);
        if (w.has_changed && w.status == 0)
            look_again(options, here, &w);
    }
    end(&w);
    return w.status;
}

static void begin(const struct options *options, struct waiting *w)
{
    struct timeval wait = clock_interval(w->wait_s);

    w->base = event_base_new();
    if (w->base == NULL)
        xalloc_die();
    w->over = evtimer_new(w->base, over_cb, w);
    if (w->over == NULL)
        xalloc_die();
    xevent_add(w->over, &wait);
    /* The watch runs a script at once, and reports its errors. */
    if (w->first->named.count > 0)
        log_note("%s; waiting for hosts, at most %g s (--max-wait)", w->first->missing.text,
                 w->wait_s);
    else
        log_note("waiting for hosts, at most %g s (--max-wait)", w->wait_s);
    w->watch = host_watch_new(w->base, options, 0, hosts_changed, w);
    w->hup_reads = interrupt_hup_reads();
    watch_signals(w);
}

static void end(struct waiting *w)
{
    leave_signals(w);
    host_watch_free(w->watch);
    event_free(w->over);
    event_base_free(w->base);
}

/* Counting GPUs is a separate run with its own signal handlers. Reports what is missing only if
 * that has changed. */
static void look_again(const struct options *options, char *const *here, struct waiting *w)
{
    struct first_hosts *first = w->first;
    const struct error  before = first->missing;
    int                 status;

    w->has_changed = false;
    leave_signals(w);
    status = look(options, here, first);
    watch_signals(w);
    if (status > 0)
        w->status = status;
    else if (status < 0 && strcmp(before.text, first->missing.text) != 0)
        log_note("%s; waiting for more hosts (--max-wait)", first->missing.text);
}

/* The first call may report the hosts that we read before the watch began. */
static void hosts_changed(const struct hostlist *hosts, const char *words, void *arg)
{
    struct waiting     *w = arg;
    struct host_changes changes;

    (void)words;
    host_changes_find(&changes, &w->first->named, hosts);
    if (host_changes_any(&changes)) {
        selection_clear(&w->first->selection); /* it borrows from hosts */
        copy_hosts(&w->first->named, hosts);
        copy_hosts(&w->first->hosts, hosts);
        w->has_changed = true;
    }
    host_changes_clear(&changes);
}

static void copy_hosts(struct hostlist *copy, const struct hostlist *hosts)
{
    size_t i;

    hostlist_clear(copy);
    copy->host = xcalloc(hosts->count + 1, sizeof *copy->host);
    copy->count = hosts->count;
    for (i = 0; i < hosts->count; i++)
        host_copy(&copy->host[i], &hosts->host[i]);
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
    struct waiting *w = arg;

    (void)fd, (void)what;
    log_error("%s; waited for %g s (--max-wait)", w->first->missing.text, w->wait_s);
    w->status = EXIT_WAITED;
}

static void watch_signals(struct waiting *w)
{
    size_t i;

    for (i = 0; i < SIGNALS; i++) {
        if (signals[i] == SIGHUP && interrupt_is_ignored(SIGHUP) && !w->hup_reads)
            continue;
        w->signals[i] = evsignal_new(w->base, signals[i], signal_cb, w);
        if (w->signals[i] == NULL)
            xalloc_die();
        xevent_add(w->signals[i], NULL);
    }
}

static void leave_signals(struct waiting *w)
{
    size_t i;

    for (i = 0; i < SIGNALS; i++)
        if (w->signals[i] != NULL)
            event_free(w->signals[i]);
    memset(w->signals, 0, sizeof w->signals);
}

static void signal_cb(evutil_socket_t number, short what, void *arg)
{
    struct waiting *w = arg;

    (void)what;
    if (number == SIGHUP && w->hup_reads) {
        host_watch_look(w->watch);
        return;
    }
    log_error("%s; %s", w->first->missing.text,
              number == SIGINT ? "interrupted" : strsignal((int)number));
    w->status = 128 + (int)number;
}
