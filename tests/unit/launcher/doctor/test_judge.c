/* test_judge.c - what only shows when nodes are compared
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
#include <unistd.h>

#include <cmocka.h>

#include "doctor/judge.h"
#include "doctor/judge_config.h"
#include "xalloc.h"

#define NODES 4

static struct plan_node plan_nodes[NODES] = {
    { .host = (char[]){ "te1" } }, { .host = (char[]){ "te2" } },
    { .host = (char[]){ "te3" } }, { .host = (char[]){ "te4" } },
};
static const struct plan plan = { .node = plan_nodes, .nodes = NODES };

static struct subject subject[NODES];
static json_t        *hello[NODES];

static int begin(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < NODES; i++) {
        char id[16];

        snprintf(id, sizeof id, "boot%zu", i);
        hello[i] = json_pack("{s:s, s:i}", "boot_id", id, "netns", 1);
        subject[i] = (struct subject){ .host = plan_nodes[i].host, .hello = hello[i],
                                       .facts = json_object() };
    }
    return 0;
}

static int end(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < NODES; i++) {
        json_decref(hello[i]);
        json_decref(subject[i].facts);
    }
    return 0;
}

static void fact(size_t node, const char *name, const char *json)
{
    json_object_set_new(subject[node].facts, name, json_loads(json, JSON_DECODE_ANY, NULL));
}

static void fact_of_all(const char *name, const char *json)
{
    size_t i;

    for (i = 0; i < NODES; i++)
        fact(i, name, json);
}

/* The table, without the columns of what breaks and what mends. Caller frees. */
static char *judged(void)
{
    const struct subjects subjects = { subject, NODES, false };
    struct findings       findings = { 0 };
    json_t               *list, *item;
    char                 *all = xstrdup(""), *nodes, *more;
    size_t                i;

    judge(&subjects, &findings);
    list = findings_json(&findings, &plan);
    json_array_foreach(list, i, item) {
        nodes = json_dumps(json_object_get(item, "nodes"), JSON_COMPACT);
        more = xasprintf("%s%s %s %s\n", all, json_string_value(json_object_get(item, "level")),
                         nodes, json_string_value(json_object_get(item, "value")));
        assert_true(json_string_length(json_object_get(item, "breaks")) > 0);
        assert_true(json_string_length(json_object_get(item, "mend")) > 0);
        free(nodes);
        free(all);
        all = more;
    }
    json_decref(list);
    findings_clear(&findings);
    return all;
}

static void expect(const char *wanted)
{
    char *all = judged();

    assert_string_equal(all, wanted);
    free(all);
}

static void equal_nodes(void **state)
{
    (void)state;
    fact_of_all("version of python", "\"3.11.2\"");
    fact_of_all("version of torch", "\"2.4.0\"");
    fact_of_all("cores", "8");
    fact_of_all("addresses of names", "{\"te1\":[\"10.0.0.1\"], \"alias\":[]}");
    fact_of_all("peers", "{\"reached\":[{\"node\":1, \"if\":\"eth0\", \"mtu\":1500}], "
                         "\"failed\":[]}");
    expect("");
}

static void most_are_right(void **state)
{
    (void)state;
    fact_of_all("version of python", "\"3.11.2\"");
    fact_of_all("version of torch", "\"2.4.0\"");
    fact_of_all("driver module", "\"550.1.2\"");
    fact(0, "version of torch", "\"2.3.0\"");
    json_object_del(subject[2].facts, "version of torch");
    json_object_del(subject[3].facts, "driver module"); /* it has not told */
    fact(1, "driver module", "\"535.1.2\"");
    expect("fail [\"te1\"] version of torch: 2.3.0, but 2.4.0 on te[2,4]\n"
           "fail [\"te3\"] version of torch: not installed, but 2.4.0 on te[2,4]\n"
           "warn [\"te2\"] driver module: 535.1.2, but 550.1.2 on te[1,3]\n");
}

