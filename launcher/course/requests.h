/* requests.h - what is asked of a run while it runs: muster drain, muster scale, other hosts
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REQUESTS_H
#define MUSTER_REQUESTS_H

#include "history/control.h"
#include "plan/hostfile.h"

/* The verbs of history/control.h that a run takes; their argument is the run. */
extern const struct control_verb requests_verbs[];

/* Takes a new list of hosts, after --include and --exclude: hosts that these leave out stay
 * out. New hosts may take part. A node whose host is no longer listed leaves; if ranks run,
 * they get a notice and have notice_save_s() to save. The callback of discovery/host_watch.h;
 * arg: the run. */
void requests_hosts(const struct hostlist *hosts, const char *words, void *arg);

#endif
