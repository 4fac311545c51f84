/* account.h - the way to the API server for a program in a Pod: its service account
 *
 * What client-go calls the in-cluster configuration: the environment says where the server is, and
 * a directory has the token, the certificate of the cluster's authority, and the namespace.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ACCOUNT_H
#define MUSTER_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNT_DIRECTORY "/var/run/secrets/kubernetes.io/serviceaccount"
#define ACCOUNT_TOKEN_S   60 /* the cluster writes another token long before one is too old */

struct account {
    char   *url; /* "https://10.96.0.1:443"; NULL: no account */
    char   *authority; /* file with the certificate */
    char   *directory, *token;
    int64_t read_ns; /* when the token was read; 0: never */
};

/* Are we in a Pod that has one in this directory, and does no kubeconfig say otherwise: neither
 * KUBECONFIG nor ~/.kube/config? */
bool account_is_there(const char *directory);
/* The Pod's; caller frees. */
char *account_namespace(const char *directory);

void account_open(struct account *account, const char *directory);
void account_close(struct account *account); /* also of one that is all zeros */

/* The token, read again each minute. If it cannot be read, that is the one before, or "". */
const char *account_token(struct account *account, int64_t now_ns);

#endif