static void names(void **state)
{
    (void)state;
    fact_of_all("addresses of names", "{\"te1\":[\"10.0.0.1\"], \"te2\":[\"10.0.0.2\"]}");
    fact(0, "hostname", "\"te1\"");
    fact(0, "addresses of names", "{\"te1\":[\"127.0.1.1\"], \"te2\":[\"10.0.0.2\"]}");
    fact(3, "addresses of names", "{\"te1\":[], \"te2\":[\"10.0.0.9\"]}");
    expect("warn [\"te4\"] it does not know the name te1 (elsewhere 10.0.0.1)\n"
           "fail [\"te4\"] te2 is 10.0.0.9 there, but 10.0.0.2 elsewhere\n");
    /* Known to one alone: the others lack it. */
    fact_of_all("addresses of names", "{\"te1\":[]}");
    fact(1, "addresses of names", "{\"te1\":[\"10.0.0.1\"]}");
    expect("warn [\"te3\",\"te4\"] it does not know the name te1 (elsewhere 10.0.0.1)\n");
}

static void twins(void **state)
{
    (void)state;
    fact_of_all("hostname", "\"te1\"");
    fact(2, "hostname", "\"te3\"");
    fact(3, "hostname", "\"te4\"");
    fact(2, "host key", "\"ssh-ed25519 AAAAabcdefghi\"");
    fact(3, "host key", "\"ssh-ed25519 AAAAabcdefghi\"");
    expect("fail [\"te1\",\"te2\"] they have the same host name: te1\n"
           "warn [\"te3\",\"te4\"] they have the same ssh host key: ...bcdefghi\n");
    json_object_set(hello[3], "boot_id", json_object_get(hello[2], "boot_id"));
    expect("fail [\"te3\",\"te4\"] they are the same machine (boot id boot2)\n"
           "fail [\"te1\",\"te2\"] they have the same host name: te1\n");
    json_object_set_new(hello[3], "netns", json_integer(2)); /* containers of one machine */
    fact(3, "host key", "\"another\"");
    expect("fail [\"te1\",\"te2\"] they have the same host name: te1\n");
}

static void clocks(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < NODES; i++)
        subject[i].clock_s = 100; /* ours is wrong, then */
    subject[1].clock_s = 101.5;
    subject[2].clock_s = 40;
    expect("warn [\"te2\"] its clock is 1.5 s fast\nfail [\"te3\"] its clock is 60.0 s slow\n");
    subject[1].within_s = 1;
    subject[2].hello = NULL;
    expect("");
    subject[0].login_s = 7.2;
    subject[3].noise = 12;
    expect("warn [\"te1\"] the login took 7 s\nwarn [\"te4\"] the login shell prints 12 bytes\n");
}

/* NODE does not reach those of a list. */
static void unreached(size_t node, const char *list, bool connected)
{
    char *json, *all = xstrdup(""), *more;

    for (; *list != '\0'; list++) {
        more = xasprintf("%s%s{\"node\":%c, \"why\":\"timed out\", \"connected\":%s}", all,
                         all[0] != '\0' ? "," : "", *list, connected ? "true" : "false");
        free(all);
        all = more;
    }
    json = xasprintf("{\"reached\":[], \"failed\":[%s]}", all);
    fact(node, "peers", json);
    free(all);
    free(json);
}

static void ways(void **state)
{
    (void)state;
    unreached(0, "2", false);
    unreached(1, "2", false);
    unreached(3, "2", false);
    expect("fail [\"te3\"] no other node reaches its high TCP ports\n");
    fact(2, "peers", "{\"listens\":false}"); /* its port was taken: that is no firewall */
    expect("");
    fact(2, "peers", "{\"listens\":true}");
    fact(3, "peers", "{\"reached\":[{\"node\":2, \"if\":\"eth0\", \"mtu\":1500}], \"failed\":[]}");
    expect("fail [\"te1\",\"te2\"] it cannot reach high TCP ports of te3: timed out\n");
    unreached(0, "123", false);
    unreached(1, "", false);
    expect("fail [\"te1\"] it reaches no other node on high TCP ports\n");
    unreached(0, "2", true);
    expect("fail [\"te3\"] large packets from te1 do not arrive, small ones do\n");
}

