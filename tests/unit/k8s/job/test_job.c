/* test_job.c - jobs from options and from documents: good ones, and a table of bad ones
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

#include "job/quantity.h"
#include "job/template.h"
#include "unit/k8s/job/reading.h"

#define IMAGE "template: {spec: {containers: [{name: worker, image: i}]}}"
#define HEAD  "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: j}\n"

#define SPEC(worker, config) HEAD "spec: {worker: {" worker "}, config: {" config "}}"
#define RUN(config)          SPEC(IMAGE, config)
#define WORKER(worker)       SPEC(worker, "run: {exec: [a]}")
#define POD(pod)             WORKER("template: {spec: {" pod "}}")
#define BOX(box)             POD("containers: [{image: i, " box "}]")

/* What T9k's manual has, field by field. */
static const char t9k[] =
    "apiVersion: batch.tensorstack.dev/v1beta1\n"
    "kind: DeepSpeedJob\n"
    "metadata:\n"
    "  name: deepspeed-example\n"
    "spec:\n"
    "  worker:\n"
    "    replicas: 4\n"
    "    restartPolicy: Never\n"
    "    template:\n"
    "      spec:\n"
    "        containers:\n"
    "          - name: helper\n"
    "            image: other\n"
    "          - name: worker\n"
    "            image: t9kpublic/torch\n"
    "            resources:\n"
    "              limits: {nvidia.com/gpu: 2, cpu: 4, memory: 8Gi}\n"
    "              requests: {cpu: 2}\n"
    "            volumeMounts:\n"
    "              - {name: dshm, mountPath: /dev/shm}\n"
    "        volumes:\n"
    "          - name: dshm\n"
    "            emptyDir: {medium: Memory, sizeLimit: \"1Gi\"}\n"
    "  config:\n"
    "    slotsPerWorker: 2\n"
    "    localRank: false\n"
    "    autotune: none\n"
    "    otherArgs: [--launcher, pdsh, --enable_each_rank_log=/logs]\n"
    "    run:\n"
    "      python: [resnet.py, \"--deepspeed\", '--epochs=3']\n"
    "  disableCustomEnv: true\n"
    "  elastic: {enabled: false, minReplicas: 1, maxReplicas: 4}\n"
    "  runPolicy: {cleanUpPolicy: All, activeDeadlineSeconds: 600, backoffLimit: 0}\n"
    "  runMode:\n"
    "    debug: {enabled: false, replicaSpecs: [{type: worker}]}\n"
    "    pause: {enabled: true, resumeSpecs: []}\n"
    "status: {phase: Running}\n";

