/* test_operators.c - jobs from the documents of the MPI operator and the ET operator
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/template.h"
#include "unit/k8s/job/reading.h"

#define IMAGE "template: {spec: {containers: [{name: worker, image: i}]}}"

#define MPI_HEAD(version) \
    "apiVersion: kubeflow.org/" version "\nkind: MPIJob\nmetadata: {name: j}\n"
#define MPI_OF(version, more, replica, box)                                                      \
    MPI_HEAD(version)                                                                            \
    "spec: {" more " mpiReplicaSpecs: {Worker: {" IMAGE "}, Launcher: {" replica                 \
    " template: {spec: {containers: [{" box "}]}}}}}"
#define RUN           "command: [mpirun, a]"
#define MPI(more)     MPI_OF("v2beta1", more, "", RUN)
#define MPI_BOX(box)  MPI_OF("v2beta1", "", "", box)
#define MPI_V1(more)  MPI_OF("v1", more, "", RUN)
#define MPI_OLD(more) MPI_OF("v1alpha2", more, "", RUN)
#define RESTART(version, policy) MPI_OF(version, "", "restartPolicy: " policy ",", RUN)

#define ET_HEAD "apiVersion: kai.alibabacloud.com/v1alpha1\nkind: TrainingJob\nmetadata: {name: j"
#define ET(more, worker, box)                                                                    \
    ET_HEAD "}\nspec: {" more " etReplicaSpecs: {worker: {" worker IMAGE                         \
            "}, launcher: {template: {spec: {containers: [{" box "}]}}}}}"

static void parse_good(const char *text, struct job *job)
{
    struct error err;

    *job = (struct job){ 0 };
    if (read_document(text, job, &err) < 0)
        fail_msg("%s:\n%s", err.text, text);
}

static bool warns(const struct job *job, const char *about)
{
    size_t i;

    for (i = 0; i < job->warnings.count; i++)
        if (strstr(job->warnings.item[i], about) != NULL)
            return true;
    return false;
}

static void assert_command(const struct job *job, const char *words)
{
    char   text[512] = "";
    size_t i, size = 0;

    for (i = 0; i < job->command.count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s", i > 0 ? " " : "",
                                 job->command.item[i]);
    assert_string_equal(text, words);
}

/* As in the examples of the MPI operator. */
static void test_v2beta1(void **state)
{
    static const char text[] =
        "apiVersion: kubeflow.org/v2beta1\n"
        "kind: MPIJob\n"
        "metadata: {name: pi, labels: {a: b}}\n"
        "spec:\n"
        "  slotsPerWorker: 2\n"
        "  mpiImplementation: MPICH\n"
        "  sshAuthMountPath: /home/mpiuser/.ssh\n"
        "  runPolicy: {cleanPodPolicy: Running, ttlSecondsAfterFinished: 60, backoffLimit: 2}\n"
        "  mpiReplicaSpecs:\n"
        "    Launcher:\n"
        "      replicas: 1\n"
        "      template:\n"
        "        spec:\n"
        "          containers:\n"
        "          - name: mpi-launcher\n"
        "            image: other\n"
        "            command: [/usr/bin/mpirun]\n"
        "            args: [-n, \"2\", /home/mpiuser/pi]\n"
        "    Worker:\n"
        "      replicas: 2\n"
        "      template:\n"
        "        spec:\n"
        "          containers:\n"
        "          - name: mpi-worker\n"
        "            image: pi\n"
        "            command: [/usr/sbin/sshd]\n"
        "            args: [-De, -f, /home/mpiuser/.sshd_config]\n"
        "            resources: {limits: {cpu: 1, memory: 1Gi}}\n";
    struct job job;

    (void)state;
    parse_good(text, &job);
    assert_string_equal(job.name, "pi");
    assert_int_equal(job.workers, 2);
    assert_int_equal(job_slots(&job), 2);
    assert_int_equal(job.launcher, LAUNCHER_POD);
    assert_int_equal(job.cleanup, CLEANUP_UNFINISHED);
    assert_int_equal(job.backoff_limit, 2);
    assert_int_equal(job.restart, RESTART_ON_FAILURE);
    assert_int_equal(job.ttl_s, 60);
    assert_command(&job, "--np=2 --no_local_rank --no_python /home/mpiuser/pi");
    assert_true(warns(&job, "sshAuthMountPath is not needed"));
    assert_true(warns(&job, "a worker runs muster-init"));
    assert_true(warns(&job, "image other is ignored"));
    assert_true(warns(&job, "metadata: its labels (a) are ignored"));
    assert_int_equal(job.warnings.count, 4);
    job_clear(&job);
}

