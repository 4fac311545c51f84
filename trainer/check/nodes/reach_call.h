/* reach_call.h - connect to many at once, with one deadline
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REACH_CALL_H
#define MUSTER_REACH_CALL_H

#include <netinet/in.h>
#include <sys/socket.h>

/* What a rank answers: its token, and so many bytes in all that they take several packets of
 * any size that there is. */
#define REACH_TOKEN 32
#define REACH_BYTES ((size_t)24 << 10)

/* why, besides errno */
#define REACH_SOMEBODY_ELSE (-1) /* what answers there is not that rank */
#define REACH_NO_DATA       (-2) /* it connects, but what it sends does not come */

struct reach_call {
    int                     rank;
    struct sockaddr_storage to;
    socklen_t               to_size;
    char                    token[REACH_TOKEN + 1]; /* what that rank must answer */
    int                     why;       /* out: 0 it answered, else errno, or the above */

    int    fd; /* while it is under way */
    char   got[REACH_TOKEN];
    size_t got_size; /* of all bytes */
};

/* Fill why of all. */
void reach_call_all(struct reach_call *calls, int count, double timeout_s);

#endif