static void test_t9k(void **state)
{
    struct job   job = { 0 };
    struct error err;

    (void)state;
    if (read_document(t9k, &job, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(job.name, "deepspeed-example");
    assert_int_equal(job.workers, 4);
    assert_int_equal(job_slots(&job), 2);
    assert_int_equal(job_gpus(&job), 2);
    assert_int_equal(job.launcher, LAUNCHER_WORKER0);
    assert_int_equal(job.cleanup, CLEANUP_ALL);
    assert_int_equal(job.deadline_s, 600);
    assert_int_equal(job.restart, RESTART_NEVER);
    assert_int_equal(job.ttl_s, -1);
    assert_true(job.is_paused);
    assert_int_equal(job.warnings.count, 0);
    assert_int_equal(job.command.count, 5);
    assert_string_equal(job.command.item[0], "--no_local_rank");
    assert_string_equal(job.command.item[1], "--enable_each_rank_log=/logs");
    assert_string_equal(job.command.item[4], "--epochs=3");
    assert_true(template_mounts(job.template, "/dev/shm"));
    job_clear(&job);
}

/* A job, its document, and that read again are the same. */
static void test_round_trip(void **state)
{
    static const char *const argv[] = {
        "--name=a-b", "--workers=3", "--gpus=8", "--cpu=1.5", "--memory", "4Gi", "--image=i:1",
        "-d", "data:/data:ro", "-e", "A=b=c", "--env-from-secret=T=s/k", "--selector=x=y",
        "--toleration=k=v:NoSchedule,Equal", "--toleration=all", "--label=l=m", "--shm=1Gi",
        "--launcher=worker0", "--deadline=2h", "--max_wait_time=90", "--clean-up=none",
        "--job-backoff-limit=3", "--job-restart-policy=exitcode", "--ttl-after-finished=10m",
        "--device=rdma/hca=1", "--slots=4", "--run-as-root", "--tensorboard",
        "--tensorboard-image=tb:2", "--logdir=/data/logs", "-n", "space", "--", "train.py",
        "--lr=1", "\xc3\xa9", NULL,
    };
    struct job   job = { 0 }, again = { 0 };
    struct error err;
    json_t      *one, *two;
    char        *text;

    (void)state;
    if (read_argv(argv, &job, &err) < 0)
        fail_msg("%s", err.text);
    one = job_document(&job);
    text = json_dumps(one, 0);
    if (read_document(text, &again, &err) < 0) /* JSON is YAML */
        fail_msg("%s", err.text);
    two = job_document(&again);
    assert_true(json_equal(one, two));
    assert_int_equal(again.workers, 3);
    assert_int_equal(again.slots, 4);
    assert_int_equal(again.deadline_s, 7200);
    assert_int_equal(again.max_wait_s, 90);
    assert_int_equal(again.cleanup, CLEANUP_NONE);
    assert_int_equal(again.backoff_limit, 3);
    assert_int_equal(again.restart, RESTART_EXIT_CODE);
    assert_int_equal(again.ttl_s, 600);
    assert_true(again.as_root);
    assert_string_equal(again.command.item[2], "\xc3\xa9");
    json_decref(one);
    json_decref(two);
    free(text);
    job_clear(&job);
    job_clear(&again);
}

/* "labels:" with nothing behind it is no field, so muster's own labels have a place. */
static void test_nulls(void **state)
{
    struct job   job = { 0 };
    struct error err;

    (void)state;
    if (read_document(WORKER("template: {metadata: {labels: }, spec: {securityContext: ~, "
                             "containers: [{image: i, env: }]}}"),
                      &job, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(json_object_size(json_object_get(job.template, "metadata")), 0);
    assert_int_equal(json_object_size(json_object_get(job.template, "spec")), 1);
    job_clear(&job);
}

static void test_old_spellings(void **state)
{
    struct job   job = { 0 };
    struct error err;

    (void)state;
    if (read_document("apiVersion: batch.tensorstack.dev/v1beta1\nkind: DeepspeedJob\n"
                      "metadata: {name: j}\n"
                      "spec: {worker: {replicas: 2, " IMAGE
                      "}, config: {slotPerWorker: 3, run: {python: a.py}}}",
                      &job, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(job.warnings.count, 2);
    assert_int_equal(job.slots, 3);
    assert_string_equal(job.command.item[0], "a.py");
    job_clear(&job);
}

static const struct {
    const char *text, *says;
} bad_documents[] = {
    { "", "f:1: the document is empty" },
    { "a: b: c", "f:1:" },
    { "[1, 2", "f:" },
    { "3", "a job is an object" },
    { "a: 1\n---\nb: 2", "more than one document" },
    { "a: &x 1\nb: *x", "aliases" },
    { "a: !!int 1", "tags" },
    { "a: 1\na: 2", "f:2: duplicate field" },
    { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
      "nested too deeply" },
    { "{}", "apiVersion: must be muster.dev/v1beta1" },
    { "apiVersion: v1\nkind: Pod", "apiVersion: must be" },
    { "apiVersion: muster.dev/v1beta1\nkind: MPIJob",
      "kind: must be DeepSpeedJob, not 'MPIJob'" },
    { HEAD, "spec: is missing" },
    { HEAD "spec: 3", "spec: must be an object, not a number" },
    { HEAD "spec: {}\nextra: 1", "worker.template: is missing" },
    { HEAD "spec: {worker: {repilcas: 2, " IMAGE "}, config: {run: {exec: [a]}}}",
      "spec.worker.repilcas: there is no such field; did you mean replicas?" },
    { WORKER("replicas: 0, " IMAGE), "spec.worker.replicas: must be a number from 1 to 1000" },
    { WORKER("replicas: '2', " IMAGE), "spec.worker.replicas: must be a number" },
    { WORKER("replicas: 1001, " IMAGE), "replicas" },
    { WORKER("restartPolicy: Sometimes, " IMAGE),
      "must be one of OnFailure, Never, ExitCode, Always" },
    { RUN(""), "spec.config.run: is missing" },
    { RUN("run: {}"),
      "spec.config.run: must have exactly one of python, module and exec, not 0" },
    { HEAD "spec: {wroker: {}}", "spec.wroker: there is no such field; did you mean worker?" },
    { RUN("run: {python: [a.py], exec: [b]}"),
      "exactly one of python, module and exec, not 2" },
    { RUN("run: {python: []}"), "spec.config.run.python: must begin with the program to run" },
    { RUN("run: {python: [--hostfile=x, a.py]}"), "must begin with the program to run" },
    { RUN("run: {python: 'a.py --x'}"), "must be a list of strings" },
    { RUN("run: {exec: [a, 3]}"), "spec.config.run.exec: must be a list of strings" },
    { RUN("run: {exec: [a]}, autotune: tune"), "spec.config.autotune: is not supported" },
    { RUN("run: {exec: [a]}, slotsPerWorker: 0"),
      "spec.config.slotsPerWorker: must be a number" },
    { RUN("run: {exec: [a]}, localRank: 1"), "spec.config.localRank: must be true or false" },
    { RUN("run: {exec: [a]}, otherArgs: [--no_local_rank]"),
      "--no_local_rank belongs to config.localRank" },
    { RUN("run: {exec: [a]}, otherArgs: [--autotuning=run]"), "belongs to config.autotune" },
    { RUN("run: {exec: [a]}, otherArgs: [--module]"), "belongs to config.run.module" },
    { RUN("run: {exec: [a]}, otherArgs: [--no_python]"), "belongs to config.run.exec" },
    { RUN("run: {exec: [a]}, otherArgs: [-H, x]"), "belongs to worker.replicas" },
    { RUN("run: {exec: [a]}, otherArgs: [--launcher, slurm]"), "--launcher: write pdsh" },
    { RUN("run: {exec: [a]}, otherArgs: [--launcher]"), "--launcher: write pdsh" },
    { RUN("customCommand: 3"), "customCommand: must be a list of strings" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, runPolicy: {activeDeadlineSeconds: -1}}",
      "spec.runPolicy.activeDeadlineSeconds: must be a number from 1" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, runPolicy: {cleanUpPolicy: Some}}",
      "must be one of Unfinished, None, All, not 'Some'" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, runMode: {debug: {replicaSpecs: [3]}}}",
      "spec.runMode.debug.replicaSpecs: must be a list with one object" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, runMode: {pause: {resumeSpecs: [{type: master}]}}}",
      "spec.runMode.pause.resumeSpecs[0].type: must be one of worker, not 'master'" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, runPolicy: {backoffLimit: -1}}",
      "spec.runPolicy.backoffLimit: must be a number from 0" },
    { HEAD "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}, elastic: {enabled: true}}",
      "spec.elastic.maxReplicas: is missing" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, scheduler: {gang: volcano, t9kScheduler: {queue: q}}}",
      "spec.scheduler.t9kScheduler: cannot be combined with gang" },
    { HEAD "spec: {worker: {" IMAGE
           "}, config: {run: {exec: [a]}}, scheduler: {t9kScheduler: {priority: 101}}}",
      "spec.scheduler.t9kScheduler.priority: must be a number from 0 to 100" },
    { HEAD "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}, scheduler: {gang: kueue}}",
      "spec.scheduler.gang: must be one of none, volcano, scheduler-plugins, t9k" },
    { HEAD "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}, launcher: client}",
      "spec.launcher: must be one of pod, worker0" },
    { WORKER("template: 3"), "worker.template: must be an object with spec" },
    { POD("containers: []"), "containers: must be a list with at least one" },
    { POD("containers: [3]"), "containers[0]: must be an object" },
    { POD("containers: [{name: worker}]"), "image: is missing" },
    { POD("containers: [{image: i}], volumes: 3"), "volumes: must be a list" },
    { POD("containers: [{image: i}], volumes: [{name: muster-x}]"), "must not begin with muster-" },
    { BOX("env: {}"), "containers[0].env: must be a list" },
    { WORKER("template: {metadata: x, spec: {containers: [{image: i}]}}"),
      "worker.template.metadata: must be an object" },
    { WORKER("template: {metadata: {labels: []}, spec: {containers: [{image: i}]}}"),
      "worker.template.metadata.labels: must be an object" },
    { BOX("resources: {limits: {a/gpu: 9223372036854775807, b/gpu: \"9999999999999999999\"}}"),
      "at most 1024 GPUs" },
    { BOX("command: [a]"), "the training command belongs in config.run" },
    { BOX("resources: {limits: {memory: 4GB}}"),
      "resources.limits.memory: '4GB' is not a quantity" },
    { BOX("resources: {limits: {memory: [4]}}"), "must be a quantity" },
    { BOX("resources: {limits: {memory: 1Gi}, requests: {memory: 2Gi}}"),
      "resources.requests.memory: 2Gi is not the limit 1Gi; write 1Gi" },
    { BOX("resources: {limits: {nvidia.com/gpu: \"2\"}, requests: {nvidia.com/gpu: 1}}"),
      "write 2" },
    { BOX("volumeMounts: [{mountPath: /root/.ssh}]"), "/root/.ssh is muster's own" },
    { BOX("volumeMounts: [{mountPath: /t9k/hostfile}]"), "/t9k/hostfile is muster's own" },
    { "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\n"
      "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}}",
      "name: is missing" },
    { "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: a.b}\n"
      "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}}",
      "name: 'a.b' must consist of a-z" },
    { "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: 1}\n"
      "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}}",
      "metadata.name: must be a string" },
    { "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\n"
      "metadata: {name: a123456789b123456789c123456789d123456789e123456789f1234}\n"
      "spec: {worker: {replicas: 11, " IMAGE "}, config: {run: {exec: [a]}}}",
      "is too long by 2" },
};

