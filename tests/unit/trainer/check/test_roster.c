/* test_roster.c - what a rank believes another one that describes itself
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
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "check/roster.h"
#include "xalloc.h"

#define BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"
#define TEXT_64 "0123456789012345678901234567890123456789012345678901234567890123"
/* The version, host and boot, then: node rank, local rank, local size, RANK, WORLD_SIZE, whether
 * there is a GPU, its index, NCCL's version; its uuid, its name, why it is of no use. */
#define ENTRY(host, boot, numbers, texts) \
    PACKAGE_VERSION "\n" host "\n" boot "\n" numbers "\n" texts
#define NUMBERS "1\n0\n1\n1\n2\n0\n0\n0"
#define TEXTS   "\n\nno GPU"

void comm_probe(int local_rank, struct comm_device *device)
{
    (void)local_rank;
    *device = (struct comm_device){ 0 };
}

/* We are rank 0 of two; all that PMI will answer is there at once. */
static int exchange(const char *other, struct roster *roster, struct error *err)
{
    char      *hex = xmalloc(2 * strlen(other) + 1), *answers;
    struct pmi pmi = { .size = 2, .timeout_s = 5, .key_max = 64, .value_max = 1024,
                       .kvsname = "kvs" };
    int        fd[2], rc;

    hex_encode(other, strlen(other), hex);
    answers = xasprintf("cmd=put_result rc=0\ncmd=barrier_out\ncmd=get_result rc=0 value=%s\n",
                        hex);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
    assert_int_equal(write(fd[1], answers, strlen(answers)), strlen(answers));
    shutdown(fd[1], SHUT_WR);
    pmi.fd = fd[0];
    rc = roster_exchange(roster, &pmi, err);
    close(fd[0]);
    close(fd[1]);
    free(answers);
    free(hex);
    return rc;
}

static void test_takes_what_the_other_says(void **state)
{
    struct roster roster;
    struct error  err = { "" };

    (void)state;
    assert_int_equal(exchange(ENTRY("te2", BOOT_ID, NUMBERS, TEXTS), &roster, &err), 0);
    assert_string_equal(roster.label[1], "rank 1 on te2");
    assert_string_equal(roster.rank[1].boot_id, BOOT_ID);
    assert_int_equal(roster.rank[1].node_rank, 1);
    assert_int_equal(roster.rank[1].env_size, 2);
    assert_false(roster.rank[1].device.usable);
    assert_string_equal(roster.rank[1].device.why_not, "no GPU");
    assert_int_equal(roster.nodes, 2);
    assert_int_equal(roster.machines, 2);
    assert_int_equal(roster_verify(&roster, &err), 0);
    roster_clear(&roster);
}

static void test_refuses_what_is_no_description(void **state)
{
    static const char *const cases[] = {
        "",
        PACKAGE_VERSION "\nte2",
        ENTRY("te2", BOOT_ID, NUMBERS, "\n"), /* ends early */
        ENTRY(TEXT_64 "4", BOOT_ID, NUMBERS, TEXTS),
        ENTRY("te2", BOOT_ID "0", NUMBERS, TEXTS),
        ENTRY("te2", BOOT_ID, "one\n0\n1\n1\n2\n0\n0\n0", TEXTS),
        ENTRY("te2", BOOT_ID, "-2\n0\n1\n1\n2\n0\n0\n0", TEXTS),
        ENTRY("te2", BOOT_ID, "1\n0\n1\n1\n2147483648\n0\n0\n0", TEXTS),
        ENTRY("te2", BOOT_ID, "1\n0\n1\n1\n\n0\n0\n0", TEXTS),
        ENTRY("te2", BOOT_ID, NUMBERS, TEXT_64 "\n\n"),
        ENTRY("te2", BOOT_ID, NUMBERS, "\n" TEXT_64 "\n"),
        ENTRY("te2", BOOT_ID, NUMBERS, "\n\n" TEXT_64 TEXT_64 TEXT_64),
    };
    struct roster roster;
    struct error  err;
    size_t        i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        err = (struct error){ "" };
        if (exchange(cases[i], &roster, &err) == 0)
            fail_msg("'%s' was taken", cases[i]);
        assert_string_equal(err.text, "rank 1 has another version of muster-train, or is not "
                                      "muster-train");
        roster_clear(&roster);
    }
}

/* What it says must fit what PMI knows: it is rank 1 of 2, and alone on its node. */
static void test_finds_what_does_not_fit(void **state)
{
    static const char *const cases[][2] = {
        { "1\n0\n1\n0\n2\n0\n0\n0", "rank 1 on te2 has RANK=0 in its environment" },
        { "1\n0\n1\n1\n4\n0\n0\n0", "rank 1 on te2 has WORLD_SIZE=4, but 2 ranks are here" },
        { "1\n0\n2\n1\n2\n0\n0\n0", "has LOCAL_WORLD_SIZE=2, but its node has 1 rank" },
    };
    struct roster roster;
    struct error  err = { "" };
    size_t        i;
    char         *entry;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        entry = xasprintf(PACKAGE_VERSION "\nte2\n" BOOT_ID "\n%s\n" TEXTS, cases[i][0]);
        assert_int_equal(exchange(entry, &roster, &err), 0);
        assert_int_equal(roster_verify(&roster, &err), -1);
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, cases[i][1]);
        roster_clear(&roster);
        free(entry);
    }
}

/* What it says beyond its version and its host may be in another order. */
static void test_another_version(void **state)
{
    struct roster roster;
    struct error  err = { "" };

    (void)state;
    assert_int_equal(exchange("9.9.9\nte2\nsomething new", &roster, &err), 0);
    assert_string_equal(roster.label[1], "rank 1 on te2");
    assert_int_equal(roster_verify(&roster, &err), -1);
    if (strstr(err.text, "te2 has muster-train 9.9.9, ") == NULL)
        fail_msg("'%s' does not name it", err.text);
    roster_clear(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_what_the_other_says),
        cmocka_unit_test(test_refuses_what_is_no_description),
        cmocka_unit_test(test_finds_what_does_not_fit),
        cmocka_unit_test(test_another_version),
    };

    /* Nothing has told this rank anything. */
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    unsetenv("LOCAL_RANK");
    unsetenv("LOCAL_WORLD_SIZE");
    unsetenv("NODE_RANK");
    unsetenv("GROUP_RANK");
    unsetenv("MPI_LOCALRANKID");
    unsetenv("MPI_LOCALNRANKS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
