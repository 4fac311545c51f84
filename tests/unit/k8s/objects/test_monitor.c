/* test_monitor.c - the objects by which Prometheus finds a job's metrics, and what the launcher
 * serves to whom
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>

#include "objects/monitor.h"
#include "unit/k8s/objects/making.h"

#define OPTIONS 6

static void make_job(struct job *job, const char *const *options)
{
    const char *argv[OPTIONS + 5] = { "--name=j", "--image=i", "--workers=2" };
    size_t      count = 3;

    for (; *options != NULL; options++)
        argv[count++] = *options;
    argv[count] = "a.py";
    making_argv(job, argv);
}

/* Which of the three objects there are, and what the launcher's command has. */
static void test_wanted(void **state)
{
    static const struct {
        const char *options[OPTIONS], *objects, *word;
    } rows[] = {
        { { NULL }, "", NULL },
        { { "--dashboard", NULL }, "", " --metrics-listen=127.0.0.1:9464 " },
        { { "--metrics=annotation", NULL }, "p", " --metrics-listen=0.0.0.0:9464 " },
        { { "--metrics=servicemonitor", NULL }, "psm", " --metrics-listen=0.0.0.0:9464 " },
        { { "--dashboard", "--metrics=annotation", "--metrics-port=9000", NULL },
          "p", " --metrics-listen=0.0.0.0:9000 " },
        { { "--dashboard", "--launcher=worker0", NULL }, "", " --metrics-listen=127.0.0.1:9464 " },
    };
    static const size_t numbers[] = { OBJECT_METRICS_POLICY, OBJECT_METRICS_SERVICE,
                                      OBJECT_MONITOR };
    char                text[4], *command;
    size_t              i, k, length;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        make_job(&job, rows[i].options);
        for (k = 0, length = 0; k < 3; k++)
            if (object_is_wanted(&job, numbers[k]))
                text[length++] = "psm"[k];
        text[length] = '\0';
        assert_string_equal(text, rows[i].objects);
        command = making_command(&job, object_launcher(&job), false);
        if (rows[i].word != NULL)
            assert_non_null(strstr(command, rows[i].word));
        else
            assert_null(strstr(command, "--metrics-listen"));
        free(command);
        command = making_command(&job, OBJECT_WORKERS + 1, false);
        assert_null(strstr(command, "--metrics-listen"));
        free(command);
        job_clear(&job);
    }
}

/* The object, but for the metadata that all objects have. */
static char *text_of(const struct job *job, size_t number)
{
    json_t *object = making_object(job, number, false), *metadata;
    char   *text;

    metadata = json_object_get(object, "metadata");
    assert_string_equal(json_string_value(json_object_get(metadata, "name")), "j-metrics");
    json_object_del(metadata, "name");
    json_object_del(metadata, "namespace");
    json_object_del(metadata, "ownerReferences");
    text = json_dumps(object, JSON_SORT_KEYS);
    json_decref(object);
    return text;
}

#define MANAGED "\"app.kubernetes.io/managed-by\": \"muster\", \"muster.dev/job\": \"j\""

