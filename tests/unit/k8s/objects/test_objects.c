/* test_objects.c - the objects of a job; what OpenSSH says of its keys, and Pod Security of its
 * Pods
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/job_argv.h"
#include "job/template.h"
#include "objects/objects.h"
#include "xalloc.h"

static void make_job(struct job *job, const char *const *argv)
{
    struct job_argv reader;
    struct strlist  words = { 0 };
    struct error    err;

    job_argv_begin(&reader, job);
    if (args_read(argv, job_argv_rows, true, &reader, &words, &err) < 0)
        fail_msg("%s", err.text);
    job_argv_end(&reader, &words);
    if (job_check(job, &err) < 0)
        fail_msg("%s", err.text);
    strlist_clear(&words);
}

static json_t *make(const struct job *job, size_t number, const struct keys *keys)
{
    struct object_for what = { .space = "space", .uid = "uid", .keys = keys, .attempt = 2 };

    return object_make(job, number, &what);
}

static const char *const usual[] = { "--name=j", "--image=i", "--workers=3", "--gpus=2",
                                     "--",       "a.py",      "$(X) $$",     NULL };

/* ssh-keygen -y reads the private key and prints the public one. */
static void test_keys(void **state)
{
    struct keys  keys;
    struct error err;
    char         line[512] = "", *command;
    int          fd = memfd_create("key", 0);
    FILE        *out;

    (void)state;
    assert_int_equal(keys_make(&keys, 2, &err), 0);
    assert_int_equal(keys.hosts, 2);
    assert_string_not_equal(keys.host[0].public_text, keys.host[1].public_text);
    assert_int_equal(write(fd, keys.host[1].private_text, strlen(keys.host[1].private_text)),
                     strlen(keys.host[1].private_text));
    assert_int_equal(fchmod(fd, 0600), 0);
    command = xasprintf("ssh-keygen -y -f /proc/%d/fd/%d", (int)getpid(), fd);
    out = popen(command, "r");
    assert_non_null(out);
    assert_non_null(fgets(line, sizeof line, out));
    assert_int_equal(pclose(out), 0);
    assert_int_equal(strncmp(line, keys.host[1].public_text, strlen(keys.host[1].public_text)), 0);
    free(command);
    close(fd);
    keys_clear(&keys);
}

static const char *text_at(const json_t *object, const char *a, const char *b)
{
    return json_string_value(json_object_get(json_object_get(object, a), b));
}

/* Who has which key: the launcher none of a host, a worker not the user's. */
static void test_secrets(void **state)
{
    struct job   job = { 0 };
    struct keys  keys;
    struct error err;
    json_t      *launcher, *workers;
    const char  *known;

    (void)state;
    make_job(&job, usual);
    assert_int_equal(keys_make(&keys, 3, &err), 0);
    launcher = make(&job, OBJECT_LAUNCHER_KEY, &keys);
    workers = make(&job, OBJECT_WORKER_KEYS, &keys);
    assert_true(json_is_true(json_object_get(launcher, "immutable")));
    assert_true(json_is_true(json_object_get(workers, "immutable")));
    assert_string_equal(text_at(launcher, "stringData", "id_ed25519"), keys.user.private_text);
    assert_string_equal(text_at(workers, "stringData", "host-2"), keys.host[2].private_text);
    assert_int_equal(json_object_size(json_object_get(launcher, "stringData")), 2);
    assert_int_equal(json_object_size(json_object_get(workers, "stringData")), 4);
    known = text_at(launcher, "stringData", "known_hosts");
    assert_non_null(strstr(known, "[j-worker-2.j.space.svc]:2222 ssh-ed25519 "));
    assert_non_null(strstr(known, keys.host[2].public_text));
    assert_int_equal(
        strncmp(text_at(workers, "stringData", "authorized_keys"), "restrict ssh-ed25519 ", 21),
        0);
    json_decref(launcher);
    json_decref(workers);
    keys_clear(&keys);
    job_clear(&job);
}

/* The rules of Pod Security "restricted" that these Pods could break. */
static void check_restricted(const json_t *pod)
{
    const json_t *spec = json_object_get(pod, "spec"),
                 *safe = json_object_get(spec, "securityContext");
    const json_t *list = json_object_get(spec, "volumes"), *box;
    size_t        i;

    assert_true(json_is_true(json_object_get(safe, "runAsNonRoot")));
    assert_true(json_integer_value(json_object_get(safe, "runAsUser")) > 0);
    assert_string_equal(text_at(safe, "seccompProfile", "type"), "RuntimeDefault");
    assert_null(json_object_get(spec, "hostNetwork"));
    assert_true(json_is_false(json_object_get(spec, "automountServiceAccountToken")));
    for (i = 0; i < json_array_size(list); i++)
        assert_null(json_object_get(json_array_get(list, i), "hostPath"));
    list = json_object_get(spec, "containers");
    for (i = 0; i < json_array_size(list); i++) {
        box = json_object_get(json_array_get(list, i), "securityContext");
        assert_true(json_is_false(json_object_get(box, "allowPrivilegeEscalation")));
        assert_true(json_is_true(json_object_get(box, "readOnlyRootFilesystem")));
        assert_string_equal(json_string_value(json_array_get(
                                json_object_get(json_object_get(box, "capabilities"), "drop"), 0)),
                            "ALL");
    }
}

