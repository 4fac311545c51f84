/* launcher_clock.h - converts times of the launcher's clock to ours
 *
 * Only messages can relate two clocks, and messages take time. The shortest delay of a message
 * bounds the distance between the clocks on one side, the shortest round trip on the other. So
 * the converted time is never too late, and at most one such round trip too early. Only the
 * last minutes count, since clocks drift.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LAUNCHER_CLOCK_H
#define MUSTER_LAUNCHER_CLOCK_H

#include <stdint.h>

#define LAUNCHER_CLOCK_WINDOW_S 300
#define LAUNCHER_CLOCK_UNKNOWN  INT64_MIN

/* All times in ns, ours by clock_boot_ns(). Each array holds the current
 * window and the one before. */
struct launcher_clock {
    int64_t begun_ns;
    int64_t behind_ns[2]; /* least difference between arrival here and departure there */
    int64_t trip_ns[2];   /* shortest round trip */
};

void launcher_clock_init(struct launcher_clock *clock, int64_t now_ns);

/* A frame has arrived that left when the launcher's clock showed theirs_ns. */
void launcher_clock_hear(struct launcher_clock *clock, int64_t now_ns, int64_t theirs_ns);

/* The frame also answers a frame that we sent at sent_ns. */
void launcher_clock_trip(struct launcher_clock *clock, int64_t now_ns, int64_t sent_ns);

/* Returns theirs_ns by our clock, or LAUNCHER_CLOCK_UNKNOWN before the first round trip. */
int64_t launcher_clock_ours(const struct launcher_clock *clock, int64_t theirs_ns);

#endif
