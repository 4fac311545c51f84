/* clock.h - the monotonic clock, in nanoseconds
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_CLOCK_H
#define MUSTER_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NS_PER_S 1000000000LL

static inline int64_t clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The same in seconds. */
static inline double clock_now_s(void)
{
    return (double)clock_now_ns() / NS_PER_S;
}

/* Also counts while the machine is suspended. */
static inline int64_t clock_boot_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Converts seconds to libevent's type. */
static inline struct timeval clock_interval(double seconds)
{
    struct timeval interval = { .tv_sec = (time_t)seconds };

    interval.tv_usec = (suseconds_t)((seconds - (double)interval.tv_sec) * 1e6);
    return interval;
}

#endif
