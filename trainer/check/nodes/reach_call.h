/* reach_call.h - connect to many at once, with one deadline
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REACH_CALL_H
#define MUSTER_REACH_CALL_H

#include <netinet/in.h>
#include <sys/socket.h>

#define REACH_SOMEBODY_ELSE (-1) /* why: what answers there is not that rank */

struct reach_call {
    int                     rank;
    struct sockaddr_storage to;
    socklen_t               to_size;
    char                    token[33]; /* what that rank must answer */
    int                     why;       /* out: 0 it answered, else errno, or the above */

    int    fd; /* while it is under way */
    char   got[33];
    size_t got_size;
};

/* Fill why of all. */
void reach_call_all(struct reach_call *calls, int count, double timeout_s);

#endif
