/* test_switch.h - what tests may switch in an agent of their own
 *
 * In the agent that is installed every switch is off, whatever the environment says
 * (test_switch.c). Tests that need one take the agent tests/run/agent/muster-agent, in which
 * the switches are variables of the environment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TEST_SWITCH_H
#define MUSTER_AGENT_TEST_SWITCH_H

/* Layers of containment, "pidns,userns,cgroup,subreaper": those that are not named are off. */
#define TEST_SWITCH_CONTAIN "MUSTER_TEST_CONTAIN"
/* "walk": as with a kernel that has no openat2(). */
#define TEST_SWITCH_OPENAT "MUSTER_TEST_OPENAT"
/* A directory that stands for / when GPUs are counted. */
#define TEST_SWITCH_ROOT "MUSTER_TEST_ROOT"
/* A pattern of files that stand for GPUs. */
#define TEST_SWITCH_GPU_GLOB "MUSTER_TEST_GPU_GLOB"

/* Seconds between two questions to the cloud. */
#define TEST_SWITCH_SPOT_S "MUSTER_TEST_SPOT_S"

/* Seconds of the lease that an agent has before its PLAN. */
#define TEST_SWITCH_FIRST_LEASE_S "MUSTER_TEST_FIRST_LEASE_S"

/* A file in the place of the kernel's boot id: agents with different ones are different
 * machines. */
#define TEST_SWITCH_BOOT_ID "MUSTER_TEST_BOOT_ID"

/* The value; NULL: the switch is off. */
const char *test_switch(const char *name);

#endif