/* The policies of v1alpha2 are in spec; those of runPolicy win. */
static void test_v1alpha2(void **state)
{
    struct job job;

    (void)state;
    parse_good(MPI_OLD("cleanPodPolicy: All, backoffLimit: 3, activeDeadlineSeconds: 60,"), &job);
    assert_int_equal(job.cleanup, CLEANUP_ALL);
    assert_int_equal(job.backoff_limit, 3);
    assert_int_equal(job.deadline_s, 60);
    assert_int_equal(job.ttl_s, -1);
    assert_int_equal(job.restart, RESTART_ON_FAILURE);
    job_clear(&job);
    parse_good(MPI_OLD("cleanPodPolicy: All, backoffLimit: 3, activeDeadlineSeconds: 60, "
                       "runPolicy: {cleanPodPolicy: None, backoffLimit: 0, "
                       "ttlSecondsAfterFinished: 5},"),
               &job);
    assert_int_equal(job.cleanup, CLEANUP_NONE);
    assert_int_equal(job.backoff_limit, 0);
    assert_int_equal(job.deadline_s, 60);
    assert_int_equal(job.ttl_s, 5);
    job_clear(&job);
}

/* What each version does with a failed launcher if the document does not say so. */
static void test_restarts(void **state)
{
    static const struct {
        const char      *text;
        enum job_restart restart;
        int64_t          retries;
        size_t           warnings;
    } rows[] = {
        { MPI(""), RESTART_ON_FAILURE, 6, 0 },
        { RESTART("v2beta1", "Never"), RESTART_NEVER, 0, 0 },
        { MPI_V1(""), RESTART_NEVER, 0, 0 },
        { RESTART("v1", "OnFailure"), RESTART_ON_FAILURE, 6, 0 },
        { RESTART("v1", "ExitCode"), RESTART_EXIT_CODE, 6, 0 },
        { RESTART("v1", "Always"), RESTART_ON_FAILURE, 6, 1 },
        { MPI_OLD(""), RESTART_ON_FAILURE, 6, 0 },
        { RESTART("v1alpha2", "Never"), RESTART_NEVER, 0, 0 },
        { RESTART("v1alpha2", "ExitCode"), RESTART_ON_FAILURE, 6, 1 },
        { ET("", "", RUN), RESTART_NEVER, 0, 0 },
        { ET("restartPolicy: OnFailure,", "", RUN), RESTART_ON_FAILURE, 6, 0 },
        { ET("restartPolicy: OnFailure, backoffLimit: 2,", "", RUN), RESTART_ON_FAILURE, 2, 0 },
    };
    struct job job;
    size_t     i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parse_good(rows[i].text, &job);
        if (job.restart != rows[i].restart || job.backoff_limit != rows[i].retries ||
            job.warnings.count != rows[i].warnings)
            fail_msg("%d, %d retries, %zu warnings:\n%s", (int)job.restart, (int)job.backoff_limit,
                     job.warnings.count, rows[i].text);
        job_clear(&job);
    }
}

/* mainContainer names the container of the ranks, wherever it is in the list. */
static void test_main_container(void **state)
{
    struct job job;

    (void)state;
    parse_good("apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: j}\nspec: "
               "{mainContainer: mpi, mpiReplicaSpecs: {Worker: {template: {spec: {containers: "
               "[{name: side, image: s}, {name: mpi, image: i}]}}}, Launcher: {template: {spec: "
               "{containers: [{name: side, image: s, command: [proxy]}, {name: mpi, image: i, "
               "command: [mpirun, a]}]}}}}}",
               &job);
    assert_string_equal(
        json_string_value(json_object_get(template_container(job.template), "image")), "i");
    assert_int_equal(
        json_array_size(json_object_get(json_object_get(job.template, "spec"), "containers")), 2);
    assert_command(&job, "--no_local_rank --no_python a");
    assert_int_equal(job.warnings.count, 0);
    job_clear(&job);
}

