/* lease.h - the end of a lease, on which launcher and agents must agree
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_LEASE_H
#define MUSTER_LEASE_H

/* Returns how many seconds before the end of a lease the ranks get TERM: 2, or a quarter of a
 * short lease. KILL comes at its end. */
static inline double lease_term_s(double lease_s)
{
    return lease_s / 4 < 2 ? lease_s / 4 : 2;
}

#endif
