/* ssh_query.h - ask ssh what its configuration says about a host: ssh -G
 *
 * ssh is the authority whenever our own reader has a doubt. Its answer is complete: every
 * setting with its value, defaults and lists expanded. An answer is stored for the life of the
 * process, so that ssh is asked once about a host; but again if one of the files has changed since.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_SSH_QUERY_H
#define MUSTER_SSH_QUERY_H

#include <event2/event.h>

#include "strlist.h"
#include "transport/conn.h"

/* Append the words by which the ssh program is told of target: its options, "--" and the host. */
void ssh_destination(const struct conn_target *target, struct strlist *argv);

struct ssh_query;

/* done is called once, later: answer is NULL if ssh refuses the configuration or cannot be
 * asked; then see why. Both are borrowed; the callee may ssh_query_free(). */
struct ssh_query *ssh_query_start(struct event_base *base, const struct conn_target *target,
                                  void (*done)(const char *answer,
                                               const struct conn_failure *why, void *arg),
                                  void *arg);
void              ssh_query_free(struct ssh_query *query); /* NULL is fine */

#endif
