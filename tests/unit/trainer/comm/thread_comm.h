/* thread_comm.h - a communicator whose ranks are threads of one process, for tests
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_THREAD_COMM_H
#define MUSTER_THREAD_COMM_H

#include "comm/comm.h"

/* Run main as each of size ranks, on a thread of its own, and wait for all. cmocka's
 * asserts are for the main thread only: main returns NULL, or a text that tells what is
 * wrong, and the first one is returned. comm is closed by whoever uses it. */
typedef const char *thread_rank_main(struct comm *comm, void *arg);
const char         *thread_comm_run(int size, thread_rank_main *rank_main, void *arg);

/* How often each was called by rank 0 since thread_comm_run began, and its bytes: what it
 * sends to others in a ring. */
struct thread_comm_counts {
    int    all_reduce, reduce_scatter, all_gather;
    size_t bytes;
};
extern struct thread_comm_counts thread_comm_counts;

/* The operation with this number (the first is 0) fails, on all ranks. -1: none. */
extern int thread_comm_fail_at;

/* So long does each take beside its work, as a network would. */
extern int64_t thread_comm_delay_ns;

#endif
