/* test_status.c - phase, conditions and numbers of Pods, for all that can become of a job
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

#include "job/job_argv.h"
#include "life/status.h"
#include "objects/objects.h"

static void make_job(struct job *job)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--workers=2", "a.py", NULL };
    struct job_argv          reader;
    struct strlist           words = { 0 };
    struct error             err;

    job_argv_begin(&reader, job);
    assert_int_equal(args_read(argv, job_argv_rows, true, &reader, &words, &err), 0);
    job_argv_end(&reader, &words);
    strlist_clear(&words);
}

/* Each Pod by a letter, the launcher last: - missing, p pending, r running, s succeeded, f failed,
 * u unknown, e ending. */
static void set_pods(struct observed *world, const char *letters)
{
    struct observed_object *pod;
    size_t                  i;

    for (i = 0; i < 3; i++) {
        pod = &world->object[i < 2 ? OBJECT_WORKERS + i : OBJECT_LAUNCHER];
        *pod = (struct observed_object){ .exists = letters[i] != '-' };
        pod->is_ending = letters[i] == 'e';
        pod->phase = letters[i] == 'p'   ? POD_PENDING
                     : letters[i] == 's' ? POD_SUCCEEDED
                     : letters[i] == 'f' ? POD_FAILED
                     : letters[i] == 'u' ? POD_UNKNOWN
                                         : POD_RUNNING;
    }
}

/* The conditions that are true, by their first letters. */
static const char *true_conditions(const json_t *status)
{
    static char text[8];
    json_t     *list = json_object_get(status, "conditions"), *one;
    size_t      i, length = 0;

    assert_int_equal(json_array_size(list), 5);
    json_array_foreach(list, i, one) {
        assert_true(json_string_length(json_object_get(one, "reason")) > 0);
        if (strcmp(json_string_value(json_object_get(one, "status")), "True") == 0)
            text[length++] = json_string_value(json_object_get(one, "type"))[0];
    }
    text[length] = '\0';
    return text;
}

static void test_table(void **state)
{
    static const struct {
        const char  *pods;
        enum outcome outcome;
        bool         is_paused;
        const char  *phase, *conditions; /* Initialized Running ReplicaFailure Completed Failed */
    } rows[] = {
        { "---", OUTCOME_NONE, false, "Pending", "" },
        { "ppp", OUTCOME_NONE, false, "Pending", "I" },
        { "rrp", OUTCOME_NONE, false, "Pending", "I" },
        { "rrr", OUTCOME_NONE, false, "Running", "IR" },
        { "rfr", OUTCOME_NONE, false, "Pending", "IR" }, /* the second R: ReplicaFailure */
        { "r-r", OUTCOME_NONE, false, "Pending", "" },
        { "rrr", OUTCOME_NONE, true, "Pending", "I" },
        { "eee", OUTCOME_NONE, true, "Pending", "" },
        { "rru", OUTCOME_NONE, false, "Unknown", "I" },
        { "sss", OUTCOME_SUCCEEDED, false, "Succeeded", "IC" },
        { "--s", OUTCOME_SUCCEEDED, false, "Succeeded", "IC" },
        { "-ff", OUTCOME_FAILED, false, "Failed", "IRF" },
        { "ppp", OUTCOME_STUCK, false, "Failed", "IF" },
        { "ppp", OUTCOME_MAX_WAIT, false, "Failed", "IF" },
        { "---", OUTCOME_FOREIGN, false, "Failed", "IF" },
    };
    static const char *const letters = "-efprsu", *const names[] = {
        "creating", "deleted", "failed", "pending", "running", "succeeded", "unknown" };
    struct job      job = { 0 };
    struct observed world;
    struct plan     plan = { 0 };
    json_t         *status;
    size_t          i, k, p;
    int             count;

    (void)state;
    make_job(&job);
    observed_init(&world, &job);
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_pods(&world, rows[i].pods);
        job.is_paused = rows[i].is_paused;
        plan.outcome = rows[i].outcome;
        status = status_make(&job, &world, &plan);
        assert_string_equal(json_string_value(json_object_get(status, "phase")), rows[i].phase);
        assert_string_equal(true_conditions(status), rows[i].conditions);
        for (k = 0; k < sizeof names / sizeof names[0]; k++) {
            for (p = count = 0; p < 3; p++)
                count += rows[i].pods[p] == letters[k];
            assert_int_equal(json_integer_value(json_object_get(
                                 json_object_get(status, "aggregate"), names[k])),
                             count);
        }
        assert_int_equal(json_array_size(json_object_get(status, "tasks")), 2);
        json_decref(status);
    }
    observed_clear(&world);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