static bool has_volume(const json_t *pod, const char *name)
{
    const json_t *list = json_object_get(json_object_get(pod, "spec"), "volumes");
    size_t        i;

    for (i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name) == 0)
            return true;
    return false;
}

static void test_pods(void **state)
{
    struct job job = { 0 };
    json_t    *worker, *launcher, *command, *labels;

    (void)state;
    make_job(&job, usual);
    worker = make(&job, OBJECT_WORKERS + 1, NULL);
    launcher = make(&job, object_launcher(&job), NULL);
    check_restricted(worker);
    check_restricted(launcher);
    assert_string_equal(text_at(worker, "metadata", "name"), "j-worker-1");
    assert_string_equal(text_at(worker, "spec", "subdomain"), "j");
    assert_true(has_volume(worker, "muster-host") && !has_volume(worker, "muster-key"));
    assert_true(has_volume(launcher, "muster-key") && !has_volume(launcher, "muster-host"));
    assert_int_equal(template_gpus(worker), 2);
    assert_int_equal(template_gpus(launcher), 0);
    labels = json_object_get(json_object_get(worker, "metadata"), "labels");
    assert_string_equal(json_string_value(json_object_get(labels, LABEL_ATTEMPT)), "2");
    assert_string_equal(json_string_value(json_object_get(labels, LABEL_WORKERS)), "3");
    command = json_object_get(template_container(launcher), "command");
    assert_string_equal(json_string_value(json_array_get(command, json_array_size(command) - 1)),
                        "$$(X) $$$$");
    json_decref(worker);
    json_decref(launcher);
    job_clear(&job);
}

static void test_worker0(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--launcher=worker0", "a.py",
                                        NULL };
    struct job               job = { 0 };
    json_t                  *worker;

    (void)state;
    make_job(&job, argv);
    assert_int_equal(objects_count(&job), OBJECT_WORKERS + 1);
    worker = make(&job, OBJECT_WORKERS, NULL);
    check_restricted(worker);
    assert_true(has_volume(worker, "muster-host") && has_volume(worker, "muster-key"));
    json_decref(worker);
    job_clear(&job);
}

static void test_all(void **state)
{
    struct job job = { 0 };
    json_t    *object, *hosts, *owner;
    size_t     i;

    (void)state;
    make_job(&job, usual);
    for (i = 0; i < objects_count(&job); i++) {
        if (!object_is_wanted(&job, i))
            continue;
        object = make(&job, i, NULL);
        assert_string_equal(text_at(object, "metadata", "name"), object_name(&job, i).text);
        assert_string_equal(
            json_string_value(json_object_get(
                json_object_get(json_object_get(object, "metadata"), "labels"), LABEL_JOB)),
            "j");
        owner = json_object_get(json_object_get(object, "metadata"), "ownerReferences");
        assert_true(i == OBJECT_ANCHOR ? owner == NULL : json_array_size(owner) == 1);
        json_decref(object);
    }
    hosts = make(&job, OBJECT_HOSTS, NULL);
    assert_string_equal(text_at(hosts, "data", "hostfile"),
                        "# generation 2\nj-worker-0.j.space.svc slots=2\n"
                        "j-worker-1.j.space.svc slots=2\nj-worker-2.j.space.svc slots=2\n");
    json_decref(hosts);
    job_clear(&job);
}

/* TensorBoard sees what the ranks write to a claim, and nothing of a Pod of its own. */
static void test_board(void **state)
{
    static const char *const argv[] = { "--name=j",  "--image=i", "--gpus=8", "--data=c:/data",
                                        "--tensorboard", "--logdir=/data/logs",
                                        "--toleration=all", "a.py", NULL };
    struct job    job = { 0 };
    json_t       *board, *service, *pod, *labels, *command;
    const json_t *container, *mounts;

    (void)state;
    make_job(&job, argv);
    board = make(&job, OBJECT_BOARD, NULL);
    service = make(&job, OBJECT_BOARD_SERVICE, NULL);
    assert_string_equal(text_at(board, "metadata", "name"), "j-tensorboard");
    assert_string_equal(text_at(service, "metadata", "name"), "j-tensorboard");
    pod = json_object_get(json_object_get(board, "spec"), "template");
    check_restricted(pod);
    labels = json_object_get(json_object_get(pod, "metadata"), "labels");
    assert_true(json_equal(json_object_get(json_object_get(service, "spec"), "selector"),
                           json_object_get(json_object_get(json_object_get(board, "spec"),
                                                           "selector"), "matchLabels")));
    assert_string_equal(json_string_value(json_object_get(labels, LABEL_ROLE)), "tensorboard");
    assert_int_equal(template_gpus(pod), 0);
    assert_int_equal(json_array_size(json_object_get(json_object_get(pod, "spec"),
                                                     "tolerations")), 1);
    container = template_container(pod);
    command = json_object_get(container, "command");
    assert_string_equal(json_string_value(json_array_get(command, 0)), "tensorboard");
    assert_string_equal(json_string_value(json_array_get(command, 2)), "/data/logs");
    mounts = json_object_get(container, "volumeMounts");
    assert_int_equal(json_array_size(mounts), 2); /* the claim and /tmp, but no /dev/shm */
    assert_string_equal(json_string_value(json_object_get(json_array_get(mounts, 0), "mountPath")),
                        "/data");
    assert_true(json_is_true(json_object_get(json_array_get(mounts, 0), "readOnly")));
    json_decref(board);
    json_decref(service);
    job_clear(&job);
}

