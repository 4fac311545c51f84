/* host_watch.h - which hosts there are now, while a run goes on
 *
 * Of a hostfile: inotify tells that something in its directory has changed (the file may be
 * written anew by rename, or be a link as in a ConfigMap), and every HOST_WATCH_LOOK_S it is read
 * in any case, since inotify knows nothing of other machines (NFS). A thread reads it, so that a
 * file system that hangs holds up nothing. What it says counts once it has not changed for
 * HOST_WATCH_SETTLE_S: somebody may be writing it.
 *
 * Of a script: it is started again HOST_WATCH_ASK_S after it has ended; never two at once.
 *
 * What cannot be read or is no list of hosts is told once, and ignored: the hosts stay as they
 * were.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_HOST_WATCH_H
#define MUSTER_HOST_WATCH_H

#include <stdbool.h>

#include <event2/event.h>

#include "options/options.h"
#include "plan/hostfile.h"

#define HOST_WATCH_LOOK_S   5.0
#define HOST_WATCH_SETTLE_S 0.3
#define HOST_WATCH_ASK_S    1.0 /* as horovodrun does */

struct host_watch;

/* These are the hosts now. words: what has changed, "te5 is new"; NULL: the first time, when
 * nothing need have changed. hosts stay valid until the next call. */
typedef void host_watch_changed(const struct hostlist *hosts, const char *words, void *arg);

/* Do options name something that can change: a script, or a hostfile? */
bool host_watch_is_possible(const struct options *options);

/* Watch what options name: the script, or the hostfile if the hosts came from there. slots: of
 * hosts for which the user gives no number; 0: there is no run yet, and they stay uncounted. NULL:
 * they name nothing that could change. */
struct host_watch *host_watch_new(struct event_base *base, const struct options *options,
                                  int slots, host_watch_changed *changed, void *arg);
void               host_watch_free(struct host_watch *watch); /* NULL is fine */

/* Look at once, and let count what is found (SIGHUP). NULL is fine. */
void host_watch_look(struct host_watch *watch);

/* The same, before there is a run: ask the script and wait. -1 with err. */
int host_watch_ask(const struct options *options, struct hostlist *hosts, struct error *err);

#endif
