/* last_day.h - what the kernel's log says of the last day
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_LAST_DAY_H
#define MUSTER_AGENT_LAST_DAY_H

#include "evidence/evidence_list.h"

/* Adds the evidence of the last day, since this boot. root: the prefix of /dev/kmsg; if that may
 * not be read, and root is "", the journal is. Nothing, if that may not be read either. It waits
 * for journalctl, 5 s at most: only for a child. */
void last_day_read(const char *root, struct evidence_list *list);

/* Adds the evidence of a text of /dev/kmsg, from since_s seconds after boot. */
void last_day_of(const char *log, double since_s, struct evidence_list *list);

#endif
