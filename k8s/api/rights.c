/* rights.c - see rights.h
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include "api/rights.h"

#define REVIEWS "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

int rights_ask(struct api *api, json_t *attributes, struct error *err)
{
    json_t *body = json_pack("{sssss{so}}", "apiVersion", "authorization.k8s.io/v1", "kind",
                             "SelfSubjectAccessReview", "spec", "resourceAttributes", attributes);
    json_t *reply = NULL;
    int     status = api_request(api, "POST", REVIEWS, body, &reply, err), allowed;

    allowed = json_is_true(json_object_get(json_object_get(reply, "status"), "allowed"));
    json_decref(reply);
    json_decref(body);
    if (status == 404)
        return err_set(err, "the cluster has no %s", REVIEWS);
    return status < 0 ? -1 : allowed;
}
