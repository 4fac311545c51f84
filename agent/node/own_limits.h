/* own_limits.h - limits of the agent and its guard that their ranks must not inherit
 *
 * The soft limit of descriptors is raised to the hard one. Core files are disabled,
 * even those that the kernel pipes to a program (core(5)): they would contain what
 * --env-file keeps secret.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_OWN_LIMITS_H
#define MUSTER_AGENT_OWN_LIMITS_H

/* Call it once, when the process starts. */
void own_limits_set(void);

/* Restores the limits in a child that will execute another program. */
void own_limits_undo(void);

#endif
