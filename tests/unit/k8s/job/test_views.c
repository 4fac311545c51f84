/* test_views.c - who may see the run of a job: from options and from documents, good ones and a
 * table of bad ones
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

#include "job/views.h"
#include "unit/k8s/job/reading.h"

#define OPTIONS 5
#define HEAD    "apiVersion: muster.dev/v1beta1\nkind: DeepSpeedJob\nmetadata: {name: j}\nspec:\n"
#define BOX     "  worker: {template: {spec: {containers: [{image: i}]}}}\n"
#define RUN     "  config: {run: {exec: [a]}}\n"

/* The option, the fields that it sets, and where muster listens then. */
static void test_options(void **state)
{
    static const struct {
        const char *argv[OPTIONS], *dashboard, *metrics, *place, *warning;
    } rows[] = {
        { { NULL }, "null", "null", NULL, NULL },
        { { "--dashboard", NULL }, "true", "null", "127.0.0.1:9464", NULL },
        { { "--dashboard", "--metrics-port=9000", NULL },
          "true", "{\"port\": 9000}", "127.0.0.1:9000", NULL },
        { { "--metrics=annotation", NULL },
          "null", "{\"via\": \"annotation\"}", "0.0.0.0:9464", NULL },
        { { "--metrics=ServiceMonitor", "--metrics-namespace", "monitoring", "--dashboard", NULL },
          "true", "{\"namespace\": \"monitoring\", \"via\": \"servicemonitor\"}", "0.0.0.0:9464",
          NULL },
        { { "--metrics-port=9000", NULL }, "null", "null", NULL, "--metrics-port is ignored" },
        { { "--dashboard", "--metrics-namespace=monitoring", NULL },
          "true", "null", "127.0.0.1:9464", "--metrics-namespace is ignored without --metrics" },
    };
    const char  *argv[OPTIONS + 4] = { "--name=j", "--image=i" };
    struct error err;
    json_t      *document, *spec, *one;
    char        *text;
    size_t       i, k, count;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 }, again = { 0 };

        for (count = 2, k = 0; rows[i].argv[k] != NULL; k++)
            argv[count++] = rows[i].argv[k];
        argv[count++] = "a.py";
        argv[count] = NULL;
        if (read_argv(argv, &job, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        assert_int_equal(job.warnings.count, rows[i].warning != NULL);
        if (rows[i].warning != NULL)
            assert_non_null(strstr(job.warnings.item[0], rows[i].warning));
        document = job_document(&job);
        spec = json_object_get(document, "spec");
        one = json_object_get(spec, "dashboard");
        text = one != NULL ? json_dumps(one, JSON_ENCODE_ANY) : strdup("null");
        assert_string_equal(text, rows[i].dashboard);
        free(text);
        one = json_object_get(spec, "metrics");
        text = one != NULL ? json_dumps(one, JSON_SORT_KEYS) : strdup("null");
        assert_string_equal(text, rows[i].metrics);
        free(text);
        /* The same, once it was kept in an anchor. */
        assert_int_equal(job_from_document(&again, document, &err), 0);
        text = views_place(&again);
        if (rows[i].place == NULL)
            assert_null(text);
        else
            assert_string_equal(text, rows[i].place);
        free(text);
        json_decref(document);
        job_clear(&job);
        job_clear(&again);
    }
}

static void test_bad_options(void **state)
{
    static const struct {
        const char *argv[10], *says;
    } rows[] = {
        { { "--metrics=none", "a.py", NULL },
          "--metrics: must be annotation or servicemonitor, not 'none'" },
        { { "--metrics=", "a.py", NULL }, "--metrics: must be annotation or servicemonitor" },
        { { "--dashboard", "--metrics-port=0", "a.py", NULL },
          "--metrics-port: '0' is not a number from 1024 to 65535" },
        { { "--dashboard", "--metrics-port=65536", "a.py", NULL }, "--metrics-port: '65536'" },
        { { "--dashboard", "--metrics-port=9464x", "a.py", NULL }, "--metrics-port: '9464x'" },
        { { "--dashboard", "--metrics-port=2222", "a.py", NULL },
          "metrics.port: 2222 is the port of the sshd" },
        { { "--metrics=annotation", "--metrics-namespace=A_b", "a.py", NULL },
          "metrics.namespace: 'A_b' must consist of a-z, 0-9 and '-'" },
        { { "--metrics=annotation", "--metrics-namespace=", "a.py", NULL },
          "metrics.namespace: '' must consist of" },
        { { "--dashboard", "--launcher=worker0", "--hostNetwork", "a.py", NULL },
          "dashboard: with hostNetwork, worker 0 would serve it at its node" },
        { { "--metrics=annotation", "--launcher=worker0", "--hostNetwork", "a.py", NULL },
          "metrics: with hostNetwork" },
        { { "--dashboard", "--", "--metrics-listen=0", "a.py", NULL },
          "dashboard: muster's --metrics-listen is in the command, too" },
        { { "--dashboard", "--", "--metrics_listen", "0", "a.py", NULL },
          "is in the command, too" },
    };
    const char  *argv[12] = { "--name=j", "--image=i" };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        memcpy(argv + 2, rows[i].argv, sizeof rows[i].argv);
        err.text[0] = '\0';
        if (read_argv(argv, &job, &err) == 0)
            fail_msg("accepted: %s", rows[i].says);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s\nand not:\n  %s", err.text, rows[i].says);
        job_clear(&job);
    }
}