static void interfaces(void **state)
{
    (void)state;
    fact_of_all("peers", "{\"reached\":[{\"node\":0, \"if\":\"eth0\", \"mtu\":9000}]}");
    fact(1, "peers", "{\"reached\":[{\"node\":0, \"if\":\"eth0\", \"mtu\":1500}]}");
    fact(2, "peers", "{\"reached\":[{\"node\":0, \"if\":\"eth0\", \"mtu\":9000},"
                     "{\"node\":1, \"if\":\"ib0\", \"mtu\":9000}]}");
    expect("warn [\"te3\"] it reaches some nodes over eth0, others over ib0\n"
           "warn [\"te2\"] MTU 1500, but 9000 on te[1,3-4]\n");
}

static void speed(size_t from, int round, int to, double mb_s, double trip_ms)
{
    char name[16], json[128];

    snprintf(name, sizeof name, "speed %d", round);
    snprintf(json, sizeof json, "{\"node\":%d, \"mb_s\":%f, \"trip_ms\":%f}", to, mb_s,
             trip_ms);
    fact(from, name, json);
}

static void speeds(void **state)
{
    size_t from;
    int    step;

    (void)state;
    for (from = 0; from < NODES; from++)
        for (step = 1; step < NODES; step++)
            speed(from, 1 + step, ((int)from + step) % NODES, 100, 0.1);
    expect("");
    speed(0, 2, 1, 45, 0.1);
    expect("warn [\"te1\"] it sends 45 MB/s to te2, but 100 MB/s is usual\n");
    speed(0, 5, 1, 95, 9); /* the best of two counts */
    expect("");
    speed(3, 3, 1, 100, 2.5);
    expect("warn [\"te4\"] a round trip to te2 takes 2.5 ms, but 0.1 ms is usual\n");
    speed(3, 3, 1, 100, 0.7); /* little is no matter, however many times more it is */
    for (step = 1; step < NODES; step++)
        speed(2, 1 + step, (2 + step) % NODES, 30 + step, 0.1);
    expect("warn [\"te3\"] it sends at most 33 MB/s, but 100 MB/s is usual\n");
    for (step = 1; step < NODES; step++) {
        speed(2, 1 + step, (2 + step) % NODES, 100, 0.1);
        speed((size_t)(2 + NODES - step) % NODES, 1 + step, 2, 20, 0.1);
    }
    expect("warn [\"te3\"] it receives at most 20 MB/s, but 100 MB/s is usual\n");
}

static void addresses(const char *first, const char *second)
{
    json_object_set_new(hello[0], "addresses",
                        json_pack("[{s:s, s:b}, {s:s, s:b}]", "addr", first, "loopback", 0, "addr",
                                  second, "loopback", second[0] == '1'));
}

static void public_addresses(void **state)
{
    static const char *const own[] = { "10.1.2.3", "172.31.0.1", "192.168.0.1", "100.64.0.1",
                                       "169.254.1.1", "fd00::1", "fe80::1", "224.0.0.1", "x", "" };
    size_t                   i;

    (void)state;
    for (i = 0; i < sizeof own / sizeof *own; i++) {
        addresses(own[i], "127.0.0.1");
        expect("");
    }
    addresses("10.1.2.3", "198.51.100.7"); /* one of lo's, in this test */
    expect("");
    addresses("10.1.2.3", "2001:db8::7");
    expect("warn [\"te1\"] its address 2001:db8::7 is public, and MASTER_PORT listens on it\n");
    addresses("172.32.0.1", "2001:db8::7");
    expect("warn [\"te1\"] its address 172.32.0.1 is public, and MASTER_PORT listens on it\n");
}

/* A hostile node says anything; nothing of it may break the table. */
static void nonsense(void **state)
{
    static const char *const bad[] = {
        "null", "1", "[]", "{}", "\"\"", "[1,{}]", "{\"reached\":1,\"failed\":{}}",
        "{\"reached\":[1,{},{\"node\":-1},{\"node\":99},{\"node\":1,\"if\":7,\"mtu\":-5}]}",
        "{\"failed\":[{\"node\":1e9},{\"node\":2,\"why\":[]}]}",
        "{\"te1\":1,\"te2\":[1,null],\"\":[]}", "{\"node\":9, \"mb_s\":1, \"trip_ms\":1}",
        "{\"node\":1, \"mb_s\":1e308, \"trip_ms\":1e-300}", "{\"node\":-1, \"mb_s\":[]}",
        "\"a\\u001b[31mb\\nc\"",
    };
    static const char *const names[] = { "peers", "addresses of names", "hostname", "host key",
                                         "version of torch", "gpus", "data x", "speed 2", "" };
    char  *all;
    size_t i, k;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        for (k = 0; k < sizeof names / sizeof *names; k++) {
            fact(1, names[k], bad[i]);
            all = judged();
            assert_null(strchr(all, '\033'));
            free(all);
        }
}

