/* thread.h - threads beside the event loop
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_THREAD_H
#define MUSTER_THREAD_H

#include <pthread.h>

/* As pthread_create(), with all signals blocked in the thread: the event loop handles them, and
 * SIGPIPE stays pending there. 0, or an error number. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