static void test_bad_documents(void **state)
{
    struct job   job;
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad_documents / sizeof bad_documents[0]; i++) {
        job = (struct job){ 0 };
        err.text[0] = '\0';
        if (read_document(bad_documents[i].text, &job, &err) == 0)
            fail_msg("accepted: %s", bad_documents[i].text);
        if (strstr(err.text, bad_documents[i].says) == NULL)
            fail_msg("%s:\n  %s\nand not:\n  %s", bad_documents[i].text, err.text,
                     bad_documents[i].says);
    }
}

static void test_bad_options(void **state)
{
    static const struct {
        const char *const argv[8];
        const char *says;
    } bad[] = {
        { { NULL }, "name: is missing; write --name" },
        { { "--name=j", "--image=i", NULL }, "there is nothing to run" },
        { { "--name=j", "--", "a.py", NULL }, "image: is missing; write --image" },
        { { "--name", NULL }, "--name: the value is missing" },
        { { "--imag=x", NULL }, "unknown option '--imag'; did you mean --image?" },
        { { "-x", NULL }, "unknown option '-x'" },
        { { "--run-as-root=1", NULL }, "--run-as-root takes no value" },
        { { "--workers=0", NULL }, "--workers: '0' is not a number from 1 to 1000" },
        { { "--gpus=many", NULL }, "--gpus: 'many' is not a number" },
        { { "--memory=4Gib", NULL }, "there is no unit 'Gib'" },
        { { "--cpu=-1", NULL }, "--cpu: '-1' is not a quantity" },
        { { "--data=claim", NULL }, "is not CLAIM:/PATH" },
        { { "--data=claim:/a:rw", NULL }, "may have only :ro after the path" },
        { { "--env=A", NULL }, "--env: 'A' is not NAME=VALUE" },
        { { "--env-from-secret=A=b", NULL }, "is not NAME=SECRET/KEY" },
        { { "--toleration=:x", NULL }, "is not KEY[=VALUE]" },
        { { "--launcher=me", NULL }, "must be pod or worker0" },
        { { "--deadline=soon", NULL }, "--deadline" },
        { { "--clean-up=some", NULL }, "must be Unfinished, None or All" },
        { { "--job-restart-policy=Always", NULL }, "must be Never, OnFailure or ExitCode" },
        { { "--job-backoff-limit=-1", NULL }, "--job-backoff-limit: '-1' is not a number" },
        { { "--ttl-after-finished=x", NULL }, "--ttl-after-finished" },
        { { "--working-dir=a", NULL }, "must begin with /" },
        { { "--image-pull-policy=x", NULL }, "must be Always, IfNotPresent or Never" },
        { { "--queue=", NULL }, "--queue: must be the name of a queue" },
        { { "--name=j", "--image=i", "--tensorboard", "--logdir=logs", "a.py", NULL },
          "logdir: 'logs' must begin with /" },
        { { "--name=j", "--image=i", "--gpus=2", "--slots=3", "a.py", NULL },
          "3 ranks would share 2 GPUs" },
        { { "--name=j", "--image=i", "-d", "c:/run/muster", "a.py", NULL },
          "/run/muster is muster's own" },
        { { "--name=J", "--image=i", "a.py", NULL }, "name: 'J' must consist of" },
        { { "--name=j", "--namespace=A", "--image=i", "a.py", NULL }, "namespace: 'A'" },
    };
    struct job   job;
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        job = (struct job){ 0 };
        err.text[0] = '\0';
        if (read_argv(bad[i].argv, &job, &err) == 0)
            fail_msg("accepted: %s", bad[i].says);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("%s\nand not:\n  %s", err.text, bad[i].says);
        job_clear(&job);
    }
}

