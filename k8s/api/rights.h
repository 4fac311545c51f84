/* rights.h - asks the API server what it lets us do
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/: SelfSubjectAccessReview.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef MUSTER_RIGHTS_H
#define MUSTER_RIGHTS_H

#include <jansson.h>

#include "api/api.h"
#include "err.h"

/* Takes attributes: {"verb":"get", "resource":"nodes" ...}. Returns 1: we may; 0: we may not;
 * -1 with err: no answer, or the cluster cannot tell. */
int rights_ask(struct api *api, json_t *attributes, struct error *err);

#endif