/* What the launcher had and the workers had not. */
static void test_launcher(void **state)
{
    static const char text[] =
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: j}\n"
        "spec:\n"
        "  mpiReplicaSpecs:\n"
        "    Worker:\n"
        "      template:\n"
        "        spec:\n"
        "          nodeSelector: {a: b}\n"
        "          volumes: [{name: data, emptyDir: {}}]\n"
        "          containers: [{name: w, image: i, env: [{name: OF_BOTH, value: '1'}, "
        "{name: SAME, value: '1'}], workingDir: /there}]\n"
        "    Launcher:\n"
        "      template:\n"
        "        spec:\n"
        "          serviceAccountName: s\n"
        "          nodeSelector: {a: b}\n"
        "          containers: [{name: l, image: i, command: [mpirun, a], workingDir: /here, "
        "resources: {limits: {cpu: 1}}, env: [{name: OF_BOTH, value: '2'}, "
        "{name: SAME, value: '1'}, "
        "{name: TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}, "
        "{name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, "
        "{name: NVIDIA_VISIBLE_DEVICES, value: void}]}]\n";
    struct job job;
    json_t    *box, *env;

    (void)state;
    parse_good(text, &job);
    box = template_container(job.template);
    env = json_object_get(box, "env");
    assert_string_equal(json_string_value(json_object_get(box, "workingDir")), "/here");
    assert_int_equal(json_array_size(env), 3);
    assert_non_null(json_object_get(json_array_get(env, 2), "valueFrom"));
    assert_true(warns(&job, "its workingDir /here is that of the workers, too"));
    assert_true(warns(&job, "its env (TOKEN) is given to the workers, too"));
    assert_true(warns(&job, "its env (OF_BOTH, POD, NVIDIA_VISIBLE_DEVICES) is ignored"));
    assert_true(warns(&job, "its fields (serviceAccountName, resources) are ignored"));
    assert_int_equal(job.warnings.count, 4);
    job_clear(&job);
}

/* The workers' template has no field without a value, so this cannot either. */
static void test_nulls(void **state)
{
    struct job job;
    json_t    *env;

    (void)state;
    parse_good(MPI_BOX(RUN ", env: [{name: A, value: b, valueFrom: }]"), &job);
    env = json_object_get(template_container(job.template), "env");
    assert_int_equal(json_object_size(json_array_get(env, 0)), 2);
    job_clear(&job);
}

/* A cd in the launcher's line is where the ranks run. */
static void test_directory(void **state)
{
    struct job job;

    (void)state;
    parse_good(MPI_BOX("workingDir: /a, command: [sh, -c, cd /b && mpirun a]"), &job);
    assert_string_equal(
        json_string_value(json_object_get(template_container(job.template), "workingDir")), "/b");
    assert_int_equal(job.warnings.count, 1);
    job_clear(&job);
}

static const char training[] =
    ET_HEAD ", annotations: {job-supervisor.kube-ai.io/max-wait-time: '90'}}\n"
    "spec:\n"
    "  cleanPodPolicy: All\n"
    "  launcherAttachMode: kubexec\n"
    "  etReplicaSpecs:\n"
    "    launcher:\n"
    "      replicas: 1\n"
    "      template:\n"
    "        spec:\n"
    "          containers:\n"
    "          - name: mnist\n"
    "            image: i\n"
    "            env: [{name: workers, value: '2'}, {name: gpus, value: '2'}]\n"
    "            command: [sh, -c]\n"
    "            args:\n"
    "            - |\n"
    "              horovodrun -np $((${workers}*${gpus})) --min-np 2 --max-np 18 \\\n"
    "                --host-discovery-script /etc/edl/discover_hosts.sh \\\n"
    "                python /examples/elastic.py\n"
    "    worker:\n"
    "      minReplicas: 1\n"
    "      maxReplicas: 9\n"
    "      replicas: 2\n"
    "      restartPolicy: Always\n"
    "      template: {spec: {containers: [{name: mnist, image: i, resources: {limits: "
    "{nvidia.com/gpu: '2'}}}]}}\n"
    "status: {phase: Running}\n";