/* With 8 ranks. */
static void configs(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{\"train_batch_size\": 16}", NULL },
        { "{\"train_batch_size\": 12}", "train_batch_size 12 is not a multiple of 8 ranks" },
        { "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 4}", NULL },
        { "{\"train_batch_size\": 48, \"train_micro_batch_size_per_gpu\": 4}",
          "is not a multiple of 8 ranks x micro batch" },
        { "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 4,"
          " \"gradient_accumulation_steps\": 2}", NULL },
        { "{\"train_batch_size\": 128, \"train_micro_batch_size_per_gpu\": 4,"
          " \"gradient_accumulation_steps\": 2}",
          "train_batch_size 128 is not 8 ranks x micro batch x steps" },
        { "{\"train_micro_batch_size_per_gpu\": 4}", NULL },
        { "{\"train_batch_size\": \"auto\", \"gradient_accumulation_steps\": 3}", NULL },
        { "{\"train_batch_size\": 7, \"elasticity\": {\"enabled\": true}}", NULL },
        { "{}", "neither train_batch_size nor train_micro_batch_size_per_gpu" },
        { "{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 4}}", "ZeRO stage 4" },
        { "{\"train_batch_size\": 8, \"zero_optimization\": 1}", NULL },
        { "[]", "1: not an object" },
        { "{\n\"a\":}", ":2: " },
        { "", "" },
    };
    char            path[] = "/tmp/muster-test-config-XXXXXX";
    struct findings findings = { 0 };
    size_t          i;
    FILE           *file;
    int             fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(cases[i].text, file);
        fclose(file);
        judge_config(path, 8, &findings);
        if (findings_status(&findings) != (cases[i].says != NULL ? 2 : 0) ||
            (cases[i].says != NULL && strstr(findings.groups.group[0].key, cases[i].says) == NULL))
            fail_msg("%s: %s", cases[i].text,
                     findings.groups.count > 0 ? findings.groups.group[0].key : "nothing");
        findings_clear(&findings);
    }
    unlink(path);
    judge_config(path, 8, &findings);
    assert_int_equal(findings_status(&findings), 2);
    findings_clear(&findings);
}

static void findings_are_bounded(void **state)
{
    struct findings findings = { 0 };
    char            text[32], *printed;
    size_t          size, i;
    FILE           *out = open_memstream(&printed, &size);

    (void)state;
    assert_int_equal(findings_status(&findings), 0);
    for (i = 0; i < FINDINGS_MAX + 5; i++) {
        snprintf(text, sizeof text, "value %zu", i);
        findings_add(&findings, 0, false, "check", text, "b", "m");
    }
    assert_int_equal(findings_status(&findings), 1);
    findings_add(&findings, 2, true, "check", "late", "b", "m");
    assert_int_equal(findings_status(&findings), 2);
    findings_print(&findings, &plan, out);
    fclose(out);
    assert_non_null(strstr(printed, "and 6 more findings\n"));
    assert_false(findings_has_node(&findings, 1));
    free(printed);
    findings_clear(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_nodes, begin, end),
        cmocka_unit_test_setup_teardown(most_are_right, begin, end),
        cmocka_unit_test_setup_teardown(names, begin, end),
        cmocka_unit_test_setup_teardown(twins, begin, end),
        cmocka_unit_test_setup_teardown(clocks, begin, end),
        cmocka_unit_test_setup_teardown(ways, begin, end),
        cmocka_unit_test_setup_teardown(interfaces, begin, end),
        cmocka_unit_test_setup_teardown(speeds, begin, end),
        cmocka_unit_test_setup_teardown(public_addresses, begin, end),
        cmocka_unit_test_setup_teardown(nonsense, begin, end),
        cmocka_unit_test(configs),
        cmocka_unit_test(findings_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
