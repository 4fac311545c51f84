/* launcher_clock.h - when, by our clock, something was done that the launcher has dated by its own
 *
 * Two clocks tell nothing about each other but by messages, and those take time. The shortest
 * way a message took bounds the distance between the clocks on one side, the shortest round trip
 * on the other; so what comes out is never later than it was, by that trip at most earlier.
 * Only minutes count, since clocks drift.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCHER_CLOCK_H
#define MUSTER_LAUNCHER_CLOCK_H

#include <stdint.h>

#define LAUNCHER_CLOCK_WINDOW_S 300
#define LAUNCHER_CLOCK_UNKNOWN  INT64_MIN

/* All times in ns, ours by clock_boot_ns(). Two windows: this one, and the one before. */
struct launcher_clock {
    int64_t begun_ns;
    int64_t behind_ns[2]; /* least difference between arrival here and departure there */
    int64_t trip_ns[2];   /* shortest round trip */
};

void launcher_clock_init(struct launcher_clock *clock, int64_t now_ns);

/* A frame came that left when the launcher's clock showed theirs_ns. */
void launcher_clock_hear(struct launcher_clock *clock, int64_t now_ns, int64_t theirs_ns);

/* Besides, it answers what we sent at sent_ns. */
void launcher_clock_trip(struct launcher_clock *clock, int64_t now_ns, int64_t sent_ns);

/* By our clock, or LAUNCHER_CLOCK_UNKNOWN before the first round trip. */
int64_t launcher_clock_ours(const struct launcher_clock *clock, int64_t theirs_ns);

#endif
