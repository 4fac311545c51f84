/* port.h - holding a TCP port until the ranks start
 *
 * MASTER_PORT is chosen before the ranks run. Bound here meanwhile, and never
 * listened on, it cannot be taken by somebody else in between.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PORT_H
#define MUSTER_PORT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

/* Bind port, or, unless fixed, another one that is free. Returns the
 * descriptor (close it to release), with *port what it became; -1 with err,
 * and in holder "pid 123 (python3)", or "" when that cannot be seen. */
int port_hold(int *port, bool fixed, char *holder, size_t holder_size, struct error *err);

/* A listening socket for the probe of addresses, on any free port. */
int port_listen(int *port, struct error *err);

#endif
