/* kubectl.h - what kubectl itself does best: terminals and forwarded ports
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_KUBECTL_H
#define MUSTER_KUBECTL_H

#include "commands/query.h"

/* Become kubectl with these words, in the query's context and namespace. Ends the query, since its
 * proxy would be left behind. Returns an exit status only after an error, with a message. */
int kubectl_become(struct query *query, const struct strlist *words);

#endif
