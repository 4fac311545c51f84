/* test_scheduling.c - jobs with TensorBoard, with groups of Pods, and in queues
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

#define HEAD  "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: j}\n"
#define IMAGE "template: {spec: {containers: [{name: worker, image: i}]}}"

/* TensorBoard needs a volume that it shares with the ranks. */
static void test_board(void **state)
{
    static const struct {
        const char *argv[8], *logdir, *warning;
    } rows[] = {
        { { "--tensorboard", "--data=c:/training_logs", NULL }, "/training_logs", NULL },
        { { "--tensorboard", "--data=c:/data", "--logdir=/data/a", NULL }, "/data/a", NULL },
        { { "--tensorboard", "--data=c:/dat", "--logdir=/data/a", NULL }, "/data/a", "no volume" },
        { { "--tensorboard", "--logdir=/dev/shm", NULL }, "/dev/shm", "no volume" },
        { { "--logdir=/data", NULL }, NULL, "--logdir is ignored" },
        { { "--tensorboard-image=t", NULL }, NULL, "--tensorboard-image is ignored" },
    };
    const char  *argv[12] = { "--name=j", "--image=i" };
    struct error err;
    size_t       i, k;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        for (k = 0; rows[i].argv[k] != NULL; k++)
            argv[2 + k] = rows[i].argv[k];
        argv[2 + k] = "a.py";
        argv[3 + k] = NULL;
        if (read_argv(argv, &job, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(job_has_board(&job), rows[i].logdir != NULL);
        if (rows[i].logdir != NULL)
            assert_string_equal(job.logdir, rows[i].logdir);
        assert_int_equal(job.warnings.count, rows[i].warning != NULL);
        if (rows[i].warning != NULL)
            assert_non_null(strstr(job.warnings.item[0], rows[i].warning));
        job_clear(&job);
    }
}

/* Which scheduler's groups, by options or by T9k's field; and both read again. */
static void test_gangs(void **state)
{
    static const struct {
        const char   *argv[5];
        enum job_gang gang;
        const char   *scheduler, *queue;
        int64_t       priority;
        bool          is_queued;
    } rows[] = {
        { { NULL }, GANG_NONE, NULL, NULL, 0, false },
        { { "--gang", NULL }, GANG_VOLCANO, "volcano", NULL, 0, false },
        { { "--gang", "--queue=q", NULL }, GANG_VOLCANO, "volcano", "q", 0, false },
        { { "--scheduler=volcano", NULL }, GANG_NONE, "volcano", NULL, 0, false },
        { { "--scheduler=volcano", "--queue=q", NULL }, GANG_VOLCANO, "volcano", "q", 0, false },
        { { "--scheduler=s", "--gang", NULL }, GANG_PLUGINS, "s", NULL, 0, false },
        { { "--scheduler=t9k-scheduler", "--queue=q", "--priority=50", NULL },
          GANG_T9K, "t9k-scheduler", "q", 50, false },
        { { "--queue=q", NULL }, GANG_NONE, NULL, "q", 0, true },
    };
    const char  *argv[9] = { "--name=j", "--image=i" };
    struct error err;
    json_t      *document, *scheduler;
    size_t       i, k;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 }, again = { 0 };

        for (k = 0; rows[i].argv[k] != NULL; k++)
            argv[2 + k] = rows[i].argv[k];
        argv[2 + k] = "a.py";
        argv[3 + k] = NULL;
        if (read_argv(argv, &job, &err) < 0)
            fail_msg("%s", err.text);
        document = job_document(&job);
        if (job_from_document(&again, document, &err) < 0)
            fail_msg("%s", err.text);
        json_decref(document);
        job_clear(&job);
        assert_int_equal(again.gang, rows[i].gang);
        assert_int_equal(again.queue_priority, rows[i].priority);
        assert_int_equal(job_is_queued(&again), rows[i].is_queued);
        assert_true((again.queue == NULL) == (rows[i].queue == NULL));
        if (rows[i].queue != NULL)
            assert_string_equal(again.queue, rows[i].queue);
        scheduler =
            json_object_get(json_object_get(again.template, "spec"), "schedulerName");
        assert_true((scheduler == NULL) == (rows[i].scheduler == NULL));
        if (scheduler != NULL)
            assert_string_equal(json_string_value(scheduler), rows[i].scheduler);
        job_clear(&again);
    }
}

static void test_t9k_queue(void **state)
{
    struct job   job = { 0 };
    struct error err;

    (void)state;
    if (read_document(HEAD "spec: {worker: {" IMAGE "}, config: {run: {exec: [a]}}, "
              "scheduler: {t9kScheduler: {queue: q, priority: 60}}}", &job, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(job.gang, GANG_T9K);
    assert_int_equal(job.queue_priority, 60);
    assert_string_equal(job.queue, "q");
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(job.template, "spec"), "schedulerName")),
                        "t9k-scheduler");
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_board),
        cmocka_unit_test(test_gangs),
        cmocka_unit_test(test_t9k_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
