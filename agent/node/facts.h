/* facts.h - what HELLO tells the launcher about this node
 *
 * Only what is cheap to find out: HELLO must not cost more than the run that follows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FACTS_H
#define MUSTER_AGENT_FACTS_H

#include <jansson.h>

/* The number of CPUs this process may run on. */
int facts_cores(void);

/* The body of HELLO; the caller releases it. */
json_t *facts_hello(void);

/* The name of the interface with this address ("10.0.0.1"), into name; "" if there is none. */
void facts_interface_of(const char *address, char *name, size_t size);

#endif