/* A path may be mounted once. */
static void test_board_with_a_claim_at_tmp(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--data=c:/tmp", "--tensorboard",
                                        "--logdir=/tmp/logs", "a.py", NULL };
    struct job    job = { 0 };
    json_t       *board;
    const json_t *mounts;

    (void)state;
    make_job(&job, argv);
    board = make(&job, OBJECT_BOARD, NULL);
    mounts = json_object_get(template_container(json_object_get(json_object_get(board, "spec"),
                                                                "template")), "volumeMounts");
    assert_int_equal(json_array_size(mounts), 1);
    assert_false(json_is_true(json_object_get(json_array_get(mounts, 0), "readOnly")));
    json_decref(board);
    job_clear(&job);
}

/* Word for word what the schedulers' own documents have. */
static void test_groups(void **state)
{
    static const struct {
        const char *argv[4], *group, *field, *mark;
    } rows[] = {
        { { "--gang", "--queue=q", "--priority=high", NULL },
          "{\"apiVersion\": \"scheduling.volcano.sh/v1beta1\", \"kind\": \"PodGroup\", \"spec\": "
          "{\"minMember\": 4, \"priorityClassName\": \"high\", \"queue\": \"q\"}}",
          "annotations", "scheduling.k8s.io/group-name" },
        { { "--gang", "--scheduler=s", "--max-wait-time=60", NULL },
          "{\"apiVersion\": \"scheduling.x-k8s.io/v1alpha1\", \"kind\": \"PodGroup\", \"spec\": "
          "{\"minMember\": 4, \"scheduleTimeoutSeconds\": 60}}",
          "labels", "scheduling.x-k8s.io/pod-group" },
        { { "--scheduler=t9k-scheduler", "--queue=q", "--priority=50", NULL },
          "{\"apiVersion\": \"scheduler.tensorstack.dev/v1beta1\", \"kind\": \"PodGroup\", "
          "\"spec\": {\"minMember\": 4, \"priority\": 50, \"queue\": \"q\"}}",
          "labels", "scheduler.tensorstack.dev/group-name" },
    };
    const char *argv[8] = { "--name=j", "--image=i", "--workers=3" };
    json_t     *group, *pod, *metadata;
    char       *text;
    size_t      i, k;

    (void)state;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct job job = { 0 };

        for (k = 0; k < 3; k++)
            argv[3 + k] = rows[i].argv[k];
        argv[6] = "a.py";
        make_job(&job, argv);
        assert_true(object_is_wanted(&job, OBJECT_GROUP));
        group = make(&job, OBJECT_GROUP, NULL);
        assert_string_equal(text_at(group, "metadata", "name"), "j");
        json_object_del(group, "metadata");
        text = json_dumps(group, JSON_SORT_KEYS);
        assert_string_equal(text, rows[i].group);
        free(text);
        json_decref(group);
        for (k = 0; k < object_pods(&job); k++) { /* the launcher, too */
            pod = make(&job, object_pod(&job, k), NULL);
            metadata = json_object_get(pod, "metadata");
            assert_string_equal(text_at(metadata, rows[i].field, rows[i].mark), "j");
            json_decref(pod);
        }
        job_clear(&job);
    }
}

/* kube-queue takes the annotation away. */
static void test_queue(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--queue=q", "a.py", NULL };
    struct job               job = { 0 };
    json_t                  *object;

    (void)state;
    make_job(&job, argv);
    assert_false(object_is_wanted(&job, OBJECT_GROUP));
    object = make(&job, OBJECT_ANCHOR, NULL);
    assert_string_equal(text_at(json_object_get(object, "metadata"), "annotations",
                                "scheduling.x-k8s.io/suspend"),
                        "true");
    json_decref(object);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),    cmocka_unit_test(test_secrets), cmocka_unit_test(test_pods),
        cmocka_unit_test(test_worker0), cmocka_unit_test(test_all),    cmocka_unit_test(test_board),
        cmocka_unit_test(test_board_with_a_claim_at_tmp),
        cmocka_unit_test(test_groups),  cmocka_unit_test(test_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
