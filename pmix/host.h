/* host.h - between the agent and libpmix, which calls the program around it its host
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_PMIX_HOST_H
#define MUSTER_PMIX_HOST_H

#include "err.h"

/* Bytes of a packet, in both directions. */
#define HOST_PACKET_MAX (160 << 10)

/* Serves the ranks until the agent closes fd, a socket that keeps packets whole. Each is JSON:
 *
 *     agent   {"namespace": "9f3c", "size": 8, "mapping": "(vector,(0,2,4))", "first": 4,
 *              "dir": "/tmp/x"}          the job (job.h); the server's files go to dir
 *     here    {"env": ["NAME=VALUE"]}    for each rank of this node, in their order
 *     agent   {}, with a descriptor      for each rank: its PMI-1
 *
 * -1 with err: it cannot serve. */
int host_run(int fd, struct error *err);

#endif
