/* test_switch.h - switches that tests may set in an agent of their own
 *
 * In the installed agent every switch is off, whatever the environment says
 * (test_switch.c). Tests that need one use the agent tests/run/agent/muster-agent, in which
 * the switches are environment variables.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_AGENT_TEST_SWITCH_H
#define MUSTER_AGENT_TEST_SWITCH_H

/* Layers of containment, "pidns,userns,cgroup,subreaper": the missing ones are off. */
#define TEST_SWITCH_CONTAIN "MUSTER_TEST_CONTAIN"
/* "walk": behave as on a kernel without openat2(). */
#define TEST_SWITCH_OPENAT "MUSTER_TEST_OPENAT"
/* A directory that replaces / when GPUs are counted. */
#define TEST_SWITCH_ROOT "MUSTER_TEST_ROOT"
/* A pattern of files that replace GPUs. */
#define TEST_SWITCH_GPU_GLOB "MUSTER_TEST_GPU_GLOB"

/* Seconds of each deadline of the gate (gate/gate.h). */
#define TEST_SWITCH_GATE_S "MUSTER_TEST_GATE_S"

/* Seconds between two requests to the cloud. */
#define TEST_SWITCH_SPOT_S "MUSTER_TEST_SPOT_S"

/* Seconds of an agent's lease before its PLAN. */
#define TEST_SWITCH_FIRST_LEASE_S "MUSTER_TEST_FIRST_LEASE_S"

/* Seconds that sudo may take for each answer. */
#define TEST_SWITCH_SUDO_S "MUSTER_TEST_SUDO_S"

/* A file that replaces the kernel's boot id: agents with different ids
 * are different machines. */
#define TEST_SWITCH_BOOT_ID "MUSTER_TEST_BOOT_ID"

/* Seconds without an answer after which the file system of "ckpt_marker" hangs. */
#define TEST_SWITCH_MARKER_S "MUSTER_TEST_MARKER_S"

/* FILE: the file FILE.N replaces the kernel's log on node N of a run; if it is not there, the log
 * cannot be read. */
#define TEST_SWITCH_KMSG "MUSTER_TEST_KMSG"

/* DIR: the directory DIR.N replaces the system's journal on node N of a run, DIR itself for doctor
 * and bootstrap. */
#define TEST_SWITCH_JOURNAL "MUSTER_TEST_JOURNAL"
/* A program that replaces journalctl. */
#define TEST_SWITCH_JOURNALCTL "MUSTER_TEST_JOURNALCTL"

/* DIR: on node N of a run the directory DIR.N replaces / for samples of network ports, and
 * NVML_NODE is DIR.N/gpu for the library that takes NVML's place. */
#define TEST_SWITCH_SAMPLES "MUSTER_TEST_SAMPLES"
/* EVERY or EVERY,LAST: seconds between two samples, and for the last one of a generation. */
#define TEST_SWITCH_SAMPLES_S "MUSTER_TEST_SAMPLES_S"

/* Returns the value; NULL: the switch is off. */
const char *test_switch(const char *name);

#endif