static void test_quantities(void **state)
{
    static const char *const bad[] = { "",    "x",   "1x",
                                       ".5",  "-1",  "1 Gi",
                                       "1e3", "1gi", "99999999999999999999" };
    double                   amount;
    struct error             err;
    size_t                   i;

    (void)state;
    assert_int_equal(quantity_parse("1.5Gi", &amount, &err), 0);
    assert_true(amount == 1.5 * (1 << 30));
    assert_int_equal(quantity_parse("250m", &amount, &err), 0);
    assert_true(amount == 0.25);
    for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(quantity_parse(bad[i], &amount, &err), -1);
}

/* As kubectl reads them: 0644 is the mode of a file. */
static void test_yaml_words(void **state)
{
    static const char *const rows[][2] = {
        { "0644", "420" },  { "0x1F", "31" },    { "-10", "-10" },       { "08", "8.0" },
        { "1e3", "1000.0" }, { "0", "0" },       { "True", "true" },     { "FALSE", "false" },
        { "Null", "null" }, { "~", "null" },     { "yes", "\"yes\"" }, { "0x", "\"0x\"" },
        { "e", "\"e\"" },   { "1.2.3", "\"1.2.3\"" }, { "beef", "\"beef\"" },
    };
    struct error err;
    json_t      *value;
    char         line[64], *text;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(line, sizeof line, "[%s]", rows[i][0]);
        value = yaml_parse("f", line, strlen(line), &err);
        assert_non_null(value);
        text = json_dumps(json_array_get(value, 0), JSON_ENCODE_ANY);
        if (strcmp(text, rows[i][1]) != 0)
            fail_msg("%s: %s", rows[i][0], text);
        free(text);
        json_decref(value);
    }
}

