/* test_held.c - the jobs of a controller: their anchors and custom resources come, change and go
 *
 * All in the namespace "s". A resource or anchor of another uid is another one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/held.h"
#include "job/job_document.h"
#include "log.h"
#include "objects/objects.h"

static struct held_jobs jobs;
static char             last_line[300];

static void line_cb(const char *line, size_t size, void *arg)
{
    (void)arg;
    snprintf(last_line, sizeof last_line, "%.*s", (int)size, line);
}

static int setup(void **state)
{
    (void)state;
    jobs = (struct held_jobs){ 0 };
    last_line[0] = '\0';
    log_sink(line_cb, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    held_clear(&jobs);
    log_sink(NULL, NULL);
    return 0;
}

/* --- documents -------------------------------------------------------------- */

static json_t *metadata(const char *name, const char *uid)
{
    return json_pack("{s:s, s:s, s:s}", "name", name, "namespace", "s", "uid", uid);
}

/* workers 0: it is no job. */
static json_t *resource_of(const char *name, const char *uid, int workers)
{
    json_t *template = json_pack("{s:{s:[{s:s}]}}", "spec", "containers", "image", "i");

    return json_pack("{s:s, s:s, s:o, s:{s:{s:i, s:o}, s:{s:{s:[s]}}}}", "apiVersion",
                     "muster.dev/v1beta1", "kind", "DeepSpeedJob", "metadata",
                     metadata(name, uid), "spec", "worker", "replicas", workers, "template",
                     template, "config", "run", "exec", "a");
}

static void resource(const char *name, const char *uid, int workers)
{
    json_t *document = resource_of(name, uid, workers);

    held_take_resource(&jobs, document, false);
    json_decref(document);
}

static void resource_gone(const char *name, const char *uid)
{
    json_t *document = resource_of(name, uid, 2);

    held_take_resource(&jobs, document, true);
    json_decref(document);
}

/* Of a job with so many workers; owner NULL: of no resource. */
static json_t *anchor_of(const char *name, const char *uid, const char *owner, int workers)
{
    json_t      *asked = resource_of(name, "", workers), *about = metadata(name, uid), *anchor;
    struct job   job = { 0 };
    struct error err;
    char        *text;

    if (job_from_document(&job, asked, &err) < 0)
        fail_msg("%s", err.text);
    json_decref(asked);
    asked = job_document(&job);
    text = json_dumps(asked, JSON_COMPACT);
    if (owner != NULL)
        json_object_set_new(about, "ownerReferences",
                            json_pack("[{s:s, s:s, s:b}]", "kind", "DeepSpeedJob", "uid", owner,
                                      "controller", 1));
    anchor = json_pack("{s:s, s:o, s:{s:s}}", "kind", "ConfigMap", "metadata", about, "data",
                       "job", text);
    free(text);
    json_decref(asked);
    job_clear(&job);
    return anchor;
}

static void anchor(const char *name, const char *uid, const char *owner, int workers)
{
    json_t *document = anchor_of(name, uid, owner, workers);

    held_take_anchor(&jobs, document, false);
    json_decref(document);
}

static void anchor_gone(const char *name, const char *uid, const char *owner)
{
    json_t *document = anchor_of(name, uid, owner, 2);

    held_take_anchor(&jobs, document, true);
    json_decref(document);
}

static void pod(const char *name, const char *job, bool is_gone)
{
    json_t *document = json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}, s:{s:s}}", "kind", "Pod",
                                 "metadata", "name", name, "namespace", "s", "uid", "p", "labels",
                                 LABEL_JOB, job, "status", "phase", "Running");

    held_take_pod(&jobs, document, is_gone);
    json_decref(document);
}

static struct held *the(const char *name)
{
    struct held *held = held_find(&jobs, "s", name);

    if (held == NULL)
        fail_msg("there is no job %s", name);
    return held;
}

static bool is_held(const char *name)
{
    held_drop_unlisted(&jobs);
    return held_find(&jobs, "s", name) != NULL;
}

/* --- anchors ------------------------------------------------------------------ */

static void test_anchor(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 3);
    assert_true(the("a")->is_listed);
    assert_int_equal(the("a")->job.workers, 3);
    assert_string_equal(the("a")->observed.uid, "u1");
    assert_string_equal(the("a")->place.space, "s");
    assert_null(held_find(&jobs, "another", "a"));
    anchor("a", "u1", NULL, 3);
    assert_int_equal(jobs.count, 1);
    held_drop_unlisted(&jobs);
    assert_int_equal(jobs.count, 1);
    anchor_gone("a", "u1", NULL);
    assert_false(is_held("a"));
    assert_int_equal(jobs.count, 0);
}

