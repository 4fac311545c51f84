/* own_limits.h - limits of the agent and its guard that their ranks must not inherit
 *
 * The soft limit of descriptors is raised to the hard one. No core file is ever written, not
 * even by a program that the kernel pipes it to (core(5)): it would have what --env-file keeps
 * secret.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OWN_LIMITS_H
#define MUSTER_AGENT_OWN_LIMITS_H

/* At the start of the process, once. */
void own_limits_set(void);

/* In a child that becomes another program: as it was before. */
void own_limits_undo(void);

#endif
