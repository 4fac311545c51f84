/* launcher_clock.c - see launcher_clock.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "session/launcher_clock.h"

#include "clock.h"

#define NEVER INT64_MAX
/* No clock shows more, which keeps differences far from overflow. */
#define LATEST (INT64_MAX / 4)

static void    turn(struct launcher_clock *clock, int64_t now_ns);
static int64_t least(const int64_t of[2]);

void launcher_clock_init(struct launcher_clock *clock, int64_t now_ns)
{
    *clock = (struct launcher_clock){ .begun_ns = now_ns, .behind_ns = { NEVER, NEVER },
                                      .trip_ns = { NEVER, NEVER } };
}

void launcher_clock_hear(struct launcher_clock *clock, int64_t now_ns, int64_t theirs_ns)
{
    turn(clock, now_ns);
    if (theirs_ns >= 0 && theirs_ns <= LATEST && now_ns - theirs_ns < clock->behind_ns[0])
        clock->behind_ns[0] = now_ns - theirs_ns;
}

void launcher_clock_trip(struct launcher_clock *clock, int64_t now_ns, int64_t sent_ns)
{
    turn(clock, now_ns);
    if (sent_ns >= 0 && sent_ns <= now_ns && now_ns - sent_ns < clock->trip_ns[0])
        clock->trip_ns[0] = now_ns - sent_ns;
}

int64_t launcher_clock_ours(const struct launcher_clock *clock, int64_t theirs_ns)
{
    const int64_t behind_ns = least(clock->behind_ns), trip_ns = least(clock->trip_ns);

    if (behind_ns == NEVER || trip_ns == NEVER || theirs_ns < 0 || theirs_ns > LATEST)
        return LAUNCHER_CLOCK_UNKNOWN;
    return theirs_ns + behind_ns - trip_ns;
}

static void turn(struct launcher_clock *clock, int64_t now_ns)
{
    if (now_ns - clock->begun_ns < LAUNCHER_CLOCK_WINDOW_S * NS_PER_S)
        return;
    clock->begun_ns = now_ns;
    clock->behind_ns[1] = clock->behind_ns[0];
    clock->trip_ns[1] = clock->trip_ns[0];
    clock->behind_ns[0] = clock->trip_ns[0] = NEVER;
}

static int64_t least(const int64_t of[2])
{
    return of[0] < of[1] ? of[0] : of[1];
}