static void test_not_an_anchor(void **state)
{
    json_t *document = anchor_of("a", "u1", NULL, 2);

    (void)state;
    json_object_set_new(json_object_get(document, "data"), "job", json_string("{}"));
    held_take_anchor(&jobs, document, false);
    assert_int_equal(jobs.count, 0);
    assert_non_null(strstr(last_line, "ConfigMap a is not muster's"));
    json_object_del(json_object_get(document, "metadata"), "uid");
    held_take_anchor(&jobs, document, false);
    json_object_del(json_object_get(document, "metadata"), "namespace");
    held_take_anchor(&jobs, document, false);
    held_take_resource(&jobs, document, false);
    held_take_pod(&jobs, document, false);
    assert_int_equal(jobs.count, 0);
    json_decref(document);
    anchor_gone("b", "u2", NULL); /* of one that was never seen */
    assert_int_equal(jobs.count, 0);
}

/* The watch was broken, and there is a new list. */
static void test_anchors_again(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 2);
    anchor("b", "u2", NULL, 2);
    held_begin_anchors(&jobs);
    anchor("b", "u2", NULL, 2);
    assert_false(is_held("a"));
    assert_true(is_held("b"));
}

/* Deleted, and submitted again under its name, before anybody looked. */
static void test_replaced(void **state)
{
    struct held *before;

    (void)state;
    anchor("a", "u1", NULL, 2);
    before = the("a");
    anchor("a", "u2", NULL, 4);
    assert_true(before->is_replaced);
    assert_ptr_not_equal(the("a"), before);
    assert_int_equal(the("a")->job.workers, 4);
    assert_int_equal(jobs.count, 2); /* the one before is still being worked on */
    anchor_gone("a", "u1", NULL);    /* that is told late */
    assert_true(the("a")->is_listed);
    held_drop_unlisted(&jobs);
    assert_int_equal(jobs.count, 1);
    assert_string_equal(the("a")->observed.uid, "u2");
}

/* What the job is made from is that of the new one. */
static void test_replaced_with_resource(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", "r1", 2);
    anchor("a", "u2", "r1", 2);
    assert_non_null(the("a")->resource);
    assert_true(the("a")->is_claimed);
    held_drop_unlisted(&jobs);
    assert_int_equal(jobs.count, 1);
    assert_string_equal(the("a")->observed.uid, "u2");
}

/* --- resources ------------------------------------------------------------------ */

static void test_resource(void **state)
{
    (void)state;
    resource("a", "r1", 3);
    assert_true(the("a")->is_claimed);
    assert_true(the("a")->is_unread);
    held_settle(the("a"));
    assert_false(the("a")->is_unread);
    assert_int_equal(the("a")->job.workers, 3);
    assert_string_equal(the("a")->observed.resource, "r1");
    assert_null(the("a")->wrong);
    anchor("a", "u1", "r1", 3); /* it was made */
    assert_int_equal(jobs.count, 1);
    assert_false(observed_is_outdated(&the("a")->observed));
    resource("a", "r1", 4);
    held_settle(the("a"));
    assert_int_equal(the("a")->job.workers, 3); /* until the anchor has it */
    assert_true(observed_is_outdated(&the("a")->observed));
}

static void test_resource_goes(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", "r1", 2);
    resource_gone("a", "r2"); /* another one */
    assert_true(the("a")->is_claimed);
    resource_gone("a", "r1");
    assert_false(the("a")->is_claimed);
    assert_true(is_held("a")); /* its objects still exist */
    assert_null(the("a")->resource);
    anchor_gone("a", "u1", "r1");
    assert_false(is_held("a"));
    resource_gone("b", "r3"); /* never seen */
    assert_int_equal(jobs.count, 0);
}

static void test_resource_is_being_deleted(void **state)
{
    json_t *document = resource_of("a", "r1", 2);

    (void)state;
    resource("a", "r1", 2);
    json_object_set_new(json_object_get(document, "metadata"), "deletionTimestamp",
                        json_string("2026-11-22T15:00:00Z"));
    held_take_resource(&jobs, document, false);
    json_decref(document);
    assert_false(is_held("a"));
}

static void test_resources_again(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    resource("b", "r2", 2);
    held_begin_resources(&jobs);
    resource("b", "r2", 2);
    assert_false(is_held("a"));
    assert_true(is_held("b"));
    assert_non_null(the("b")->resource);
}

static void test_wrong(void **state)
{
    (void)state;
    resource("a", "r1", 0);
    held_settle(the("a"));
    assert_non_null(the("a")->wrong);
    resource("a", "r1", 2); /* it was mended */
    held_settle(the("a"));
    assert_null(the("a")->wrong);
    assert_int_equal(the("a")->job.workers, 2);
    anchor("a", "u1", "r1", 2);
    resource("a", "r1", 0); /* a change for the worse: it goes on as it was */
    held_settle(the("a"));
    assert_null(the("a")->wrong);
    assert_int_equal(the("a")->job.workers, 2);
    assert_false(observed_is_outdated(&the("a")->observed));
    assert_non_null(strstr(last_line, "DeepSpeedJob a: "));
}

