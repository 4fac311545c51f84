/* test_plan.c - who runs where, as what, with what environment
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"
#include "plan_fixture.h"

/* The plan of the options for a hostfile of that text. */
static int make(const char *hostfile)
{
    const struct select_rules rules = select_rules_of(&options);

    plan_clear(&plan);
    selection_clear(&selection);
    hostlist_clear(&hosts);
    if (hostfile_parse("hosts", hostfile, strlen(hostfile), &hosts, &err) < 0 ||
        select_slots(&hosts, &rules, &selection, &err) < 0 ||
        find() < 0)
        fail_msg("%s", err.text);
    return plan_make(&plan, &options, &selection, &program, here, &err);
}

static void assert_made(const char *hostfile)
{
    if (make(hostfile) < 0)
        fail_msg("%s", err.text);
}

static void assert_env(const struct strlist *env, const char *name, const char *value)
{
    const char *found = env_get(env, name);

    if (value == NULL) {
        if (found != NULL)
            fail_msg("%s is set", name);
        return;
    }
    if (found == NULL || strcmp(found, value) != 0)
        fail_msg("%s is '%s', not '%s'", name, found != NULL ? found : "(unset)", value);
}

/* At first; a world that loses nodes goes on without the rank that had the input. */
static void input_has_its_rank(void **state)
{
    (void)state;
    options.input_to = 5;
    assert_made("te1 slots=2\nte2 slots=4\n");
    assert_int_equal(plan_check_input(&plan, &options, &err), 0);
    assert_true(plan_rank_has_input(&plan, 5) && !plan_rank_has_input(&plan, 4));
    assert_made("te1 slots=2\n");
    assert_int_equal(plan_check_input(&plan, &options, &err), -1);
    assert_string_equal(err.text, "--stdin 5: no such rank; the last is 1");
    options.input_to = INPUT_TO_ALL;
    assert_made("te1 slots=2\n");
    assert_int_equal(plan_check_input(&plan, &options, &err), 0);
    assert_true(plan_rank_has_input(&plan, 0) && plan_rank_has_input(&plan, 1));
}

static void ranks_follow_the_hosts(void **state)
{
    size_t i;
    int    k, rank = 0;
    static const int modulo[] = { 0, 1, 2, 3, 0, 1 };

    (void)state;
    assert_made("te1 slots=2\nte2 slots=4\n");
    assert_int_equal(plan.world_size, 6);
    assert_int_equal(plan.nodes, 2);
    assert_int_equal(plan.node_count, 2);
    for (i = 0; i < 2; i++) {
        assert_int_equal(plan.node[i].node_rank, i);
        for (k = 0; k < plan.node[i].ranks; k++, rank++) {
            assert_int_equal(plan.node[i].rank[k].rank, rank);
            assert_int_equal(plan.node[i].rank[k].local_rank, modulo[rank]);
            assert_int_equal(plan.node[i].rank[k].slot, modulo[rank]);
        }
    }
    assert_words(&plan.node[1].rank[0].argv, "bin/python3 -u train.py --local_rank=2");

    set("local-rank-by", "index");
    assert_made("te1 slots=2\nte2 slots=4\n");
    for (k = 0; k < 4; k++)
        assert_int_equal(plan.node[1].rank[k].local_rank, k);
}

