/* test_node_class.c - spot or on-demand, by what a template asks of its nodes
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "job/node_class.h"
#include "unit/k8s/objects/making.h"

#define AFFINITY(terms)                                                                           \
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "                 \
    "{nodeSelectorTerms: [" terms "]}}}"
#define TERM(key, values) "{matchExpressions: [{key: " key ", operator: In, values: [" values "]}]}"
#define SPOT_TERM         TERM("karpenter.sh/capacity-type", "spot")

static void test_table(void **state)
{
    static const struct {
        const char *spec, *class;
    } row[] = {
        { "nodeSelector: {cloud.google.com/gke-spot: 'true'}", "spot" },
        { "nodeSelector: {a: b, eks.amazonaws.com/capacityType: ON_DEMAND}", "on-demand" },
        { "nodeSelector: {kubernetes.azure.com/scalesetpriority: other}", NULL },
        { "nodeSelector: {a: b}", NULL },
        { AFFINITY(SPOT_TERM), "spot" },
        { AFFINITY(SPOT_TERM ", " TERM("cloud.google.com/gke-provisioning", "spot, preemptible")),
          "spot" },
        { AFFINITY(SPOT_TERM ", " TERM("zone", "a")), NULL },
        { AFFINITY(TERM("karpenter.sh/capacity-type", "spot, on-demand")), NULL },
        { AFFINITY("{matchExpressions: [{key: zone, operator: Exists}, "
                   "{key: eks.amazonaws.com/capacityType, operator: In, values: [SPOT]}]}"),
          "spot" },
        { AFFINITY("{matchExpressions: [{key: eks.amazonaws.com/capacityType, operator: NotIn, "
                   "values: [SPOT]}]}"),
          NULL },
        { "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
          "[{weight: 1, preference: " SPOT_TERM "}]}}",
          NULL },
        { "restartPolicy: Never", NULL },
    };
    struct error err;
    json_t      *template;
    const char  *class;
    char         text[1024];
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof row[0]; i++) {
        snprintf(text, sizeof text, "spec: {%s}", row[i].spec);
        template = yaml_parse("f", text, strlen(text), &err);
        if (template == NULL)
            fail_msg("%s", err.text);
        class = node_class(template);
        if ((class == NULL) != (row[i].class == NULL) ||
            (class != NULL && strcmp(class, row[i].class) != 0))
            fail_msg("%s: %s", row[i].spec, class != NULL ? class : "none");
        json_decref(template);
    }
}

static void test_labels(void **state)
{
    json_t *spot = json_pack("{ssss}", "a", "b", "eks.amazonaws.com/capacityType", "SPOT");
    json_t *paid = json_pack("{ss}", "kubernetes.azure.com/scalesetpriority", "regular");
    json_t *none = json_pack("{sssi}", "a", "b", "karpenter.sh/capacity-type", 7);

    (void)state;
    assert_string_equal(node_class_of_labels(spot), "spot");
    assert_string_equal(node_class_of_labels(paid), "on-demand");
    assert_null(node_class_of_labels(none));
    assert_null(node_class_of_labels(NULL));
    json_decref(spot);
    json_decref(paid);
    json_decref(none);
}

/* muster in the launcher gets to know it by the hostfile. */
static void test_hostfile(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i",
                                        "--selector=karpenter.sh/capacity-type=spot", "a.py",
                                        NULL };
    struct job               job = { 0 };
    json_t                  *hosts;

    (void)state;
    making_argv(&job, argv);
    hosts = making_object(&job, OBJECT_HOSTS, false);
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(hosts, "data"), "hostfile")),
        "# generation 1\nj-worker-0.j.space.svc slots=1 class=spot\n");
    json_decref(hosts);
    job_clear(&job);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_hostfile),
    };

    return cmocka_run_group_tests_name("node_class", tests, NULL, NULL);
}
