/* test_switch.h - what tests may switch in a muster-k8s of their own
 *
 * In the program that is installed every switch is off, whatever the environment says
 * (test_switch.c). Tests that need one take tests/run/kubernetes/muster-k8s, in which the switches
 * are variables of the environment.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_K8S_TEST_SWITCH_H
#define MUSTER_K8S_TEST_SWITCH_H

/* The socket of an API server that asks for no login, in the place of kubectl's proxy. */
#define TEST_SWITCH_SOCKET "MUSTER_TEST_SOCKET"
/* The directory of a service account, in the place of a Pod's. */
#define TEST_SWITCH_ACCOUNT "MUSTER_TEST_ACCOUNT"
/* Be killed after this many actions. */
#define TEST_SWITCH_DIE_AFTER "MUSTER_TEST_DIE_AFTER"

/* The value; NULL: the switch is off. */
const char *test_switch(const char *name);

#endif
