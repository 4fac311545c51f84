/* reach_call.h - connects to many ranks at the same time, with one deadline
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_REACH_CALL_H
#define MUSTER_REACH_CALL_H

#include <netinet/in.h>
#include <sys/socket.h>

/* A rank answers with its token, and enough other bytes to need several packets of any possible
 * size. REACH_BYTES includes the token. */
#define REACH_TOKEN 32
#define REACH_BYTES ((size_t)24 << 10)

/* values of why, besides errno */
#define REACH_SOMEBODY_ELSE (-1) /* something else answers, not that rank */
#define REACH_NO_DATA       (-2) /* it connects, but its data does not arrive */

struct reach_call {
    int                     rank;
    struct sockaddr_storage to;
    socklen_t               to_size;
    char                    token[REACH_TOKEN + 1]; /* the token that the rank must send */
    int                     why;       /* out: 0: it answered, else errno or one of the above */

    int    fd; /* -1: finished */
    char   got[REACH_TOKEN];
    size_t got_size; /* all bytes received */
};

/* Makes all calls, and sets why in each. */
void reach_call_all(struct reach_call *calls, int count, double timeout_s);

#endif
