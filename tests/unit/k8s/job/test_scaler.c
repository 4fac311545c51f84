/* test_scaler.c - ET's ScaleIn and ScaleOut: how many workers a job is to have by them
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "job/scaler.h"
#include "yaml/yaml.h"

#define HEAD "apiVersion: kai.alibabacloud.com/v1alpha1\nmetadata: {name: x, namespace: s}\n"
#define IN(spec)  HEAD "kind: ScaleIn\nspec: {selector: {name: j}, " spec "}"
#define OUT(spec) HEAD "kind: ScaleOut\nspec: {selector: {name: j}, " spec "}"

static void test_table(void **state)
{
    static const struct {
        const char *text, *why; /* NULL: it can be done */
        int64_t     workers;
        size_t      warnings;
    } row[] = {
        { IN("toDelete: {count: 1}"), NULL, 3, 0 },
        { IN("toDelete: {podNames: [j-worker-2, j-worker-3]}"), NULL, 2, 0 },
        { OUT("toAdd: {count: 2}, timeout: 300"), NULL, 6, 1 },
        { IN("toDelete: {count: 4}"), "of which at least one must stay", -1, 0 },
        { IN("toDelete: {podNames: [j-worker-0]}"), "cannot remove j-worker-0", -1, 0 },
        { IN("toDelete: {count: 1, podNames: [a]}"), "either count or podNames", 0, 0 },
        { IN("toAdd: {count: 1}"), "spec.toDelete: must have either", 0, 0 },
        { OUT("toAdd: {}"), "spec.toAdd: must have count", 0, 0 },
        { OUT("toAdd: {count: 0}"), "spec.toAdd.count: must be a number from 1", 0, 0 },
        { OUT("toAdd: {count: 1, podNames: [a]}"), "podNames", 0, 0 },
        { OUT("toAdd: {count: 1}, script: a"), "spec.script: is not supported", 0, 0 },
        { HEAD "kind: ScaleOut\nspec: {toAdd: {count: 1}}", "selector.name: is missing", 0, 0 },
        { HEAD "kind: Scale\nspec: {selector: {name: j}, toAdd: {count: 1}}", "ScaleIn or", 0, 0 },
    };
    char          name[] = "j";
    struct job    job = { .name = name, .workers = 4 };
    struct scaler scaler;
    struct error  err;
    json_t       *document;
    int64_t       workers;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof row[0]; i++) {
        scaler = (struct scaler){ 0 };
        document = yaml_parse("f", row[i].text, strlen(row[i].text), &err);
        assert_non_null(document);
        if (scaler_read(&scaler, document, &err) == 0) {
            assert_string_equal(scaler.name, "j");
            assert_string_equal(scaler.space, "s");
            workers = scaler_workers(&scaler, &job, &err);
            assert_int_equal(workers, row[i].workers);
            assert_int_equal(scaler.warnings.count, row[i].warnings);
        } else
            assert_int_equal(0, row[i].workers);
        if (row[i].why != NULL && strstr(err.text, row[i].why) == NULL)
            fail_msg("'%s' is not in '%s'", row[i].why, err.text);
        scaler_clear(&scaler);
        json_decref(document);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };

    return cmocka_run_group_tests_name("scaler", tests, NULL, NULL);
}
