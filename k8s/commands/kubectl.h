/* kubectl.h - what kubectl itself does best: terminals and forwarded ports
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KUBECTL_H
#define MUSTER_KUBECTL_H

#include "commands/query.h"

/* Adds kubectl's arguments for that job to words. Returns 0 or -1. */
typedef int kubectl_words(const struct query *query, const struct job *job,
                          struct observed *observed, struct strlist *words, struct error *err);

/* Finds the query's job and executes kubectl, in the query's context and namespace. Ends the
 * query, because its proxy would be left behind. Returns only after an error: an exit status,
 * after a message. */
int kubectl_become(struct query *query, kubectl_words *add_words);

#endif
