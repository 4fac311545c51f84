/* lease.h - how a lease ends: what launcher and agents have to agree on
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEASE_H
#define MUSTER_LEASE_H

/* TERM comes so many seconds before the end of a lease, KILL at its end: 2, or, of a short lease, a
 * quarter of it. */
static inline double lease_term_s(double lease_s)
{
    return lease_s / 4 < 2 ? lease_s / 4 : 2;
}

#endif