/* What looks wrong, and is not: a launcher of its own has not the network of its node, a script may
 * have an option of that name behind "--", and without a page muster's own option counts. */
static void test_harmless(void **state)
{
    static const char *const rows[][8] = {
        { "--name=j", "--image=i", "--dashboard", "--hostNetwork", "a.py", NULL },
        { "--name=j", "--image=i", "--", "--metrics-listen=0", "a.py", NULL },
        { "--name=j", "--image=i", "--dashboard", "a.py", "--", "--metrics-listen=0", NULL },
        { "--name=j", "--image=i", "--dashboard", "--", "a.py", "--metrics-listener=0", NULL },
    };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        if (read_argv(rows[i], &job, &err) < 0)
            fail_msg("row %zu: %s", i, err.text);
        job_clear(&job);
    }
}

static void test_bad_documents(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { HEAD BOX RUN "  dashboard: yes please\n", "spec.dashboard: must be true or false" },
        { HEAD BOX RUN "  dashboard: {port: 1}\n", "spec.dashboard: must be true or false" },
        { HEAD BOX RUN "  metrics: true\n", "spec.metrics: must be an object" },
        { HEAD BOX RUN "  metrics: {via: push}\n",
          "spec.metrics.via: must be one of none, annotation, servicemonitor, not 'push'" },
        { HEAD BOX RUN "  metrics: {via: annotation, port: 80}\n",
          "spec.metrics.port: must be a number from 1024 to 65535" },
        { HEAD BOX RUN "  metrics: {via: annotation, prot: 8080}\n",
          "spec.metrics.prot: there is no such field; did you mean port?" },
        { HEAD BOX RUN "  metrics: {via: annotation, namespace: [a]}\n",
          "spec.metrics.namespace: must be a string" },
        { HEAD BOX "  config: {customCommand: [a]}\n  dashboard: true\n",
          "dashboard: muster serves it, and customCommand runs in muster's place" },
        { HEAD BOX RUN "  dashboard: true\n"
          "  runMode: {pause: {resumeSpecs: [{command: [muster, --metrics-listen=0, a]}]}}\n",
          "--metrics-listen is in the command, too" },
        { HEAD BOX RUN "  dashboard: true\n"
          "  runMode: {pause: {resumeSpecs: [{args: [--metrics-listen, '0']}]}}\n",
          "--metrics-listen is in the command, too" },
        { HEAD "  worker: {template: {spec: {containers: [{name: worker, image: i}, "
          "{name: proxy, image: p, ports: [{containerPort: 80}, {containerPort: 9464}]}]}}}\n" RUN
          "  metrics: {via: annotation}\n",
          "metrics.port: 9464 is a port of the container proxy already; choose another one" },
    };
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        err.text[0] = '\0';
        if (read_document(rows[i].text, &job, &err) == 0)
            fail_msg("accepted: %s", rows[i].says);
        if (strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s\nand not:\n  %s", err.text, rows[i].says);
        job_clear(&job);
    }
}

/* Fields without an effect are dropped with a warning, as options are. */
static void test_useless(void **state)
{
    struct job   job = { 0 };
    struct error err;

    (void)state;
    if (read_document(HEAD BOX RUN "  metrics: {via: none, namespace: a, port: 9000}\n", &job,
                      &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(job.warnings.count, 2);
    assert_non_null(strstr(job.warnings.item[0], "metrics.namespace is ignored"));
    assert_non_null(strstr(job.warnings.item[1], "metrics.port is ignored"));
    assert_false(job_has_page(&job));
    assert_null(job.scrape_space);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),  cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_harmless), cmocka_unit_test(test_bad_documents),
        cmocka_unit_test(test_useless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