static void test_training(void **state)
{
    struct job job;

    (void)state;
    parse_good(training, &job);
    assert_int_equal(job.workers, 2);
    assert_int_equal(job.least, 1);
    assert_int_equal(job.most, 9);
    assert_int_equal(job_slots(&job), 2);
    assert_int_equal(job.cleanup, CLEANUP_ALL);
    assert_int_equal(job.max_wait_s, 90);
    assert_int_equal(job.ttl_s, -1);
    assert_int_equal(job.launcher, LAUNCHER_POD);
    assert_false(job.is_paused);
    assert_command(&job, "--no_local_rank --no_python python /examples/elastic.py");
    assert_true(warns(&job, "kubexec is read as ssh"));
    assert_true(warns(&job, "-np 4 is left out: an elastic run"));
    assert_true(warns(&job, "discover_hosts.sh is left out: the hosts are the workers"));
    assert_true(warns(&job, "restartPolicy is not read"));
    assert_true(warns(&job, "its env (workers, gpus) is given to the workers, too"));
    assert_int_equal(job.warnings.count, 5);
    job_clear(&job);
}

/* horovodrun counts ranks, an elastic job workers: each must be full. */
static void test_elastic(void **state)
{
    static const struct {
        const char *text;
        int64_t     least, most;
    } rows[] = {
        { MPI_OF("v1", "slotsPerWorker: 2,", "",
                 "command: [horovodrun, --min-np, '1', --max-np, '7', a]"), 1, 3 },
        { MPI_OF("v1", "slotsPerWorker: 2,", "",
                 "command: [horovodrun, --max-np, '4', -np, '2', a]"), 1, 2 },
        { MPI_OF("v1", "slotsPerWorker: 2,", "", "command: [horovodrun, --min-np, '2', a]"), 1, 1 },
        { ET("", "replicas: 2, maxReplicas: 3, ", RUN), 2, 3 },
        { ET("", "replicas: 2, minReplicas: 1, ", RUN), 1, 2 },
        { ET("", "replicas: 2, ", RUN), 0, 0 },
        /* The workers' own limits win. */
        { ET("", "minReplicas: 1, maxReplicas: 2, ",
             "command: [horovodrun, --min-np, '5', --max-np, '9', a]"), 1, 2 },
    };
    struct job job;
    size_t     i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        parse_good(rows[i].text, &job);
        if (job.least != rows[i].least || job.most != rows[i].most)
            fail_msg("%d to %d workers:\n%s", (int)job.least, (int)job.most, rows[i].text);
        job_clear(&job);
    }
}

