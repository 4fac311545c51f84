/* test_switch.h - switches for tests, in a muster-k8s that only tests use
 *
 * In the installed program every switch is off, whatever the environment says (test_switch.c).
 * Tests use tests/run/kubernetes/muster-k8s, where switches are environment variables.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_K8S_TEST_SWITCH_H
#define MUSTER_K8S_TEST_SWITCH_H

/* The socket of an API server that asks for no login; it replaces kubectl's proxy. */
#define TEST_SWITCH_SOCKET "MUSTER_TEST_SOCKET"
/* The directory of a service account; it replaces a Pod's. */
#define TEST_SWITCH_ACCOUNT "MUSTER_TEST_ACCOUNT"
/* The program kills itself after this many actions. */
#define TEST_SWITCH_DIE_AFTER "MUSTER_TEST_DIE_AFTER"

/* Returns the value; NULL: the switch is off. */
const char *test_switch(const char *name);

#endif