/* What is printed as YAML is read as the same. */
static void test_yaml_round_trip(void **state)
{
    json_t *value = json_pack("{sssssssssisfsbsns[]s{}s[ss]ss}", "a", "true", "b", "no", "c", "1e3",
                              "d", "two\nlines\n", "e", 3, "f", 0.5, "g", 1, "h", "i", "j", "k", "",
                              "- x: '#", "0x10", "\xc3\xa9\t\"");
    struct error err;
    json_t      *again;
    char        *text = NULL;
    size_t       size = 0;
    FILE        *out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(yaml_print(value, out), 0);
    fclose(out);
    again = yaml_parse("f", text, size, &err);
    if (again == NULL)
        fail_msg("%s\n%s", err.text, text);
    if (!json_equal(value, again))
        fail_msg("%s", text);
    json_decref(value);
    json_decref(again);
    free(text);
}

static void test_elastic(void **state)
{
    static const char text[] =
        HEAD "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}, elastic: {enabled: true, "
             "minReplicas: 2, maxReplicas: 4, expectedReplicas: 3, recovery: full}}";
    struct job   job = { 0 }, again = { 0 };
    struct error err;
    json_t      *document, *copy;

    (void)state;
    assert_int_equal(read_document(text, &job, &err), 0);
    assert_int_equal(job.workers, 3);
    assert_int_equal(job.least, 2);
    assert_int_equal(job_keys(&job), 4);
    assert_int_equal(job.recovery, RECOVERY_FULL);
    document = job_document(&job);
    assert_int_equal(job_from_document(&again, document, &err), 0);
    copy = job_document(&again);
    assert_true(json_equal(document, copy));
    job.workers = 5;
    assert_int_equal(job_check(&job, &err), -1);
    assert_non_null(strstr(err.text, "not between minReplicas and maxReplicas, 2 and 4"));
    json_decref(document);
    json_decref(copy);
    job_clear(&job);
    job_clear(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_t9k),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_old_spellings),
        cmocka_unit_test(test_bad_documents),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_quantities),
        cmocka_unit_test(test_yaml_words),
        cmocka_unit_test(test_elastic),
        cmocka_unit_test(test_yaml_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