static void rank_environment(void **state)
{
    static const char *const expected[][2] = {
        { "RANK", "3" },          { "LOCAL_RANK", "1" },       { "WORLD_SIZE", "4" },
        { "LOCAL_WORLD_SIZE", "2" }, { "LOCAL_SIZE", "2" },    { "NODE_RANK", "1" },
        { "GROUP_RANK", "1" },    { "GROUP_WORLD_SIZE", "2" }, { "CROSS_RANK", "1" },
        { "CROSS_SIZE", "2" },    { "MASTER_ADDR", "te1" },    { "MASTER_PORT", "1234" },
        { "CUDA_VISIBLE_DEVICES", "1,3" }, { "TORCHELASTIC_RESTART_COUNT", "0" },
        { "TORCHELASTIC_MAX_RESTARTS", "0" }, { "MUSTER_GENERATION", "0" },
        { "HOROVOD_RANK", "3" }, { "HOROVOD_SIZE", "4" }, { "HOROVOD_LOCAL_RANK", "1" },
        { "HOROVOD_LOCAL_SIZE", "2" }, { "HOROVOD_CROSS_RANK", "1" }, { "HOROVOD_CROSS_SIZE", "2" },
        { "OMPI_COMM_WORLD_RANK", "3" }, { "OMPI_COMM_WORLD_SIZE", "4" },
        { "OMPI_COMM_WORLD_LOCAL_RANK", "1" }, { "OMPI_COMM_WORLD_LOCAL_SIZE", "2" },
        { "OMPI_COMM_WORLD_NODE_RANK", "1" },
    };
    struct strlist env = { 0 };
    size_t         i;

    (void)state;
    set("master_addr", "te1");
    set("master_port", "1234");
    set("include", "te1:0,2@te2:1,3");
    assert_made("te1 slots=4\nte2 slots=4\n");
    plan_rank_env(&plan, 1, 1, &env);
    for (i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_env(&env, expected[i][0], expected[i][1]);
    assert_env(&env, "MUSTER_RUN_ID", plan.run_id);
    assert_env(&env, "MUSTER_HOST", "te2");
    assert_env(&env, "TORCHELASTIC_RUN_ID", plan.run_id);
    assert_int_equal(env.count, 31);
    strlist_clear(&env);

    set("master_addr", "");
    set("master_port", "0");
    assert_made("te1 slots=4\nte2 slots=4\n");
    assert_null(plan.master_addr);
    plan_rank_env(&plan, 0, 0, &env);
    assert_env(&env, "MASTER_ADDR", NULL); /* not known before the nodes answer */
    assert_env(&env, "MASTER_PORT", NULL);
    strlist_clear(&env);
}

/* Not every node has a rank with the same HOROVOD_LOCAL_RANK; and Horovod's local ranks rise with
 * the ranks, unlike DeepSpeed's. */
static void horovod_numbers(void **state)
{
    static const char *const expected[][4] = { /* its own, across: rank and size, LOCAL_RANK */
        { "0", "0", "3", "0" }, { "0", "1", "3", "1" }, { "1", "0", "2", "2" },
        { "2", "0", "1", "0" }, { "0", "2", "3", "0" }, { "1", "1", "2", "1" },
    };
    struct strlist env = { 0 };
    size_t         node, i, rank = 0;

    (void)state;
    assert_made("te1 slots=1\nte2 slots=3\nte3 slots=2\n");
    for (node = 0; node < 3; node++)
        for (i = 0; i < (size_t)plan.node[node].ranks; i++, rank++) {
            plan_rank_env(&plan, node, (int)i, &env);
            assert_env(&env, "HOROVOD_LOCAL_RANK", expected[rank][0]);
            assert_env(&env, "HOROVOD_CROSS_RANK", expected[rank][1]);
            assert_env(&env, "HOROVOD_CROSS_SIZE", expected[rank][2]);
            assert_env(&env, "LOCAL_RANK", expected[rank][3]);
            strlist_clear(&env);
        }
}

static void devices(void **state)
{
    struct strlist env = { 0 };

    (void)state;
    set("one-gpu-per-rank", "yes");
    set("include", "te1:1,3");
    assert_made("te1 slots=4\n");
    plan_rank_env(&plan, 0, 1, &env);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", "3");
    strlist_clear(&env);

    assert_made("te1 slots=4 env:CUDA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c,MIG-d\n");
    plan_rank_env(&plan, 0, 1, &env);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", "MIG-d");
    strlist_clear(&env);
    set("one-gpu-per-rank", "no");
    assert_made("te1 slots=4 env:CUDA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c,MIG-d\n");
    plan_rank_env(&plan, 0, 0, &env);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", "GPU-b,MIG-d");
    strlist_clear(&env);
    assert_error(make("te1 slots=4 env:CUDA_VISIBLE_DEVICES=GPU-a,GPU-b\n"),
                 "te1: slot 3 has no device");
    assert_error(make("te1 slots=4 env:CUDA_VISIBLE_DEVICES=0,1,1\n"), "te1: CUDA_VISIBLE_DEVICES");

    assert_made("te1 slots=4 env:CUDA_VISIBLE_DEVICES=-1\n");
    plan_rank_env(&plan, 0, 0, &env);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", "");
    strlist_clear(&env);

    /* --per-node sees the names behind slots that do not exist, too. */
    set("per-node", "yes");
    set("include", "");
    assert_made("te1 slots=1 env:CUDA_VISIBLE_DEVICES=GPU-a,GPU-b\n");
    plan_rank_env(&plan, 0, 0, &env);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b");
    assert_env(&env, "NPROC_PER_NODE", "2");
    assert_int_equal(plan.node[0].ranks, 1);
    strlist_clear(&env);
    set("per-node", "no");
    set("include", "te1:1,3");

    /* A rank's cores are near its GPU. */
    assert_made("te1 slots=4 env:CUDA_VISIBLE_DEVICES=7,6,5,GPU-d\n");
    assert_int_equal(plan_rank_gpu(&plan.node[0], &plan.node[0].rank[0]), 6);
    assert_int_equal(plan_rank_gpu(&plan.node[0], &plan.node[0].rank[1]), 3);
    assert_made("te1 slots=4\n");
    assert_int_equal(plan_rank_gpu(&plan.node[0], &plan.node[0].rank[1]), 3);
}

static void exec_is_one_a_node(void **state)
{
    struct strlist env = { 0 };

    (void)state;
    options.command = COMMAND_EXEC;
    set_script("no/such-here");
    strlist_add(&options.args, "-L");
    here[1] = (char *)(uintptr_t) "NCCL_DEBUG=INFO";
    assert_made("te1 slots=8\nte2 slots=4\n");
    assert_int_equal(plan.world_size, 2);
    assert_int_equal(plan.node[0].ranks, 1);
    assert_int_equal(plan.node[1].rank[0].rank, 1);
    assert_null(plan.node[0].cwd); /* where the login leaves us, as ssh */
    assert_words(&plan.node[1].rank[0].argv, "no/such-here -L");
    assert_env(&plan.node[0].env, "NCCL_DEBUG", NULL);
    plan_rank_env(&plan, 1, 0, &env);
    assert_env(&env, "RANK", NULL);
    assert_env(&env, "CUDA_VISIBLE_DEVICES", NULL);
    assert_env(&env, "MUSTER_RUN_ID", plan.run_id);
    assert_env(&env, "MUSTER_HOST", plan.node[1].host);
    strlist_clear(&env);
}

static void node_environment(void **state)
{
    char           expected[128];
    struct strlist env = { 0 };

    (void)state;
    here[1] = (char *)(uintptr_t) "NCCL_DEBUG=INFO";
    here[2] = (char *)(uintptr_t) "HF_TOKEN=x";
    set("env", "A=\xff b");
    set("env", "B=1");
    assert_made("te1 slots=1\nte2 slots=1 env:B=2 env:C=3 cwd=/elsewhere iface=ib0 python=/py\n");
    assert_env(&plan.node[0].env, "NCCL_DEBUG", "INFO");
    assert_env(&plan.node[0].env, "HF_TOKEN", NULL);
    assert_env(&plan.node[0].env, "A", "\xff b");
    assert_env(&plan.node[0].env, "B", "1");
    assert_env(&plan.node[1].env, "B", "2"); /* the host's own last */
    assert_env(&plan.node[1].env, "C", "3");
    assert_string_equal(plan.node[0].cwd, folder);
    assert_env(&plan.node[0].env, "PYTHONPATH", folder);
    assert_string_equal(plan.node[1].cwd, "/elsewhere");
    snprintf(expected, sizeof expected, "/elsewhere");
    assert_env(&plan.node[1].env, "PYTHONPATH", expected);
    assert_words(&plan.node[1].rank[0].argv, "/py -u train.py --local_rank=0");

    plan.master_addr = strdup("10.0.0.1");
    plan.master_port = 29501;
    plan_go_env(&plan, 0, &env);
    assert_words(&env, "MASTER_ADDR=10.0.0.1 MASTER_PORT=29501");
    strlist_clear(&env);
    plan_go_env(&plan, 1, &env);
    assert_words(&env, "MASTER_ADDR=10.0.0.1 MASTER_PORT=29501  NCCL_SOCKET_IFNAME==ib0 "
                       "GLOO_SOCKET_IFNAME=ib0");
    strlist_clear(&env);

    set("cwd", "bin");
    set_script("../train.py");
    assert_made("te1 slots=1\n");
    snprintf(expected, sizeof expected, "%s/bin", folder);
    assert_string_equal(plan.node[0].cwd, expected);

    /* A run on this machine alone keeps everything, as DeepSpeed. */
    assert_made("localhost slots=1\n");
    assert_true(plan.node[0].is_local);
    assert_env(&plan.node[0].env, "HF_TOKEN", "x");
}

static void own_variables_are_not_taken(void **state)
{
    (void)state;
    set("env", "RANK=1");
    assert_error(make("te1 slots=1\n"), "--env RANK: muster itself");
    strlist_clear(&options.env);
    set("env", "MASTER_ADDR=te1");
    assert_error(make("te1 slots=1\n"), "--master_addr");
    strlist_clear(&options.env);
    set("env", "CUDA_VISIBLE_DEVICES=1");
    assert_error(make("te1 slots=1\n"), "--include");
    options.command = COMMAND_EXEC;
    assert_made("te1 slots=1\n");
}

static void no_ssh_is_one_node(void **state)
{
    (void)state;
    options.no_ssh = true;
    options.node_rank = 1;
    assert_error(make("te1 slots=2\nte2 slots=2\n"), "--master_addr");
    set("master_addr", "te1");
    assert_made("te1 slots=2\nte2 slots=2\n");
    assert_int_equal(plan.nodes, 1);
    assert_int_equal(plan.node_count, 2);
    assert_int_equal(plan.world_size, 4);
    assert_int_equal(plan.node[0].node_rank, 1);
    assert_int_equal(plan.node[0].rank[0].rank, 2);
    assert_int_equal(plan.master_port, 29500); /* the others must think the same */
    assert_true(plan.node[0].is_local);
    options.node_rank = 2;
    assert_error(make("te1 slots=2\nte2 slots=2\n"), "--node_rank 2: there are 2 nodes");
}

static void which_host_is_here(void **state)
{
    char        name[256], other[300];
    struct host host = { .name = name, .slots = 1 };

    (void)state;
    assert_int_equal(gethostname(name, sizeof name), 0);
    assert_true(plan_host_is_local(&host, &options));
    host.name = other;
    snprintf(other, sizeof other, "%.*s.some.domain", (int)strcspn(name, "."), name);
    if (strchr(name, '.') == NULL)
        assert_true(plan_host_is_local(&host, &options));
    snprintf(other, sizeof other, "%s-2", name);
    assert_false(plan_host_is_local(&host, &options));
    snprintf(other, sizeof other, "LocalHost");
    assert_true(plan_host_is_local(&host, &options));
    host.port = 2222;
    assert_false(plan_host_is_local(&host, &options));
    host.port = 0;
    host.user = other;
    assert_false(plan_host_is_local(&host, &options));
    host.user = NULL;
    host.addr = other;
    assert_false(plan_host_is_local(&host, &options));
    host.addr = NULL;
    options.force_multi = true;
    assert_false(plan_host_is_local(&host, &options));
    options.force_multi = false;
    options.transport = TRANSPORT_SSH;
    assert_false(plan_host_is_local(&host, &options));
    options.transport = TRANSPORT_EXEC;
    host.user = other;
    assert_true(plan_host_is_local(&host, &options));
}

static void pmi_mapping(void **state)
{
    static const char *const cases[][2] = {
        { "te1 slots=4\nte2 slots=4\n", "(vector,(0,2,4))" },
        { "te1 slots=1\n", "(vector,(0,1,1))" },
        { "te1 slots=2\nte2 slots=4\nte3 slots=4\n", "(vector,(0,1,2),(1,2,4))" },
    };
    size_t i;
    char  *text;

    (void)state;
    for (i = 0; i < 3; i++) {
        assert_made(cases[i][0]);
        text = plan_pmi_mapping(&plan, 0);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void run_id(void **state)
{
    char first[64];

    (void)state;
    assert_made("te1 slots=1\n");
    assert_int_equal(strlen(plan.run_id), 20);
    assert_int_equal(strspn(plan.run_id, "0123456789abcdef-"), 20);
    assert_true(plan.run_id[8] == '-' && plan.run_id[15] == '-');
    assert_string_equal(plan.stamp, plan.run_id);
    snprintf(first, sizeof first, "%s", plan.run_id);
    assert_made("te1 slots=1\n");
    if (strcmp(first, plan.run_id) == 0) /* once in 65536 */
        assert_made("te1 slots=1\n");
    assert_string_not_equal(first, plan.run_id);
}

/* The text of plan_print. */
static char *printed(void)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);

    plan_print(&plan, out);
    fclose(out);
    return text;
}

static void assert_shown(const char *text, const char *part, bool is_there)
{
    if ((strstr(text, part) != NULL) != is_there)
        fail_msg("'%s' is %s:\n%s", part, is_there ? "missing" : "shown", text);
}

static void print_keeps_secrets(void **state)
{
    char *text;

    (void)state;
    set("env", "TOKEN=hunter2");
    strlist_add(&options.args, "it's a \x1b[2J");
    assert_made("te1 slots=2 user=bob port=2222\nte2 slots=1 env:ONLY=here python=/py\n");
    text = printed();
    assert_shown(text, "3 ranks on 2 nodes", true);
    assert_shown(text, "-u train.py --local_rank=0 'it'\\''s a ^[[2J'\n", true);
    assert_shown(text, "\nte1: by SSH, user bob, port 2222, in ", true);
    assert_shown(text, "  ranks 0-1, CUDA_VISIBLE_DEVICES=0,1\n", true);
    assert_shown(text, "  rank 2, CUDA_VISIBLE_DEVICES=0\n", true);
    assert_shown(text, "  runs /py\n", true);
    assert_shown(text, "  environment: ONLY\n", true);
    assert_shown(text, "TOKEN", true);
    assert_shown(text, "hunter2", false);
    assert_shown(text, "\x1b", false);
    free(text);
    log_init("test", LOG_INFO);
    text = printed();
    log_init("test", LOG_WARN);
    assert_shown(text, "TOKEN=hunter2\n", true);
    assert_shown(text, "  rank 1, local rank 1, CUDA_VISIBLE_DEVICES=0,1\n", true);
    free(text);
}

static void print_folds_nodes(void **state)
{
    char *text;

    (void)state;
    assert_made("te[1-3].lan slots=2\nte4.lan slots=2 user=bob\n");
    text = printed();
    assert_shown(text, "\nte[1-3]: by SSH, in ", true);
    assert_shown(text, "\n  ranks 0-5, 2 per node, CUDA_VISIBLE_DEVICES=0,1\n\nte4: by SSH, user "
                       "bob, ", true);
    free(text);
    assert_string_equal(plan_label(&plan.node[3]), "te4");
    log_init("test", LOG_INFO);
    text = printed();
    log_init("test", LOG_WARN);
    assert_shown(text, "\nte2.lan: by SSH, in ", true);
    free(text);
    assert_made("te1.lan slots=2\nte4.net slots=2\n");
    assert_string_equal(plan_label(&plan.node[1]), "te4.net");
    assert_made("10.0.0.1 slots=2\n11.0.0.1 slots=2\n");
    assert_string_equal(plan_label(&plan.node[1]), "11.0.0.1");
    assert_made("te1.lan slots=2\n");
    assert_string_equal(plan_label(&plan.node[0]), "te1.lan");
}

static void json(void **state)
{
    json_t *body, *node, *expected;

    (void)state;
    set("env", "TOKEN=hunter2");
    strlist_add(&options.args, "not \xff UTF-8");
    assert_made("worker-0 slots=2\nworker-1 slots=4\n");
    body = plan_json(&plan, log_wants(LOG_INFO));
    node = json_array_get(json_object_get(body, "nodes"), 1);
    expected = json_pack("[[i,i,i,i],[i,i,i,i],[i,i,i,i]]", 0, 1, 2, 3, 2, 3, 4, 5, 2, 3, 0, 1);
    assert_true(json_equal(json_object_get(node, "slots"), json_array_get(expected, 0)));
    assert_true(json_equal(json_object_get(node, "ranks"), json_array_get(expected, 1)));
    assert_true(json_equal(json_object_get(node, "local_ranks"), json_array_get(expected, 2)));
    assert_string_equal(json_string_value(json_object_get(node, "host")), "worker-1");
    assert_int_equal(json_integer_value(json_object_get(body, "world_size")), 6);
    assert_string_equal(json_string_value(json_object_get(body, "run_id")), plan.run_id);
    assert_true(json_is_null(json_object_get(body, "master_addr")));
    assert_string_equal(json_string_value(json_array_get(json_object_get(body, "command"), 4)),
                        "not ? UTF-8");
    node = json_object_get(node, "environment");
    assert_true(json_is_null(json_object_get(node, "TOKEN"))); /* there, without its value */
    json_decref(expected);
    json_decref(body);

    log_init("test", LOG_INFO);
    body = plan_json(&plan, log_wants(LOG_INFO));
    log_init("test", LOG_WARN);
    node = json_array_get(json_object_get(body, "nodes"), 0);
    node = json_object_get(json_object_get(node, "environment"), "TOKEN");
    assert_string_equal(json_string_value(node), "hunter2");
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranks_follow_the_hosts, start, finish),
        cmocka_unit_test_setup_teardown(rank_environment, start, finish),
        cmocka_unit_test_setup_teardown(horovod_numbers, start, finish),
        cmocka_unit_test_setup_teardown(devices, start, finish),
        cmocka_unit_test_setup_teardown(exec_is_one_a_node, start, finish),
        cmocka_unit_test_setup_teardown(node_environment, start, finish),
        cmocka_unit_test_setup_teardown(own_variables_are_not_taken, start, finish),
        cmocka_unit_test_setup_teardown(no_ssh_is_one_node, start, finish),
        cmocka_unit_test_setup_teardown(which_host_is_here, start, finish),
        cmocka_unit_test_setup_teardown(pmi_mapping, start, finish),
        cmocka_unit_test_setup_teardown(run_id, start, finish),
        cmocka_unit_test_setup_teardown(input_has_its_rank, start, finish),
        cmocka_unit_test_setup_teardown(print_keeps_secrets, start, finish),
        cmocka_unit_test_setup_teardown(print_folds_nodes, start, finish),
        cmocka_unit_test_setup_teardown(json, start, finish),
    };

    return cmocka_run_group_tests_name("plan", tests, make_folder, remove_folder);
}
