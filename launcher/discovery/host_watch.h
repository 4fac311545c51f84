/* host_watch.h - watches the list of hosts during a run
 *
 * For a hostfile, inotify reports changes in its directory (the file may be replaced by rename,
 * or be a link as in a ConfigMap). In addition muster reads it every HOST_WATCH_LOOK_S, since
 * inotify does not see changes by other machines (NFS). A thread reads the file, so that a
 * hanging file system does not block the run. A new text counts once it has not changed for
 * HOST_WATCH_SETTLE_S, since a program may still be writing it.
 *
 * A script is started again HOST_WATCH_ASK_S after it has exited; never two at once.
 *
 * If a text cannot be read or is not a list of hosts, muster reports it once and ignores it:
 * the hosts stay as they were.
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
#define HOST_WATCH_ASK_S    1.0 /* as in horovodrun */

struct host_watch;

/* Called with the present hosts, which stay valid until the next call. words: what has changed,
 * as "te5 is new"; NULL: this is the first call, and perhaps nothing has changed. */
typedef void host_watch_changed(const struct hostlist *hosts, const char *words, void *arg);

/* Do options name something that can change: a script, or a hostfile? */
bool host_watch_is_possible(const struct options *options);

/* Watches the script that options name, or the hostfile if the hosts came from there. slots:
 * for hosts without a number of slots; 0: there is no run yet, and they stay uncounted. NULL:
 * options name nothing that can change. */
struct host_watch *host_watch_new(struct event_base *base, const struct options *options,
                                  int slots, host_watch_changed *changed, void *arg);
void               host_watch_free(struct host_watch *watch); /* NULL is fine */

/* Looks at once, and lets the result count at once (SIGHUP). NULL is fine. */
void host_watch_look(struct host_watch *watch);

/* Before there is a run: runs the script and waits for the hosts. -1 with err. */
int host_watch_ask(const struct options *options, struct hostlist *hosts, struct error *err);

#endif
