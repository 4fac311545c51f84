/* test_observed.c - documents of the API, as a cluster sends them
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

#include "exit_code.h"
#include "job/job_argv.h"
#include "life/lines.h"
#include "life/plan.h"
#include "objects/objects.h"

static void make_job(struct job *job, const char *workers, const char *launcher,
                     const char *cleanup, const char *backoff)
{
    const char *const argv[] = { "--name=j",   "--image=i",           "--workers", workers,
                                 "--launcher", launcher,              "--clean-up", cleanup,
                                 "--job-backoff-limit", backoff, "a.py", NULL };
    struct job_argv   reader;
    struct strlist    words = { 0 };
    struct error      err;

    job_argv_begin(&reader, job);
    assert_int_equal(args_read(argv, job_argv_rows, true, &reader, &words, &err), 0);
    job_argv_end(&reader, &words);
    strlist_clear(&words);
}

/* Documents as a cluster sends them. */
static void test_observed(void **state)
{
    static const char anchor[] =
        "{\"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"j\", \"uid\": \"u\","
        " \"creationTimestamp\": \"2026-11-22T15:00:00Z\", \"resourceVersion\": \"12\"},"
        " \"data\": {\"job\": \"{}\", \"attempts\": \"{\\\"number\\\": 3, \\\"failures\\\": 2,"
        " \\\"last\\\": \\\"why\\\"}\"}}";
    static const char pod[] = "{\"metadata\": {\"name\": \"j-worker-1\", \"uid\": \"v\", "
                              "\"ownerReferences\": [{\"uid\": \"u\"}], \"labels\": "
                              "{\"muster.dev/attempt\": \"3\", \"muster.dev/workers\": \"2\"}},"
                              " \"spec\": {\"nodeName\": \"n\"}, \"status\": {\"phase\": "
                              "\"Failed\", \"containerStatuses\": ["
                              "{\"name\": \"worker\", \"state\": {\"terminated\": "
                              "{\"exitCode\": 137, \"reason\": \"OOMKilled\","
                              " \"finishedAt\": \"1970-01-01T00:01:00Z\"}}}]}}";
    struct job                    job = { 0 };
    struct observed               world;
    const struct observed_object *seen;
    json_t *one = json_loads(anchor, 0, NULL), *two = json_loads(pod, 0, NULL);

    (void)state;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    observed_take(&world, &job, one, false);
    assert_string_equal(world.uid, "u");
    assert_int_equal(world.created_s, 1795359600);
    assert_string_equal(world.version, "12");
    assert_int_equal(world.attempts.number, 3);
    assert_int_equal(world.attempts.failures, 2);
    assert_string_equal(world.attempts.last, "why");
    assert_false(world.is_job_new);
    observed_take(&world, &job, two, false);
    seen = &world.object[OBJECT_WORKERS + 1];
    assert_true(seen->is_ours);
    assert_int_equal(seen->attempt, 3);
    assert_int_equal(seen->workers, 2);
    assert_int_equal(seen->phase, POD_FAILED);
    assert_int_equal(seen->exit_code, 137);
    assert_int_equal(seen->ended_s, 60);
    assert_string_equal(seen->reason, "OOMKilled");
    assert_string_equal(seen->node, "n");
    observed_take(&world, &job, two, true);
    assert_false(seen->exists);
    json_decref(one);
    json_decref(two);
    observed_clear(&world);
    job_clear(&job);
}

/* The cluster tells why it takes a Pod away, and that is known when it is gone. */
static void test_disruption(void **state)
{
    static const char pod[] =
        "{\"metadata\": {\"name\": \"j-launcher\", \"uid\": \"v\"}, \"status\": {\"phase\": "
        "\"Failed\", \"conditions\": [{\"type\": \"Ready\", \"status\": \"False\"}, {\"type\": "
        "\"DisruptionTarget\", \"status\": \"True\", \"reason\": \"PreemptionByScheduler\", "
        "\"message\": \"a higher priority\"}], \"containerStatuses\": [{\"name\": \"worker\", "
        "\"state\": {\"terminated\": {\"exitCode\": 143, \"reason\": \"Error\"}}}]}}";
    struct job                    job = { 0 };
    struct observed               world;
    const struct observed_object *seen;
    struct plan                   plan;
    json_t                       *document = json_loads(pod, 0, NULL);

    (void)state;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    seen = &world.object[OBJECT_LAUNCHER];
    observed_take(&world, &job, document, false);
    assert_string_equal(seen->reason, "PreemptionByScheduler");
    observed_take(&world, &job, document, true);
    assert_false(seen->exists);
    assert_string_equal(seen->reason, "PreemptionByScheduler");
    assert_string_equal(seen->message, "a higher priority");
    observed_forget_pods(&world);
    world.object[OBJECT_ANCHOR] = (struct observed_object){ .exists = true, .is_ours = true };
    world.attempts.launched = world.attempts.number;
    plan_make(&plan, &job, &world, 1000000);
    assert_int_equal(plan.outcome, OUTCOME_FAILED);
    assert_string_equal(plan.why,
                        "Pod j-launcher was deleted: PreemptionByScheduler: a higher priority");
    plan_clear(&plan);
    json_decref(document);
    observed_clear(&world);
    job_clear(&job);
}

