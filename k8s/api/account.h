/* account.h - the way to the API server for a program in a Pod: its service account
 *
 * client-go calls this the in-cluster configuration: the environment has the server's address,
 * and a directory has the token, the certificate of the cluster's CA, and the namespace.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_ACCOUNT_H
#define MUSTER_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNT_DIRECTORY "/var/run/secrets/kubernetes.io/serviceaccount"
#define ACCOUNT_TOKEN_S   60 /* the cluster replaces a token long before it expires */

struct account {
    char   *url; /* "https://10.96.0.1:443"; NULL: no account */
    char   *authority; /* file with the CA's certificate */
    char   *directory, *token;
    int64_t read_ns; /* when the token was read; 0: never */
};

/* Are we in a Pod with a service account in this directory, and is there no kubeconfig, neither
 * KUBECONFIG nor ~/.kube/config? */
bool account_is_there(const char *directory);
/* Returns the Pod's namespace; caller frees. */
char *account_namespace(const char *directory);

void account_open(struct account *account, const char *directory);
void account_close(struct account *account); /* an account of all zeros is fine */

/* Returns the token, which is read again each minute. If that fails, returns the previous
 * token, or "" if there is none. */
const char *account_token(struct account *account, int64_t now_ns);

#endif