/* Somebody deletes the anchor: with its resource, or by mistake. */
static void test_doubtful(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", "r1", 2);
    the("a")->observed.attempts.number = 7;
    the("a")->is_known = true;
    the("a")->told.reason = "Running";
    anchor_gone("a", "u1", "r1");
    assert_true(the("a")->is_doubtful);
    assert_true(is_held("a"));
    held_settle(the("a")); /* the resource is there */
    assert_false(the("a")->is_doubtful);
    assert_int_equal(the("a")->observed.attempts.number, 1); /* the job begins again */
    assert_string_equal(the("a")->observed.uid, "");
    assert_false(the("a")->is_known);
    assert_null(the("a")->told.reason); /* and is told anew */
}

static void test_lost(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", "r1", 2);
    anchor_gone("a", "u1", "r1");
    held_lose_resource(&jobs, the("a")); /* it is not there */
    assert_false(is_held("a"));
}

/* --- both of one name --------------------------------------------------------------- */

/* A job was submitted first: the resource waits for its end. */
static void test_rival(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 3);
    resource("a", "r1", 2);
    assert_null(the("a")->resource);
    assert_non_null(the("a")->rival);
    held_settle(the("a"));
    assert_int_equal(the("a")->job.workers, 3);
    anchor_gone("a", "u1", NULL);
    assert_true(is_held("a"));
    assert_int_equal(jobs.count, 1);
    assert_non_null(the("a")->resource);
    assert_null(the("a")->rival);
    held_settle(the("a"));
    assert_int_equal(the("a")->job.workers, 2);
}

static void test_rival_goes(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 3);
    resource("a", "r1", 2);
    resource_gone("a", "r1");
    assert_null(the("a")->rival);
    anchor_gone("a", "u1", NULL);
    assert_false(is_held("a"));
}

static void test_rivals_again(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 3);
    resource("a", "r1", 2);
    held_begin_resources(&jobs);
    assert_null(the("a")->rival);
}

/* The resource was seen, but somebody was faster: the job is theirs, the resource waits. */
static void test_yields(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", NULL, 3);
    held_settle(the("a"));
    assert_null(the("a")->resource);
    assert_non_null(the("a")->rival);
    assert_int_equal(the("a")->job.workers, 3);
    assert_string_equal(the("a")->observed.resource, "");
}

/* The anchor is that of a resource of the same name that was deleted. */
static void test_resource_again(void **state)
{
    (void)state;
    resource("a", "r1", 2);
    held_settle(the("a"));
    anchor("a", "u1", "r1", 2);
    resource_gone("a", "r1");
    resource("a", "r2", 4);
    assert_null(the("a")->resource);
    assert_non_null(the("a")->rival);
    anchor("a", "u2", "r2", 4); /* another controller was faster */
    assert_int_equal(the("a")->job.workers, 4);
    held_drop_unlisted(&jobs);
    assert_int_equal(jobs.count, 1);
}

/* --- Pods, and when to look ------------------------------------------------------------ */

static void test_pods(void **state)
{
    struct observed *observed;

    (void)state;
    anchor("a", "u1", NULL, 2);
    observed = &the("a")->observed;
    the("a")->next_ns = 99;
    the("a")->is_known = true;
    pod("a-worker-1", "a", false);
    assert_true(observed->object[OBJECT_WORKERS + 1].exists);
    assert_int_equal(the("a")->next_ns, 0);
    pod("b-worker-1", "b", false); /* of no job here */
    pod("a-worker-1", "a", true);
    assert_false(observed->object[OBJECT_WORKERS + 1].exists);
    observed->object[OBJECT_WORKERS].exists = observed->object[OBJECT_WORKERS].is_ours = true;
    held_begin_pods(&jobs);
    assert_false(observed->object[OBJECT_WORKERS].exists);
    assert_false(the("a")->is_known);
}

/* After a failure it waits, whatever comes. */
static void test_pause(void **state)
{
    (void)state;
    anchor("a", "u1", NULL, 2);
    the("a")->next_ns = 99;
    the("a")->failures = 1;
    anchor("a", "u1", NULL, 2);
    resource("a", "r1", 2);
    pod("a-worker-1", "a", false);
    assert_int_equal(the("a")->next_ns, 99);
    the("a")->failures = 0;
    anchor("a", "u1", NULL, 2);
    assert_int_equal(the("a")->next_ns, 0);
    the("a")->next_ns = 99;
    resource("a", "r1", 2);
    assert_int_equal(the("a")->next_ns, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_anchor),
        TEST(test_not_an_anchor),
        TEST(test_anchors_again),
        TEST(test_replaced),
        TEST(test_replaced_with_resource),
        TEST(test_resource),
        TEST(test_resource_goes),
        TEST(test_resource_is_being_deleted),
        TEST(test_resources_again),
        TEST(test_wrong),
        TEST(test_doubtful),
        TEST(test_lost),
        TEST(test_rival),
        TEST(test_rival_goes),
        TEST(test_rivals_again),
        TEST(test_yields),
        TEST(test_resource_again),
        TEST(test_pods),
        TEST(test_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