/* What a launcher says of its run (muster-init --report), in words. */
static void test_ending(void **state)
{
    static const struct {
        const char *message, *words;
    } rows[] = {
        { "muster: one\nline\n", "muster: one line" }, /* of the log */
        { "{\"exit_status\": 0, \"first_failure\": null}", "" },
        { "{\"first_failure\": {\"rank\": 1, \"node\": \"j-worker-1.j.space.svc\", "
          "\"text\": \"killed by SIGKILL\"}}", "rank 1 on j-worker-1: killed by SIGKILL" },
        { "{\"first_failure\": {\"node\": \"j-worker-1.j\", \"stage\": \"run\", "
          "\"text\": \"lost\"}}", "j-worker-1: run: lost" },
        { "{\"first_failure\": {\"exit_code\": 124, \"text\": \"it took too long\"}}",
          "it took too long" },
        { "{\"first_failure\": {}}", "{\"first_failure\": {}}" }, /* not ours */
        { "{ not JSON", "{ not JSON" },
        { NULL, "the end" }, /* what there is room for */
    };
    struct job      job = { 0 };
    struct observed world;
    json_t         *pod;
    char            log[600];
    size_t          i;

    (void)state;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    snprintf(log, sizeof log, "%0500d\nthe end\n", 0);
    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        pod = json_pack("{s{ss} s{sss[{sss{s{sissssss}}}]}}", "metadata", "name", "j-launcher",
                        "status", "phase", "Failed", "containerStatuses", "name", "worker",
                        "state", "terminated", "exitCode", 1, "reason", "Error", "message",
                        rows[i].message != NULL ? rows[i].message : log, "finishedAt",
                        "1970-01-01T00:01:00Z");
        observed_take(&world, &job, pod, false);
        assert_string_equal(world.object[OBJECT_LAUNCHER].message, rows[i].words);
        json_decref(pod);
    }
    observed_clear(&world);
    job_clear(&job);
}

/* The job was deleted, and another one of its name submitted. */
static void test_another_job(void **state)
{
    static const char text[] = "{s: s, s: {s: s, s: s, s: s}, s: {s: s}}";
    struct job      job = { 0 };
    struct observed world;
    json_t *ours = json_pack(text, "kind", "ConfigMap", "metadata", "name", "j", "uid", "u",
                             "resourceVersion", "12", "data", "job", "{}");
    json_t *other = json_pack(text, "kind", "ConfigMap", "metadata", "name", "j", "uid", "v",
                              "resourceVersion", "13", "data", "job", "{\"a\": 1}");

    (void)state;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    observed_take(&world, &job, ours, false);
    observed_take(&world, &job, other, true); /* one before ours */
    assert_true(world.object[OBJECT_ANCHOR].exists);
    observed_take(&world, &job, other, false);
    assert_false(world.object[OBJECT_ANCHOR].exists);
    assert_string_equal(world.uid, "u"); /* so that nothing is written into that one */
    assert_string_equal(world.version, "12");
    assert_false(world.is_job_new);
    json_decref(ours);
    json_decref(other);
    observed_clear(&world);
    job_clear(&job);
}

/* The answer to a request is read after the watch has told of what came later. */
static void test_late_answer(void **state)
{
    static const char format[] =
        "{\"kind\": \"Pod\", \"metadata\": {\"name\": \"j-launcher\", \"uid\": \"v\", "
        "\"resourceVersion\": \"%d\"}, \"status\": {\"phase\": \"%s\"}}";
    static const struct {
        int            version;
        const char    *phase;
        bool           is_gone;
        bool           exists;
        enum pod_phase is;
    } row[] = {
        { 99, "Pending", false, true, POD_PENDING },
        { 101, "Failed", false, true, POD_FAILED },
        { 100, "Running", false, true, POD_FAILED },
        { 102, "Failed", true, false, POD_PENDING },
        { 101, "Failed", false, false, POD_PENDING },
        { 103, "Running", false, true, POD_RUNNING }, /* the next of that name */
    };
    struct job      job = { 0 };
    struct observed world;
    char            text[256];
    size_t          i;
    json_t         *pod;

    (void)state;
    make_job(&job, "2", "pod", "Unfinished", "0");
    observed_init(&world, &job);
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        snprintf(text, sizeof text, format, row[i].version, row[i].phase);
        pod = json_loads(text, 0, NULL);
        observed_take(&world, &job, pod, row[i].is_gone);
        json_decref(pod);
        assert_int_equal(world.object[OBJECT_LAUNCHER].exists, row[i].exists);
        assert_int_equal(world.object[OBJECT_LAUNCHER].phase, row[i].is);
    }
    observed_clear(&world);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_observed),
                                        cmocka_unit_test(test_disruption),
                                        cmocka_unit_test(test_ending),
                                        cmocka_unit_test(test_another_job),
                                        cmocka_unit_test(test_late_answer) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
