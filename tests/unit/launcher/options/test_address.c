/* test_address.c - what may be an address of a node, and what to write instead of the rest
 * SPDX-License-Identifier: Apache-2.0
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options/address.h"

static void takes_names_and_addresses(void **state)
{
    static const char *const cases[][2] = {
        { "te1", "te1" },           { "te1.example.org", "te1.example.org" },
        { "te1.", "te1." },         { "gpu_1", "gpu_1" },
        { "7up", "7up" },           { "10.0.0.1", "10.0.0.1" },
        { "fd00::1", "fd00::1" },   { "[fd00::1]", "fd00::1" },
        { "fe80::1%eth0", "fe80::1%eth0" }, { "[fe80::1%ib0.1]", "fe80::1%ib0.1" },
        { "::1", "::1" },           { "::ffff:10.0.0.1", "::ffff:10.0.0.1" },
    };
    struct error err;
    char        *address;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        address = address_read(cases[i][0], &err);
        if (address == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
        assert_string_equal(address, cases[i][1]);
        free(address);
    }
}

static void says_what_to_write(void **state)
{
    static const char *const cases[][2] = {
        { "te1:29500", "write --master_addr=te1 --master_port=29500" },
        { "[fd00::1]:29500", "write --master_addr=fd00::1 --master_port=29500" },
        { "te1:", "contains a port" },
        { "setup@te1", "write --master_addr=te1 (--ssh_user" },
        { "https://te1:1/x", "write --master_addr=te1" },
        { "tcp://10.0.0.1:29500", "write --master_addr=10.0.0.1" },
        { "te1,te2", "neither a host name" },
        { "te[1-2]", "neither a host name" },
        { "te1 ", "neither a host name" },
        { "-te1", "neither a host name" },
        { ".te1", "neither a host name" },
        { "$(hostname)", "neither a host name" },
        { "", "neither a host name" },
        { "10.0.0", "not an IPv4 address" },
        { "10.0.0.256", "not an IPv4 address" },
        { "127", "not an IPv4 address" },
        { "[te1]", "not an IPv6 address" },
        { "[10.0.0.1]", "not an IPv6 address" },
        { "[]", "not an IPv6 address" },
        { "fd00::1::2", "not an IPv6 address" },
        { "fe80::1%", "not an IPv6 address" },
        { "fe80::1%a b", "not an IPv6 address" },
        { "[fd00::1", "not an IPv6 address" },
    };
    char         longest[257];
    struct error err;
    size_t       i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(address_read(cases[i][0], &err));
        if (strstr(err.text, cases[i][1]) == NULL)
            fail_msg("%s: %s", cases[i][0], err.text);
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(address_read(longest, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_names_and_addresses),
        cmocka_unit_test(says_what_to_write),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
