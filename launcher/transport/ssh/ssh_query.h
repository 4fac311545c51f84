/* ssh_query.h - asks ssh for its settings of a host: ssh -G
 *
 * ssh is the authority whenever our own reader has a doubt. Its answer is complete: every
 * setting with its value, defaults and lists expanded. An answer is stored for the life of the
 * process, so muster asks ssh about a host again only if one of the files has changed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_QUERY_H
#define MUSTER_SSH_QUERY_H

#include <event2/event.h>

#include "strlist.h"
#include "transport/conn.h"

/* Appends the arguments that describe target to the ssh program: options, "--" and the host. */
void ssh_destination(const struct conn_target *target, struct strlist *argv);

struct ssh_query;

/* Asks ssh. done is called once, from the event loop. If ssh refuses the configuration or
 * cannot run, answer is NULL and why has the reason. Both are borrowed; the callee may call
 * ssh_query_free(). */
struct ssh_query *ssh_query_start(struct event_base *base, const struct conn_target *target,
                                  void (*done)(const char *answer,
                                               const struct conn_failure *why, void *arg),
                                  void *arg);
void              ssh_query_free(struct ssh_query *query); /* NULL is fine */

#endif
