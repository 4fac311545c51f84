/* test_announcement.c - what Events tell of a job, each once, and of which object
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

#include "life/event.h"
#include "life/announcement.h"
#include "objects/objects.h"
#include "unit/k8s/life/world.h"

#define NOW 1795359600 /* 2026-11-22T15:00:00Z */

/* "Reason attempt, its message"; "": nothing. */
static const char *told_now(const struct observed *world, const struct job *job)
{
    static char text[1000];
    struct announcement what;
    struct plan         plan;
    bool                is_any;

    plan_make(&plan, job, world, world_now_s);
    is_any = announcement_of(&what, job, world, &plan);
    plan_clear(&plan);
    snprintf(text, sizeof text, "%s%s %d, %s", is_any && what.is_warning ? "! " : "",
             is_any ? what.reason : "", (int)what.attempt, is_any ? what.message : "");
    return is_any ? text : "";
}

static void begin(struct observed *world, struct job *job, const char *backoff)
{
    world_now_s = NOW;
    world_job(job, "2", "pod", "None", backoff);
    observed_init(world, job);
    assert_string_equal(told_now(world, job), ""); /* there is no object that it is about */
    world_create(world, job, OBJECT_ANCHOR);
}

static void end(struct observed *world, struct job *job)
{
    observed_clear(world);
    job_clear(job);
}

static void run(struct observed *world, const struct job *job)
{
    char   log[4000];
    size_t i;

    world_settle(world, job, log);
    world_end(world); /* the launcher of the attempt before */
    world_settle(world, job, log);
    for (i = 0; i < object_pods(job); i++) {
        world->object[object_pod(job, i)].phase = POD_RUNNING;
        world->object[object_pod(job, i)].is_ready = true;
    }
    world_settle(world, job, log);
}

static void test_life(void **state)
{
    struct observed world;
    struct job      job = { 0 };
    char            log[4000];

    (void)state;
    begin(&world, &job, "1");
    assert_string_equal(told_now(&world, &job),
                        "Waiting 1, waiting for 3 of 3 Pods; j-worker-0: not created yet");
    world_settle(&world, &job, log);
    strcpy(world.object[OBJECT_WORKERS].reason, "Unschedulable");
    assert_string_equal(told_now(&world, &job),
                        "Waiting 1, waiting for 3 of 3 Pods; j-worker-0: Unschedulable");
    run(&world, &job);
    world.object[OBJECT_WORKERS].reason[0] = '\0';
    assert_string_equal(told_now(&world, &job), "Running 1, running");
    world_fail_pod(&world.object[OBJECT_LAUNCHER], 7, "Error");
    assert_string_equal(told_now(&world, &job),
                        "! Retry 1, Pod j-launcher: exit status 7, Error; retry 1 of 1");
    run(&world, &job);
    assert_string_equal(told_now(&world, &job),
                        "Running 2, running (attempt 2, 1 of 1 retries used)");
    world_fail_pod(&world.object[OBJECT_LAUNCHER], 7, "Error");
    assert_string_equal(told_now(&world, &job),
                        "! Failed 2, Pod j-launcher: exit status 7, Error");
    world_settle(&world, &job, log);
    assert_string_equal(told_now(&world, &job), ""); /* it was told before */
    end(&world, &job);
}

static void test_success(void **state)
{
    struct observed world;
    struct job      job = { 0 };

    (void)state;
    begin(&world, &job, "0");
    run(&world, &job);
    world.object[OBJECT_LAUNCHER].phase = POD_SUCCEEDED;
    assert_string_equal(told_now(&world, &job), "Succeeded 1, the run has succeeded");
    end(&world, &job);
}

static void test_held_back(void **state)
{
    struct observed world;
    struct job      job = { 0 };

    (void)state;
    begin(&world, &job, "0");
    job.is_paused = true;
    assert_string_equal(told_now(&world, &job), "Paused 1, paused");
    job.is_paused = false;
    world.is_queued = true;
    assert_non_null(strstr(told_now(&world, &job), "Queued 1, waiting in queue"));
    world.object[OBJECT_ANCHOR].is_ours = false; /* nobody writes about what is not ours */
    assert_string_equal(told_now(&world, &job), "");
    world.object[OBJECT_ANCHOR].is_ours = true;
    world.object[OBJECT_ANCHOR].is_ending = true;
    assert_string_equal(told_now(&world, &job), "");
    end(&world, &job);
}

static const char *field(const json_t *document, const char *object, const char *name)
{
    return json_string_value(json_object_get(json_object_get(document, object), name));
}

static void test_event(void **state)
{
    struct announcement what = { .reason = "MaxWaitTimeExceeded",
                                 .is_warning = true,
                                 .attempt = 12 };
    struct observed     world;
    struct job          job = { 0 };
    struct event        event;
    json_t             *document, *change;

    (void)state;
    begin(&world, &job, "0");
    strcpy(world.uid, "u-1");
    memset(what.message, 'a', sizeof what.message - 2);
    what.message[sizeof what.message - 2] = '\xc3'; /* half of a letter */
    document = announcement_event(&what, &job, &world, "space", NOW);
    assert_string_equal(field(document, "metadata", "name"), "j.u-1.12.maxwaittimeexceeded");
    assert_string_equal(field(document, "metadata", "namespace"), "space");
    assert_string_equal(field(document, "involvedObject", "kind"), "ConfigMap");
    assert_string_equal(field(document, "involvedObject", "uid"), "u-1");
    assert_string_equal(field(document, "involvedObject", "namespace"), "space");
    json_decref(document);

    strcpy(what.message, "text");
    strcpy(world.resource, "r-1");
    document = announcement_event(&what, &job, &world, "space", NOW);
    assert_string_equal(field(document, "involvedObject", "kind"), JOB_KIND);
    assert_string_equal(field(document, "involvedObject", "apiVersion"), JOB_API_VERSION);
    assert_string_equal(field(document, "involvedObject", "uid"), "r-1");
    assert_true(event_take(&event, &job, NOW, document)); /* `muster k8s events` has it, too */
    assert_string_equal(event.type, "Warning");
    assert_string_equal(event.message, "text");
    change = announcement_change(document);
    assert_int_equal(json_object_size(change), 3);
    json_decref(change);
    json_decref(document);
    end(&world, &job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_held_back),
        cmocka_unit_test(test_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
