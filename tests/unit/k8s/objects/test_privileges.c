/* test_privileges.c - the node's network, IPC and adapters: for workers that ask for them, alone
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "job/privileges.h"
#include "unit/k8s/objects/making.h"

static json_t *spec_of(const struct job *job, size_t number)
{
    json_t *pod = making_object(job, number, false);
    json_t *spec = json_incref(json_object_get(pod, "spec"));

    json_decref(pod);
    return spec;
}

static void test_host(void **state)
{
    static const char *const argv[] = { "--name=j",  "--image=i", "--hostNetwork",
                                        "--hostIPC", "a.py",      NULL };
    struct job               job = { 0 };
    json_t                  *worker, *launcher;

    (void)state;
    making_argv(&job, argv);
    worker = spec_of(&job, OBJECT_WORKERS);
    launcher = spec_of(&job, OBJECT_LAUNCHER);
    assert_true(json_is_true(json_object_get(worker, "hostNetwork")));
    assert_true(json_is_true(json_object_get(worker, "hostIPC")));
    assert_string_equal(json_string_value(json_object_get(worker, "dnsPolicy")),
                        "ClusterFirstWithHostNet");
    assert_null(json_object_get(launcher, "hostNetwork"));
    assert_null(json_object_get(launcher, "hostIPC"));
    privileges_warn(&job);
    assert_int_equal(job.warnings.count, 2);
    assert_non_null(strstr(job.warnings.item[0], "a node can run only one of them"));
    json_decref(worker);
    json_decref(launcher);
    job_clear(&job);
}

static void test_without(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "a.py", NULL };
    struct job               job = { 0 };
    json_t                  *worker;

    (void)state;
    making_argv(&job, argv);
    worker = spec_of(&job, OBJECT_WORKERS);
    assert_null(json_object_get(worker, "hostNetwork"));
    assert_null(json_object_get(worker, "hostIPC"));
    assert_null(json_object_get(worker, "dnsPolicy"));
    privileges_warn(&job);
    assert_int_equal(job.warnings.count, 0);
    json_decref(worker);
    job_clear(&job);
}

/* The adapter, and nothing less safe than IPC_LOCK. */
static void test_rdma(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--rdma", "a.py", NULL };
    static const char        safe[] =
        "{\"allowPrivilegeEscalation\": false, \"readOnlyRootFilesystem\": true, "
        "\"capabilities\": {\"add\": [\"IPC_LOCK\"], \"drop\": [\"ALL\"]}}";
    struct job job = { 0 };
    json_t    *worker, *container, *limits, *wanted = json_loads(safe, 0, NULL);

    (void)state;
    making_argv(&job, argv);
    worker = making_object(&job, OBJECT_WORKERS, false);
    container = template_container(worker);
    limits = json_object_get(json_object_get(container, "resources"), "limits");
    assert_string_equal(json_string_value(json_object_get(limits, "rdma/hca")), "1");
    assert_true(json_equal(json_object_get(container, "securityContext"), wanted));
    privileges_warn(&job);
    assert_int_equal(job.warnings.count, 1);
    assert_non_null(strstr(job.warnings.item[0], "--run-as-root"));
    json_decref(wanted);
    json_decref(worker);
    job_clear(&job);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_rdma),
    };

    return cmocka_run_group_tests_name("privileges", tests, NULL, NULL);
}
