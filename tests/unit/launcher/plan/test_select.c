/* test_select.c - --include, --exclude, --num_nodes, --num_gpus, -np
 *
 * The rows of the first two tests are DeepSpeed's own cases, as its launcher
 * answers them since its PR #8239.
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

#include "plan/select.h"

static const char pool[] = "worker-0:4,worker-1:4";

/* "worker-0:0,1 worker-1:3", with "+2" for another slot that the rank sees, or "error: why". Caller
 * frees. */
static char *selected(const char *hosts_text, const struct select_rules *rules)
{
    struct hostlist  hosts;
    struct selection selection;
    struct error     err;
    char            *text = NULL;
    size_t           i, size;
    int              slot;
    FILE            *out = open_memstream(&text, &size);

    assert_int_equal(hostlist_from_argument(hosts_text, 1, &hosts, &err), 0);
    if (select_slots(&hosts, rules, &selection, &err) < 0) {
        assert_int_equal(selection.count, 0);
        fprintf(out, "error: %s", err.text);
    }
    for (i = 0; i < selection.count; i++) {
        fprintf(out, "%s%s:", i > 0 ? " " : "", selection.node[i].host->name);
        assert_true(selection.node[i].slots > 0);
        for (slot = 0; slot < selection.node[i].slots; slot++)
            fprintf(out, "%s%d", slot > 0 ? "," : "", selection.node[i].slot[slot]);
        for (; slot < selection.node[i].slots + selection.node[i].more; slot++)
            fprintf(out, "+%d", selection.node[i].slot[slot]);
    }
    fclose(out);
    selection_clear(&selection);
    hostlist_clear(&hosts);
    return text;
}

static void check(const char *hosts, const struct select_rules *rules, const char *expected)
{
    char *got = selected(hosts, rules);

    assert_string_equal(got, expected);
    free(got);
}

#define FIELDS(include_, exclude_, nodes, gpus, ranks, partial) \
    { .include = include_, .exclude = exclude_, .num_nodes = nodes, .num_gpus = gpus, \
      .num_ranks = ranks, .is_partial = partial }
#define RULES(...) &(struct select_rules)FIELDS(__VA_ARGS__)
#define NO_SUCH_HOST(filter, name) "error: --" filter ": no host '" name "' in the hostfile"
#define NO_SUCH_SLOT(filter, slot, host)                                                       \
    "error: --" filter ": host " host " has no slot " slot ": it has 0 to 3"
#define NOT_A_SLOT(text)                                                                       \
    "error: --include: '" text "' is not a slot of host worker-0: write NAME:0,1 (an IPv6 "    \
    "address as [NAME]:0,1)"

static void one_rank_per_node(void **state)
{
    struct select_rules rules = { .num_nodes = -1, .num_gpus = -1, .per_node = true };

    (void)state;
    check("worker-0:4,worker-1:1", &rules, "worker-0:0+1+2+3 worker-1:0");
    rules.num_gpus = 2;
    check(pool, &rules, "worker-0:0+1 worker-1:0+1");
    rules = (struct select_rules){ .include = "worker-1:1,3", .num_nodes = -1, .num_gpus = -1,
                                   .per_node = true };
    check(pool, &rules, "worker-1:1+3");
}

