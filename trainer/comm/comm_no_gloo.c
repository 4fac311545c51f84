/* comm_no_gloo.c - takes the place of comm_gloo.cc in a build without Gloo
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "comm/comm.h"

struct comm *comm_gloo_open(const struct comm_world *world, bool *timed_out,
                            struct error *err)
{
    (void)world;
    *timed_out = false;
    err_set(err, "muster-train was built without Gloo (Debian: apt-get install libgloo-dev, "
                 "then run configure and make again)");
    return NULL;
}
