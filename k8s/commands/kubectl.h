/* kubectl.h - what kubectl itself does best: terminals and forwarded ports
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KUBECTL_H
#define MUSTER_KUBECTL_H

#include "commands/query.h"

/* kubectl's words for that job. 0 or -1. */
typedef int kubectl_words(const struct query *query, const struct job *job,
                          struct observed *observed, struct strlist *words, struct error *err);

/* Find the query's job and become kubectl, in the query's context and namespace. Ends the query,
 * since its proxy would be left behind. Returns an exit status only after an error, with a
 * message. */
int kubectl_become(struct query *query, kubectl_words *add_words);

#endif
