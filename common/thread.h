/* thread.h - threads beside the event loop
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_THREAD_H
#define MUSTER_THREAD_H

#include <pthread.h>

/* Like pthread_create(), but with all signals blocked in the thread: the event loop handles
 * them, and SIGPIPE stays pending in the thread. Returns 0, or an error number. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
