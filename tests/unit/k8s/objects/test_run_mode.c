/* test_run_mode.c - what Pods run in debug mode, and after a pause
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <stdio.h>

#include "unit/k8s/objects/making.h"

#define WORKER                                                                                    \
    "  worker: {replicas: 2, template: {spec: {initContainers: [{name: get, image: i}],\n"       \
    "    containers: [{name: worker, image: i}]}}}\n"
#define RUN "  config: {localRank: false, run: {python: [train.py, --lr, '1']}}\n"

static void check(const char *spec, size_t number, bool is_resumed, const char *end)
{
    struct job job = { 0 };
    char      *command;
    size_t     length;

    making_spec(&job, spec);
    command = making_command(&job, number, is_resumed);
    length = strlen(command);
    if (length < strlen(end) || strcmp(command + length - strlen(end), end) != 0)
        fail_msg("'%s' does not end with '%s'", command, end);
    free(command);
    job_clear(&job);
}

static bool has_init(const char *spec, bool is_resumed)
{
    struct job job = { 0 };
    json_t    *pod;
    bool       has;

    making_spec(&job, spec);
    pod = making_object(&job, OBJECT_WORKERS + 1, is_resumed);
    has = json_object_get(json_object_get(pod, "spec"), "initContainers") != NULL;
    json_decref(pod);
    job_clear(&job);
    return has;
}

static void test_debug(void **state)
{
    static const char plain[] = WORKER RUN "  runMode: {debug: {enabled: true}}\n";
    static const char other[] =
        WORKER RUN "  runMode: {debug: {enabled: true, replicaSpecs: [{type: worker,"
                   " skipInitContainer: true, command: [sleep, inf]}]}}\n";
    static const char sshd[] =
        WORKER "  config: {}\n  launcher: pod\n  runMode: {debug: {enabled: true,"
               " replicaSpecs: [{command: [/usr/sbin/sshd, -D]}]}}\n";

    (void)state;
    check(plain, OBJECT_WORKERS, false, "muster-init --idle --sshd");
    check(plain, OBJECT_WORKERS + 1, false, "muster-init --sshd");
    check(other, OBJECT_WORKERS, false, "muster-init --sshd -- sleep inf");
    check(other, OBJECT_WORKERS + 1, false, "muster-init --sshd -- sleep inf");
    check(sshd, OBJECT_LAUNCHER, false, "muster-init --idle");
    check(sshd, OBJECT_WORKERS, false, "muster-init --sshd");
    assert_true(has_init(plain, false));
    assert_false(has_init(other, false));
}

/* By options; muster in the launcher finds the workers without any. */
static void test_argv(void **state)
{
    static const char *const argv[] = { "--name=j", "--image=i", "--debug", NULL };
    struct job               job = { 0 };
    json_t                  *launcher, *env, *one;
    char                    *command;
    size_t                   i, found = 0;

    (void)state;
    making_argv(&job, argv);
    command = making_command(&job, OBJECT_LAUNCHER, false);
    assert_string_equal(command, "muster-init --idle");
    launcher = making_object(&job, OBJECT_LAUNCHER, false);
    env = json_object_get(template_container(launcher), "env");
    json_array_foreach(env, i, one) {
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *value = json_string_value(json_object_get(one, "value"));

        found += strcmp(name, "MUSTER_HOSTFILE") == 0 &&
                 strcmp(value, "/etc/muster/hosts/hostfile") == 0;
        found += strcmp(name, "MUSTER_SSH_CONFIG") == 0 &&
                 strcmp(value, "/etc/muster/hosts/ssh_config") == 0;
    }
    assert_int_equal(found, 2);
    free(command);
    json_decref(launcher);
    job_clear(&job);
}

#define PAUSE(specs) WORKER RUN "  runMode: {pause: {resumeSpecs: [{type: worker, " specs "}]}}\n"

static void test_resumed(void **state)
{
    static const struct {
        const char *spec, *before, *after;
    } row[] = {
        { PAUSE("args: [--resume]"), "--no_local_rank train.py --lr 1",
          "--no_local_rank train.py --lr 1 --resume" },
        { PAUSE("command: [python3, other.py], args: [--x]"), "--no_local_rank train.py --lr 1",
          "--replace --no_local_rank --no_python python3 other.py --x" },
        { PAUSE("command: [/opt/deepspeed, --module, m]"), "train.py --lr 1",
          "--replace --module m" },
        { PAUSE("skipInitContainer: true"), "train.py --lr 1", "train.py --lr 1" },
        { WORKER "  config: {customCommand: [a]}\n"
                 "  runMode: {pause: {resumeSpecs: [{command: [muster, b], args: [c]}]}}\n",
          "-- a", "-- muster b c" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof row[0]; i++) {
        check(row[i].spec, OBJECT_WORKERS, false, row[i].before);
        check(row[i].spec, OBJECT_WORKERS, true, row[i].after);
    }
    assert_true(has_init(row[3].spec, false));
    assert_false(has_init(row[3].spec, true));
    assert_true(has_init(row[0].spec, true));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_debug),
        cmocka_unit_test(test_argv),
        cmocka_unit_test(test_resumed),
    };

    return cmocka_run_group_tests_name("run_mode", tests, NULL, NULL);
}
