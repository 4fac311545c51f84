/* facts.h - what the launcher is told about this node in HELLO
 *
 * Cheap ones only: a greeting must not cost more than the run that follows.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_FACTS_H
#define MUSTER_AGENT_FACTS_H

#include <jansson.h>

/* CPUs this process may run on. */
int facts_cores(void);

/* The body of HELLO; the caller releases it. */
json_t *facts_hello(void);

/* Name of the interface that has this address ("10.0.0.1"), into name; "" when
 * there is none. */
void facts_interface_of(const char *address, char *name, size_t size);

#endif