static const struct {
    const char *text, *says;
} bad[] = {
    { MPI("runLauncherAsWorker: true,"), "spec.runLauncherAsWorker: is not supported" },
    { MPI("runPolicy: {schedulingPolicy: {}},"),
      "spec.runPolicy.schedulingPolicy: is not supported yet" },
    { MPI("runPolicy: {managedBy: x},"), "managedBy: belongs to another" },
    { MPI("runPolicy: {suspnd: true},"), "did you mean suspend?" },
    { MPI("mpiImplementation: Other,"), "one of OpenMPI, Intel, MPICH" },
    { MPI("slotsPerWorker: 0,"), "slotsPerWorker: must be a number" },
    { MPI("cleanPodPolicy: All,"), "spec.cleanPodPolicy: there is no such field" },
    { MPI_V1("backoffLimit: 1,"), "spec.backoffLimit: there is no such field" },
    { MPI_V1("mpiImplementation: MPICH,"), "there is no such field" },
    { MPI_V1("mainContainer: m,"),
      "Worker.template: has no container m, which mainContainer names" },
    { "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: j}\nspec: {mainContainer: m, "
      "mpiReplicaSpecs: {Worker: {template: {spec: {containers: [{name: worker, image: i}, {name: "
      "m, image: i}]}}}}}",
      "has a container worker, but mainContainer is m" },
    { RESTART("v2beta1", "Always"), "Launcher.restartPolicy: must be OnFailure or Never" },
    { RESTART("v1", "Sometimes"), "must be one of Never, OnFailure, ExitCode, Always" },
    { MPI_BOX("args: []"), "Launcher.template: the command must begin with mpirun" },
    { MPI_BOX("command: [mpirun, 3]"), "must be lists of strings" },
    { MPI_HEAD("v2beta1") "spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: "
                          "[{command: [mpirun, a]}]}}}}}",
      "Worker.template: is missing" },
    { MPI_HEAD("v2beta1") "spec: {mpiReplicaSpecs: {Worker: {" IMAGE "}}}",
      "spec.mpiReplicaSpecs.Launcher.template: is missing" },
    { MPI_HEAD("v2beta1") "spec: {mpiReplicaSpecs: {Worker: {" IMAGE "}, Launcher: {replicas: 2}}}",
      "Launcher.replicas: must be a number from 1 to 1" },
    { MPI_HEAD("v2beta1") "spec: {mpiReplicaSpecs: {Worker: {" IMAGE "}, Launcher: {template: 3}}}",
      "Launcher.template: must have spec.containers" },
    { MPI_HEAD("v2beta1") "spec: {mpiReplicaSpecs: {Worker: {template: {spec: {}}}, Launcher: "
                          "{template: {spec: {containers: [{command: [mpirun, a], env: [{name: A, "
                          "value: b}]}]}}}}}",
      "containers: must be a list with at least one container" },
    { "apiVersion: kubeflow.org/v2beta1\nkind: TFJob", "kind: must be MPIJob" },
    { "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob", "is missing" },
    { MPI_OF("v1alpha1", "", "", RUN), "apiVersion: v1alpha1 has one template for all Pods; "
                                       "write kubeflow.org/v1alpha2, the template as" },
    { MPI_OF("v3", "", "", RUN), "apiVersion: must be one of kubeflow.org/v2beta1, "
                                 "kubeflow.org/v1, kubeflow.org/v1alpha2, not" },
    { MPI_OF("v1", "slotsPerWorker: 4,", "", "command: [horovodrun, --max-np, '3', a]"),
      "Launcher.template: --max-np 3 is less than the 4 ranks of one worker" },

    { "apiVersion: kai.alibabacloud.com/v1alpha1\nkind: MPIJob", "kind: must be TrainingJob" },
    { "apiVersion: kai.alibabacloud.com/v1alpha1\nkind: ScaleOut",
      "kind: ScaleOut changes a job that is there: muster k8s scale -f FILE" },
    { "apiVersion: kai.alibabacloud.com/v2\nkind: TrainingJob",
      "kubeflow.org/v2beta1 or kai.alibabacloud.com/v1alpha1, not 'kai.alibabacloud.com/v2'" },
    { ET("backofLimit: 1,", "", RUN), "did you mean backoffLimit?" },
    { ET("launcherAttachMode: rsh,", "", RUN), "must be one of ssh, kubexec" },
    { ET("restartPolicy: Always,", "", RUN), "must be one of Never, OnFailure" },
    { ET("", "replicas: 4, maxReplicas: 3, ", RUN), "minReplicas must be at least 1 and at most" },
    { ET("", "replicas: 2, minReplicas: 3, maxReplicas: 4, ", RUN), "2 workers are not between" },
    { ET("", "", "command: [sh, -c, bash run.sh]"), "launcher.template: the command must begin" },
    { ET_HEAD ", annotations: {job-supervisor.kube-ai.io/max-wait-time: soon}}\n",
      "metadata.annotations.job-supervisor.kube-ai.io/max-wait-time: 'soon' is not a number" },
};

static void test_bad(void **state)
{
    struct job   job;
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        job = (struct job){ 0 };
        err.text[0] = '\0';
        if (read_document(bad[i].text, &job, &err) == 0)
            fail_msg("accepted: %s", bad[i].text);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s:\n  %s\nand not:\n  %s", bad[i].text, err.text, bad[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2beta1),
        cmocka_unit_test(test_v1alpha2),
        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_main_container),
        cmocka_unit_test(test_launcher),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_directory),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