static void include(void **state)
{
    static const struct {
        const char *include, *expected;
    } row[] = {
        { NULL, "worker-0:0,1,2,3 worker-1:0,1,2,3" },
        { "", "worker-0:0,1,2,3 worker-1:0,1,2,3" },
        { "worker-1:0,2", "worker-1:0,2" },
        { "worker-1:2,0", "worker-1:0,2" },
        { "worker-1:1,1", "worker-1:1" },
        { "worker-1:1@worker-1:0", "worker-1:0,1" },
        { "worker-1:0@worker-0:1", "worker-0:1 worker-1:0" },
        { "worker-0", "worker-0:0,1,2,3" },
        { "worker-0@worker-1:0,2", "worker-0:0,1,2,3 worker-1:0,2" },
        { "worker-1@worker-1:0", "worker-1:0" },
        { "worker-1:0@worker-1", "worker-1:0" },
        { "worker-1: 0 ,\t2 ", "worker-1:0,2" },
        { "worker-[0-1]:3", "worker-0:3 worker-1:3" },
        { "worker-[1,0]@worker-0:0", "worker-0:0 worker-1:0,1,2,3" },
        { "worker-[0-2]", NO_SUCH_HOST("include", "worker-2") },
        { "worker-1:9", NO_SUCH_SLOT("include", "9", "worker-1") },
        { "worker-1:4", NO_SUCH_SLOT("include", "4", "worker-1") },
        { "worker-0:-1", NO_SUCH_SLOT("include", "-1", "worker-0") },
        { "jeff", NO_SUCH_HOST("include", "jeff") },
        { "jeff:0", NO_SUCH_HOST("include", "jeff") },
        { "worker-0:", NOT_A_SLOT("") },
        { "worker-0:0,", NOT_A_SLOT("") },
        { "worker-0:a", NOT_A_SLOT("a") },
        { "worker-0:0-2", NOT_A_SLOT("0-2") },
        { "worker-0:0 1", NOT_A_SLOT("0 1") },
        { "worker-0:0:1", NOT_A_SLOT("0:1") },
        { "worker-0:99999999999999999999", NOT_A_SLOT("99999999999999999999") },
        { "worker-0:0@", NO_SUCH_HOST("include", "") },
        { "@", "error: --include: the name of a group must follow '@'" },
        { "worker-0@@", "error: --include: the name of a group must follow '@'" },
        { "/1$/", "worker-1:0,1,2,3" },
        { "/w.*@?-[01]/:3@worker-1:0", "worker-0:3 worker-1:0,3" },
        { "/0$", "worker-0:0,1,2,3" },
        { "//", "worker-0:0,1,2,3 worker-1:0,1,2,3" },
        { "/x/", "error: --include: no host matches /x/" },
        { "/(/", "error: --include: /(/: Unmatched ( or \\(" },
        { "/1/:4", NO_SUCH_SLOT("include", "4", "worker-1") },
        { "/1/x", "error: --include: 'x' follows /1/; slots are written /RE/:0,1" },
        { " worker-0:0", NO_SUCH_HOST("include", " worker-0") },
        { "WORKER-0", NO_SUCH_HOST("include", "WORKER-0") },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check(pool, RULES(row[i].include, "", -1, -1, -1, false),
              row[i].expected);
}

static void exclude(void **state)
{
    static const struct {
        const char *exclude, *expected;
    } row[] = {
        { "", "worker-0:0,1,2,3 worker-1:0,1,2,3" },
        { "worker-1:0", "worker-0:0,1,2,3 worker-1:1,2,3" },
        { "worker-0", "worker-1:0,1,2,3" },
        { "worker-0:0,0", "worker-0:1,2,3 worker-1:0,1,2,3" },
        { "worker-0:0,1,2,3", "worker-1:0,1,2,3" },
        { "worker-0:1@worker-1", "worker-0:0,2,3" },
        { "worker-0@worker-0:1", "worker-0:0,2,3 worker-1:0,1,2,3" },
        { "worker-0@worker-1", "error: --exclude worker-0@worker-1 leaves no slot to run on" },
        { "worker-1:4", NO_SUCH_SLOT("exclude", "4", "worker-1") },
        { "jeff", NO_SUCH_HOST("exclude", "jeff") },
        { "worker-1@worker-0:1@5", NO_SUCH_HOST("exclude", "5") },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check(pool, RULES(NULL, row[i].exclude, -1, -1, -1, false),
              row[i].expected);
}

static void ipv6_in_filters(void **state)
{
    static const char hosts[] = "[::1]:4,[fe80::1%eth0]:2,te1:1";

    (void)state;
    check(hosts, RULES("[::1]:1,2@te1", NULL, -1, -1, -1, false),
          "::1:1,2 te1:0");
    check(hosts, RULES("[fe80::1%eth0]", NULL, -1, -1, -1, false),
          "fe80::1%eth0:0,1");
    check(hosts, RULES("[te1]", NULL, -1, -1, -1, false), "te1:0");
    check(hosts, RULES("[::1]x", NULL, -1, -1, -1, false),
          NO_SUCH_HOST("include", "[::1]x") "; slots of an IPv6 address: [NAME]:0,1");
    check(hosts, RULES("te1@te9:0@te[5-6]", NULL, -1, -1, -1, true), "te1:0");
    check(hosts, RULES(NULL, "te1@te9", -1, -1, -1, true),
          "::1:0,1,2,3 fe80::1%eth0:0,1");
    check(hosts, RULES("te9", NULL, -1, -1, -1, true),
          "error: --include te9 leaves no slot to run on");
    check(hosts, RULES("[::1", NULL, -1, -1, -1, false),
          "error: --include: '[': '[' without ']'");
    check(hosts, RULES("::1:0", NULL, -1, -1, -1, false),
          NO_SUCH_HOST("include", "::1:0") "; slots of an IPv6 address: [NAME]:0,1");
    check(hosts, RULES("te1@::1", NULL, -1, -1, -1, false), "::1:0,1,2,3 te1:0");
    check(hosts, RULES(NULL, "::1@fe80::1%eth0", -1, -1, -1, false), "te1:0");
}

static void numbers(void **state)
{
    static const struct {
        int         nodes, gpus, ranks;
        const char *expected;
    } row[] = {
        { 1, -1, -1, "a:0,1" },
        { 2, -1, -1, "a:0,1 b:0,1,2,3" },
        { 9, -1, -1, "error: --num_nodes 9: there are only 3" },
        { 0, -1, -1, "error: --num_nodes 0 leaves nothing to run on" },
        { -1, 2, -1, "a:0,1 b:0,1 c:0,1" }, /* c has but one: replaced all the same */
        { -1, 0, -1, "error: --num_gpus 0 leaves nothing to run on" },
        { 1, 4, -1, "a:0,1,2,3" },
        { -1, 4097, -1, "error: --num_gpus 4097: the limit is 4096" },
        { -1, -1, 1, "a:0" },
        { -1, -1, 2, "a:0,1" },
        { -1, -1, 5, "a:0,1 b:0,1,2" },
        { -1, -1, 7, "a:0,1 b:0,1,2,3 c:0" },
        { -1, -1, 8, "error: -np 8: there are only 7 slots on 3 hosts" },
        { 2, 1, 2, "a:0 b:0" },
        { 1, -1, 3, "error: -np 3: there are only 2 slots on 1 hosts" },
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check("a:2,b:4,c:1",
              RULES("", "", row[i].nodes, row[i].gpus, row[i].ranks, false),
              row[i].expected);
    check("a:2,b:4", RULES("b:1,3@a:1", "", -1, -1, 2, false), "a:1 b:1");
}

/* "a,b" where DeepSpeed wants "a@b". */
static void commas(void **state)
{
    (void)state;
    check("a:2,b:4", RULES("a,b", NULL, -1, -1, -1, false),
          "error: --include: no host 'a,b' in the hostfile; hosts are separated by '@': ...@b");
    check("a:2,b:4", RULES(NULL, "a:0,1,b:0", -1, -1, -1, false),
          "error: --exclude: 'b:0' is not a slot of host a: write NAME:0,1 (an IPv6 address as "
          "[NAME]:0,1); hosts are separated by '@': ...@b");
    check("a:2,b:4", RULES("a,c", NULL, -1, -1, -1, false),
          "error: --include: no host 'a,c' in the hostfile");
    check("a:2,b:4", RULES("a:0,1@b:0,1", NULL, -1, -1, -1, false),
          "a:0,1 b:0,1");
}

static void together(void **state)
{
    static const struct {
        struct select_rules rules;
        const char         *expected;
    } row[] = {
        { FIELDS("worker-0", "worker-1", -1, -1, -1, false),
          "error: --include and --exclude cannot be used together" },
        { FIELDS("worker-0", "", 1, -1, -1, false),
          "error: --include cannot be used together with --num_nodes" },
        { FIELDS("worker-0", "", 0, -1, -1, false), /* an error by itself, too */
          "error: --include cannot be used together with --num_nodes" },
        { FIELDS("", "worker-0", -1, 0, -1, false),
          "error: --exclude cannot be used together with --num_gpus" },
    };
    struct hostlist  none = { 0 };
    struct selection selection;
    struct error     err;
    size_t           i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++)
        check(pool, &row[i].rules, row[i].expected);
    assert_int_equal(
        select_slots(&none, RULES(NULL, NULL, -1, -1, -1, false), &selection,
                     &err),
        -1);
    assert_string_equal(err.text, "there is no host to run on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_per_node),
        cmocka_unit_test(include),         cmocka_unit_test(exclude),
        cmocka_unit_test(ipv6_in_filters), cmocka_unit_test(numbers),
        cmocka_unit_test(commas),          cmocka_unit_test(together),
    };

    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