static void test_objects(void **state)
{
    static const struct {
        const char *options[OPTIONS];
        size_t      number;
        const char *text;
    } rows[] = {
        { { "--metrics=annotation", NULL }, OBJECT_METRICS_POLICY,
          "{\"apiVersion\": \"networking.k8s.io/v1\", \"kind\": \"NetworkPolicy\", \"metadata\": "
          "{\"labels\": {" MANAGED "}}, \"spec\": {\"ingress\": [{\"ports\": [{\"port\": 9464, "
          "\"protocol\": \"TCP\"}]}], \"podSelector\": {\"matchLabels\": {\"muster.dev/job\": "
          "\"j\", \"muster.dev/role\": \"launcher\"}}, \"policyTypes\": [\"Ingress\"]}}" },
        { { "--metrics=annotation", "--metrics-namespace=mon", "--launcher=worker0", NULL },
          OBJECT_METRICS_POLICY,
          "{\"apiVersion\": \"networking.k8s.io/v1\", \"kind\": \"NetworkPolicy\", \"metadata\": "
          "{\"labels\": {" MANAGED "}}, \"spec\": {\"ingress\": [{\"from\": "
          "[{\"namespaceSelector\": {\"matchLabels\": {\"kubernetes.io/metadata.name\": "
          "\"mon\"}}}], \"ports\": [{\"port\": 9464, \"protocol\": \"TCP\"}]}], \"podSelector\": "
          "{\"matchLabels\": {\"muster.dev/index\": \"0\", \"muster.dev/job\": \"j\", "
          "\"muster.dev/role\": \"worker\"}}, \"policyTypes\": [\"Ingress\"]}}" },
        { { "--metrics=servicemonitor", "--metrics-port=9000", NULL }, OBJECT_METRICS_SERVICE,
          "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"labels\": {" MANAGED
          ", \"muster.dev/role\": \"metrics\"}}, \"spec\": {\"clusterIP\": \"None\", \"ports\": "
          "[{\"name\": \"metrics\", \"port\": 9000, \"targetPort\": 9000}], \"selector\": "
          "{\"muster.dev/job\": \"j\", \"muster.dev/role\": \"launcher\"}}}" },
        { { "--metrics=servicemonitor", "--label=release=prometheus", NULL }, OBJECT_MONITOR,
          "{\"apiVersion\": \"monitoring.coreos.com/v1\", \"kind\": \"ServiceMonitor\", "
          "\"metadata\": {\"labels\": {" MANAGED ", \"release\": \"prometheus\"}}, \"spec\": "
          "{\"endpoints\": [{\"path\": \"/metrics\", \"port\": \"metrics\"}], \"selector\": "
          "{\"matchLabels\": {\"muster.dev/job\": \"j\", \"muster.dev/role\": \"metrics\"}}, "
          "\"targetLabels\": [\"muster.dev/job\"]}}" },
    };
    char  *text;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        make_job(&job, rows[i].options);
        text = text_of(&job, rows[i].number);
        assert_string_equal(text, rows[i].text);
        free(text);
        job_clear(&job);
    }
}

static const char *note_of(const json_t *pod, const char *name)
{
    const json_t *metadata = json_object_get(pod, "metadata");

    return json_string_value(json_object_get(json_object_get(metadata, "annotations"), name));
}

/* Only the launcher has them; and one that the user gives counts. */
static void test_annotations(void **state)
{
    static const char *const options[] = { "--metrics=annotation",
                                           "--annotation=prometheus.io/path=/other", NULL };
    static const char *const monitor[] = { "--metrics=servicemonitor", NULL };
    struct job               job = { 0 };
    json_t                  *launcher, *worker;

    (void)state;
    make_job(&job, options);
    launcher = making_object(&job, OBJECT_LAUNCHER, false);
    worker = making_object(&job, OBJECT_WORKERS, false);
    assert_string_equal(note_of(launcher, "prometheus.io/scrape"), "true");
    assert_string_equal(note_of(launcher, "prometheus.io/port"), "9464");
    assert_string_equal(note_of(launcher, "prometheus.io/path"), "/other");
    assert_null(note_of(worker, "prometheus.io/scrape"));
    json_decref(launcher);
    json_decref(worker);
    job_clear(&job);
    make_job(&job, monitor);
    launcher = making_object(&job, OBJECT_LAUNCHER, false);
    assert_null(note_of(launcher, "prometheus.io/scrape"));
    json_decref(launcher);
    job_clear(&job);
}

/* In debug mode the user starts muster, which finds the place in its environment. */
static void test_debug(void **state)
{
    static const char *const options[] = { "--dashboard", "--debug", NULL };
    struct job               job = { 0 };
    const json_t            *env, *one;
    json_t                  *launcher;
    const char              *place = NULL;
    size_t                   i;

    (void)state;
    make_job(&job, options);
    launcher = making_object(&job, OBJECT_LAUNCHER, false);
    env = json_object_get(template_container(launcher), "env");
    json_array_foreach(env, i, one)
        if (strcmp(json_string_value(json_object_get(one, "name")), "MUSTER_METRICS_LISTEN") == 0)
            place = json_string_value(json_object_get(one, "value"));
    assert_string_equal(place, "127.0.0.1:9464");
    json_decref(launcher);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wanted),      cmocka_unit_test(test_objects),
        cmocka_unit_test(test_annotations), cmocka_unit_test(test_debug),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
