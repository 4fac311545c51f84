/* facts.h - the facts about this node that HELLO reports to the launcher
 *
 * Only facts that are cheap to find out: HELLO must not cost more than the run that follows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FACTS_H
#define MUSTER_AGENT_FACTS_H

#include <jansson.h>

/* Returns the number of CPUs that this process may use. */
int facts_cores(void);

/* Returns the body of HELLO; the caller releases it. */
json_t *facts_hello(void);

/* Finds the name of the interface with this address ("10.0.0.1"); "" if there is none. */
void facts_interface_of(const char *address, char *name, size_t size);

#endif
