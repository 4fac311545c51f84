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
#include <sys/types.h>

#include "err.h"

/* Bind port, or, unless fixed, another one that is free. Returns the
 * descriptor (close it to release), with *port what it became; -1 with err,
 * and in holder "pid 123 (python3) of ann", or "" when that cannot be seen. */
int port_hold(int *port, bool fixed, char *holder, size_t holder_size, struct error *err);

/* Let go of, it may have been taken before the run could: true when somebody has it who
 * is neither run nor descends from it; holder says who. Whoever has only bound it shows nowhere, and
 * could be the run's: nobody_binds says that this cannot be. */
bool port_is_taken(int port, pid_t run, bool nobody_binds, char *holder, size_t holder_size);

/* A listening socket for the probe of addresses, on any free port. */
int port_listen(int *port, struct error *err);

#endif
