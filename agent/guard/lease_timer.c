/* lease_timer.c - see lease_timer.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "guard/lease_timer.h"

#include <signal.h>

#include "clock.h"

void lease_timer_set(struct lease_timer *timer, double seconds)
{
    struct sigevent   event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec when = { .it_value = { .tv_sec = (time_t)seconds } };

    when.it_value.tv_nsec = (long)((seconds - (double)when.it_value.tv_sec) * NS_PER_S);
    if (!timer->is_made && timer_create(CLOCK_MONOTONIC, &event, &timer->timer) < 0)
        return;
    timer->is_made = true;
    timer_settime(timer->timer, 0, &when, NULL);
}

void lease_timer_clear(struct lease_timer *timer)
{
    if (timer->is_made)
        timer_delete(timer->timer);
    timer->is_made = false;
}
