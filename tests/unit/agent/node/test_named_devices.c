/* test_named_devices.c - which devices a variable names, as NCCL and PyTorch read it
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "node/named_devices.h"

static void reads_as_they_do(void **state)
{
    static const struct {
        const char *variable, *value;
        bool        lacks;
    } cases[] = {
        { "NCCL_SOCKET_IFNAME", "eth", false },    { "NCCL_SOCKET_IFNAME", "=eth0", false },
        { "NCCL_SOCKET_IFNAME", "=eth", true },    { "NCCL_SOCKET_IFNAME", "ib0,eth0", false },
        { "NCCL_SOCKET_IFNAME", "ib0", true },     { "NCCL_SOCKET_IFNAME", "ib,=eth", true },
        { "NCCL_SOCKET_IFNAME", "^ib0", false },   { "NCCL_SOCKET_IFNAME", "^=ib0", false },
        { "NCCL_SOCKET_IFNAME", "", false },       { "NCCL_SOCKET_IFNAME", ",,", false },
        { "NCCL_SOCKET_IFNAME", "=", false },      { "NCCL_SOCKET_IFNAME", "=eth00", true },
        { "GLOO_SOCKET_IFNAME", "eth0", false },   { "GLOO_SOCKET_IFNAME", "eth", true },
        { "GLOO_SOCKET_IFNAME", "eth0,lo", false }, { "GLOO_SOCKET_IFNAME", "eth0,ib0", true },
        { "GLOO_SOCKET_IFNAME", "=eth0", true },   { "TP_SOCKET_IFNAME", "^lo", true },
        { "NCCL_IB_HCA", "mlx5", false },          { "NCCL_IB_HCA", "mlx5_0", false },
        { "NCCL_IB_HCA", "=mlx5_0", false },       { "NCCL_IB_HCA", "=mlx5", true },
        { "NCCL_IB_HCA", "mlx5_0:1", false },      { "NCCL_IB_HCA", "=mlx5_0:2", true },
        { "NCCL_IB_HCA", "mlx4_0,mlx5_10", false }, { "NCCL_IB_HCA", "=mlx5_1", true },
        { "NCCL_IB_HCA", "^mlx4_0", false },       { "NCCL_IB_HCA", "mlx4", true },
    };
    struct strlist interfaces = { 0 }, hcas = { 0 };
    size_t         i;

    (void)state;
    strlist_add(&interfaces, "lo");
    strlist_add(&interfaces, "eth0");
    strlist_add(&hcas, "mlx5_0:1");
    strlist_add(&hcas, "mlx5_10:1");
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_hca = strcmp(cases[i].variable, "NCCL_IB_HCA") == 0;

        if (named_devices_lack(cases[i].variable, cases[i].value,
                               is_hca ? &hcas : &interfaces) != cases[i].lacks)
            fail_msg("%s=%s", cases[i].variable, cases[i].value);
    }
    strlist_clear(&interfaces);
    strlist_clear(&hcas);
}

static void finds_those_of_this_machine(void **state)
{
    struct strlist there = { 0 };

    (void)state;
    named_devices_there("NCCL_SOCKET_IFNAME", &there);
    assert_true(strlist_has(&there, "lo"));
    assert_false(strlist_has(&there, "nosuch0"));
    strlist_clear(&there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_as_they_do),
        cmocka_unit_test(finds_those_of_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
